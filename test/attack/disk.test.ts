// A disk that uploads share with the database, and that is full or read-only.
import assert from "node:assert/strict";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { writeWav } from "../../core/domain/audio/wav.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { databaseOf, PayingClients } from "./support/paying-clients.js";
import { SmallDisk, whyNoMounts } from "./support/small-disk.js";

const DISK_MB = 320;
const FLOOR_MB = 64;
const SPOOL_MB = 24;
const MB = 2 ** 20;
const SHORT = writeWav(new Int16Array(8_000), 8_000);

const reason = whyNoMounts();

describe("a service on a small disk", { skip: reason ?? false, concurrency: 1 }, () => {
  let disk: SmallDisk;
  let service: ServiceProcess;

  before(async () => {
    disk = await SmallDisk.mount(DISK_MB);
    service = await startServiceProcess({
      ...(await lightModels()),
      DATA_DIR: disk.path,
      SPOOL_MB: String(SPOOL_MB),
      DISK_FLOOR_MB: String(FLOOR_MB),
    });
    await creditDevelopment(service, 1_000_000);
  });
  after(async () => {
    // The service must stop cleanly while the disk still rejects writes.
    assert.equal(await service.stop(), 0, service.output());
    disk.makeWritable();
  });

  const post = (path: string, body: NonNullable<RequestInit["body"]>, headers: Record<string, string> = {}) =>
    fetch(service.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, ...headers },
      body,
      ...(body instanceof ReadableStream && { duplex: "half" }),
    });
  const upload = () => post("/v1/transcribe", new Uint8Array(SHORT));
  const speak = () =>
    post("/v1/tts", JSON.stringify({ text: "Сәлем.", nfe: 4 }), { "content-type": "application/json" });
  const statusOf = async (asked: Promise<Response>) => {
    const answer = await asked;
    await answer.arrayBuffer();
    return answer.status;
  };
  const probe = (path: string) => statusOf(fetch(service.url + path));
  const assertFull = async (asked: Promise<Response>) => {
    const answer = await asked;
    const { detail } = (await answer.json()) as { detail: string };
    assert.deepEqual([answer.status, answer.headers.get("x-svc-error")], [503, "storage_full"], detail);
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    assert.match(detail, /room|disk/);
  };
  /** The response may arrive a moment before the upload is deleted. */
  const spoolIsEmpty = () =>
    eventually("the spool is empty", async () => (await readdir(join(disk.path, "spool"))).length === 0);
  const free = () => rm(join(disk.path, "filling"), { force: true });

  test("only the service can read the files it writes", async () => {
    const names = await readdir(disk.path);
    assert.ok(names.includes("spool") && names.includes("usage-journal"), names.join());
    for (const name of names) {
      const found = await stat(join(disk.path, name));
      // Other users may have to traverse the folder of the database's user, but cannot list it.
      assert.equal(
        found.mode & (found.isDirectory() ? 0o066 : 0o077),
        0,
        `${name}: ${found.mode.toString(8)}`,
      );
    }
    assert.equal((await stat(join(disk.path, "spool"))).mode & 0o777, 0o700);
  });

  test("audio beyond the budget is rejected, whether its length is announced or not, and leaves no files", async () => {
    await assertFull(post("/v1/transcribe", new Uint8Array((SPOOL_MB + 1) * MB)));
    let sentBytes = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sentBytes += MB;
        if (sentBytes > 4 * SPOOL_MB * MB) controller.close();
        else controller.enqueue(new Uint8Array(MB));
      },
    });
    await assertFull(post("/v1/transcribe", endless));
    await spoolIsEmpty();
    assert.equal(await statusOf(upload()), 200);
  });

  test("below the disk floor only uploads and readiness fail", async () => {
    assert.equal(await probe("/ready"), 200);
    await disk.fill((FLOOR_MB - 8) * MB);
    await assertFull(upload());
    assert.deepEqual([await probe("/ready"), await probe("/health")], [503, 200]);
    assert.equal(await statusOf(speak()), 200);
    await spoolIsEmpty();
    await free();
    await eventually("ready again", async () => (await probe("/ready")) === 200);
    assert.equal(await statusOf(upload()), 200);
  });

  test("on a full disk every response is 200 or 503, and the ledger stays exact", async () => {
    const sql = await databaseOf(disk.path);
    const clients = new PayingClients(service);
    clients.start();
    await eventually("answers", () => clients.answeredCount > 5);
    await disk.fill(0);
    const before = clients.refusedCount;
    await eventually("refusals", () => clients.refusedCount > before + 20);
    assert.deepEqual([await probe("/ready"), await probe("/health")], [503, 200]);
    await free();
    const answered = clients.answeredCount;
    await eventually("answers again", () => clients.answeredCount > answered + 5);
    await clients.end();
    await clients.checkLedger(sql);
    await sql.end();
    await eventually("ready again", async () => (await probe("/ready")) === 200);
    await spoolIsEmpty();
  });

  test("a database that cannot restart on a read-only disk is retried until it serves again", async () => {
    const server = () =>
      readFile(join(disk.path, "postgres/postmaster.pid"), "utf8").then(
        (text) => Number(text.split("\n")[0]),
        () => 0,
      );
    const pid = await server();
    disk.makeReadOnly();
    await assertFull(upload());
    process.kill(pid, "SIGKILL");
    const failures = () => service.output().split("private database ended, restarting").length - 2;
    // Six failed restarts would give up the database on a writable disk. The first line logged is the kill
    // itself.
    await eventually("six failed restarts", () => service.child.exitCode !== null || failures() >= 6);
    assert.equal(service.child.exitCode, null, "the service goes on");
    assert.deepEqual(
      [await probe("/ready"), await probe("/health"), await statusOf(speak())],
      [503, 200, 503],
    );
    disk.makeWritable();
    await eventually("ready again", async () => (await probe("/ready")) === 200);
    assert.deepEqual([await statusOf(speak()), await statusOf(upload())], [200, 200]);
  });

  test("a service whose database cannot restart still stops on request", async () => {
    disk.makeReadOnly();
    process.kill(
      Number((await readFile(join(disk.path, "postgres/postmaster.pid"), "utf8")).split("\n")[0]),
      "SIGKILL",
    );
    await eventually("not ready", async () => (await probe("/ready")) === 503);
    assert.equal(await service.stop(), 0, service.output());
  });
});
