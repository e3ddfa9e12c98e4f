import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Attempt } from "../../core/ports/idempotency.js";
import { AnswerCopy, AnswerFiles } from "../../src/http/kept-answers.js";
import { SILENT } from "../support/silent-log.js";

const LONG = Buffer.alloc(100_000, 7);

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "answers-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openFiles(t: TestContext, folder: string, capacityBytes: number): Promise<AnswerFiles> {
  const files = await AnswerFiles.open({ folder, capacityBytes, log: SILENT });
  t.after(() => files.close());
  return files;
}

async function keep(files: AnswerFiles, id: string, bytes: Uint8Array): Promise<void> {
  const file = await files.create(id);
  await file.write(bytes);
  await file.keep();
}

async function readAll(files: AnswerFiles, id: string, bytes: number): Promise<Buffer | null> {
  const chunks = await files.read(id, bytes);
  if (chunks === null) return null;
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read);
}

test("a later run reads stored files and removes unfinished ones", async (t) => {
  const folder = await newFolder(t);
  const first = await openFiles(t, folder, 1_000_000);
  await keep(first, "req_a", LONG);
  const unfinished = await first.create("req_b");
  await unfinished.write(LONG);
  const second = await openFiles(t, folder, 1_000_000);
  assert.ok((await readAll(second, "req_a", LONG.length))?.equals(LONG));
  assert.equal(await readAll(second, "req_a", LONG.length + 1), null, "another length is another answer");
  assert.equal(await readAll(second, "req_b", LONG.length), null);
  assert.deepEqual(await readdir(folder), ["req_a"]);
  await unfinished.discard();
});

test("deletes the oldest files to make room, except while they are read", async (t) => {
  const folder = await newFolder(t);
  const files = await openFiles(t, folder, 250_000);
  await keep(files, "req_a", LONG);
  await keep(files, "req_b", LONG);
  const reading = await files.read("req_a", LONG.length);
  await keep(files, "req_c", LONG);
  assert.deepEqual((await readdir(folder)).sort(), ["req_b", "req_c"]);
  let bytes = 0;
  for await (const chunk of reading!) bytes += chunk.length;
  assert.equal(bytes, LONG.length);
  const writing = await files.create("req_d");
  await writing.write(LONG);
  assert.deepEqual((await readdir(folder)).sort(), ["req_c", "req_d.part"], "unfinished files count");
  await writing.write(LONG);
  await assert.rejects(writing.write(LONG), /no room/);
  await writing.discard();
  await keep(files, "req_e", LONG);
  await keep(files, "req_f", LONG);
  assert.deepEqual((await readdir(folder)).sort(), ["req_e", "req_f"], "what was given up counts no more");
});

test("an owner gets at most half of the space; the largest owner loses files first", async (t) => {
  const folder = await newFolder(t);
  const files = await openFiles(t, folder, 600_000);
  const keepFor = async (owner: string, id: string) => {
    const file = await files.create(id, owner);
    await file.write(LONG);
    await file.keep();
  };
  await keepFor("small", "small_1");
  for (let each = 1; each <= 9; each++) await keepFor("large", `large_${each}`);
  assert.deepEqual((await readdir(folder)).sort(), ["large_7", "large_8", "large_9", "small_1"]);
  for (let each = 1; each <= 5; each++) await keepFor("late", `late_${each}`);
  // 600 kB are in use: of the two largest owners, one loses files.
  assert.deepEqual((await readdir(folder)).sort(), [
    "large_8",
    "large_9",
    "late_3",
    "late_4",
    "late_5",
    "small_1",
  ]);
  const tooLong = await files.create("long", "small");
  for (let each = 0; each < 3; each++) await tooLong.write(LONG);
  await assert.rejects(tooLong.write(LONG), /no room/);
  await tooLong.discard();

  files.close();
  // Back, a second older than the other: file systems keep times in ticks of milliseconds.
  const { mtime } = await stat(join(folder, "large_9"));
  const earlier = mtime.getTime() / 1_000 - 1;
  await writeFile(join(folder, "large_8"), LONG);
  await utimes(join(folder, "large_8"), earlier, earlier);
  const owners = new Map([
    ["large_8", "large"],
    ["large_9", "large"],
    ["late_5", "late"],
  ]);
  const reopened = await AnswerFiles.open({ folder, capacityBytes: 300_000, owners, log: SILENT });
  t.after(() => reopened.close());
  const left = await readdir(folder);
  assert.ok(left.includes("large_9") && !left.includes("large_8") && left.includes("late_5"), left.join());
});

test("opening the folder deletes old files and those beyond a reduced capacity", async (t) => {
  const folder = await newFolder(t);
  for (const [name, hours] of [
    ["req_old", 25],
    ["req_a", 3],
    ["req_b", 2],
    ["req_c", 1],
  ] as const) {
    await writeFile(join(folder, name), LONG);
    const at = new Date(Date.now() - hours * 3_600_000);
    await utimes(join(folder, name), at, at);
  }
  await openFiles(t, folder, 10_000_000);
  assert.deepEqual((await readdir(folder)).sort(), ["req_a", "req_b", "req_c"]);
  await openFiles(t, folder, 200_000);
  assert.deepEqual((await readdir(folder)).sort(), ["req_b", "req_c"]);
});

/** An attempt that records its outcome. */
function notingAttempt({ isKept = true } = {}) {
  const notes: unknown[] = [];
  const attempt: Attempt = {
    answered: async ({ status, bytes, body }) => {
      notes.push([status, bytes, body?.toString() ?? null]);
      return isKept;
    },
    hears: async () => {},
    over: async () => void notes.push("over"),
  };
  return { attempt, notes };
}

async function copyOf(
  files: AnswerFiles,
  attempt: Attempt,
  { status = 200, chunks = [LONG, LONG] as readonly Uint8Array[], isCompleted = true } = {},
): Promise<void> {
  const copy = new AnswerCopy({ requestId: "req_a", attempt, files, log: SILENT });
  copy.started(status, {});
  for (const chunk of chunks) await copy.written(chunk);
  if (isCompleted) await copy.completed();
  await copy.ended();
}

test("stores a short body with its key and a long one on disk, and deletes an incomplete one", async (t) => {
  const folder = await newFolder(t);
  const files = await openFiles(t, folder, 1_000_000);
  const { attempt, notes } = notingAttempt();
  await copyOf(files, attempt, { chunks: [Buffer.from("sho"), Buffer.from("rt")] });
  await copyOf(files, attempt, { isCompleted: false });
  assert.deepEqual(await readdir(folder), []);
  await copyOf(files, attempt, { chunks: [Buffer.from("then long"), LONG] });
  assert.deepEqual(notes, [[200, 5, "short"], "over", [200, LONG.length + 9, null]]);
  assert.equal((await readAll(files, "req_a", LONG.length + 9))?.toString("utf8", 0, 9), "then long");
});

test("does not store errors, or answers without room or key", async (t) => {
  const folder = await newFolder(t);
  const files = await openFiles(t, folder, 150_000);
  for (const [options, attemptOptions, expected] of [
    [{ status: 503 }, {}, ["over"]],
    [{}, {}, ["over"]],
    [{ chunks: [LONG] }, { isKept: false }, [[200, LONG.length, null], "over"]],
  ] as const) {
    const { attempt, notes } = notingAttempt(attemptOptions);
    await copyOf(files, attempt, options);
    assert.deepEqual(notes, expected);
    assert.deepEqual(await readdir(folder), []);
  }
});
