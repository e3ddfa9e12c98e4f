// Spooled files share the disk with the database.
import assert from "node:assert/strict";
import { appendFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { DiskSpace, SpoolBudget, withUpload } from "../../src/http/spool.js";
import { eventually } from "../support/eventually.js";

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "budget-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function isFull(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "STORAGE_FULL";
}

async function* body(chunks: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let each = 0; each < chunks; each++) yield new Uint8Array(10_000);
}

test("all uploads together stay within the budget; a rejected upload leaves nothing behind", async (t) => {
  const spoolDir = await newFolder(t);
  const room = new SpoolBudget(50_000, new DiskSpace(spoolDir, 0));
  const options = { spoolDir, room, extension: ".wav", maxBytes: 1_000_000 };
  await withUpload(body(3), { ...options, name: "one" }, async () => {
    assert.equal(room.takenBytes, 30_000);
    await assert.rejects(room.check(20_001), isFull);
    await room.check(20_000);
    await assert.rejects(
      withUpload(body(3), { ...options, name: "two" }, async () => {}),
      isFull,
    );
    assert.deepEqual(await readdir(spoolDir), ["one.wav"]);
    assert.equal(room.takenBytes, 30_000);
  });
  assert.equal(room.takenBytes, 0);
  assert.deepEqual(await readdir(spoolDir), []);
});

test("the minimum of free space applies regardless of the budget", async (t) => {
  const spoolDir = await newFolder(t);
  const disk = new DiskSpace(spoolDir, Number.MAX_SAFE_INTEGER);
  assert.equal(await disk.hasRoomFor(0), false);
  const room = new SpoolBudget(1_000_000, disk);
  await assert.rejects(room.check(0), isFull);
  await assert.rejects(
    withUpload(body(1), { spoolDir, room, name: "one", extension: "", maxBytes: 1_000_000 }, async () => {}),
    isFull,
  );
  assert.deepEqual(await readdir(spoolDir), []);
});

test("a growing file of another process is counted until it exceeds the budget", async (t) => {
  const folder = await newFolder(t);
  const room = new SpoolBudget(50_000, new DiskSpace(folder, 0));
  const share = room.open();
  t.after(() => share.release());
  const path = join(folder, "decoded.wav");
  const full = new Promise<ServiceError>((resolve) => share.watch(path, resolve));
  await writeFile(path, new Uint8Array(40_000));
  await eventually("the bytes are counted", () => room.takenBytes === 40_000);
  await appendFile(path, new Uint8Array(20_000));
  assert.ok(isFull(await full));
  share.release();
  share.release();
  assert.equal(room.takenBytes, 0);
});

test("the final count finds that a complete file exceeds the budget", async (t) => {
  const folder = await newFolder(t);
  const room = new SpoolBudget(50_000, new DiskSpace(folder, 0));
  const share = room.open();
  t.after(() => share.release());
  const told: ServiceError[] = [];
  const watch = async (name: string, bytes: number) => {
    const path = join(folder, name);
    const seenWhole = share.watch(path, (error) => told.push(error));
    await writeFile(path, new Uint8Array(bytes));
    await seenWhole();
  };
  await watch("fits.wav", 40_000);
  assert.deepEqual([room.takenBytes, told], [40_000, []]);
  await watch("never-written.wav", 0);
  await watch("too-long.wav", 60_000);
  assert.equal(room.takenBytes, 40_000);
  assert.ok(told.length === 1 && isFull(told[0]));
});

test("a full or read-only disk gives a 503 that clients may retry", async () => {
  const { asServiceError } = await import("../../core/domain/errors.js");
  const { errorHeaders, HTTP_STATUS } = await import("../../core/protocol/error-status.js");
  for (const code of ["ENOSPC", "EDQUOT", "EROFS"]) {
    const error = asServiceError(Object.assign(new Error("write"), { code }));
    assert.equal(error.code, "STORAGE_FULL");
  }
  assert.equal(HTTP_STATUS.STORAGE_FULL, 503);
  assert.match(errorHeaders("STORAGE_FULL")["retry-after"] ?? "", /^\d+$/);
});
