// Stored responses are a cache, so they must not fill the disk that uploads need.
import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { AnswerFiles } from "../../src/http/kept-answers.js";
import { DiskSpace, SpoolBudget } from "../../src/http/spool.js";
import { SmallDisk, whyNoMounts } from "../attack/support/small-disk.js";
import { temporaryFolder } from "../support/folders.js";
import { SILENT } from "../support/silent-log.js";

const MIB = 2 ** 20;
const FLOOR_BYTES = 2 * MIB;

async function keep(files: AnswerFiles, id: string, owner: string): Promise<void> {
  const file = await files.create(id, owner);
  await file.write(Buffer.alloc(MIB, 7));
  await file.keep();
}

test("an upload gets the space of the oldest stored responses, and no more", {
  skip: whyNoMounts() ?? false,
}, async (t) => {
  const small = await SmallDisk.mount(16);
  const folder = join(small.path, "answers");
  const before = await AnswerFiles.open({ folder, capacityBytes: 1_000 * MIB, log: SILENT });
  for (let nth = 0; nth < 6; nth++) await keep(before, `req_${nth}`, "org_a");
  await keep(before, "req_other", "org_b");
  before.close();
  await small.fill(FLOOR_BYTES + MIB / 2);
  // Free space is read once a second. A service that starts now knows that the disk is full.
  const disk = new DiskSpace(small.path, FLOOR_BYTES);
  const room = new SpoolBudget(1_000 * MIB, disk);
  const files = await AnswerFiles.open({ folder, capacityBytes: 1_000 * MIB, disk, log: SILENT });
  t.after(() => files.close());
  const share = room.open();
  await share.take(2 * MIB);
  assert.deepEqual((await readdir(folder)).sort(), ["req_2", "req_3", "req_4", "req_5", "req_other"]);
  share.release();
});

test("newer responses take the place of older ones on a full disk", {
  skip: whyNoMounts() ?? false,
}, async (t) => {
  const small = await SmallDisk.mount(16);
  const disk = new DiskSpace(small.path, FLOOR_BYTES);
  const folder = join(small.path, "answers");
  const files = await AnswerFiles.open({ folder, capacityBytes: 1_000 * MIB, disk, log: SILENT });
  t.after(() => files.close());
  for (let nth = 0; nth < 40; nth++) await keep(files, `req_${nth}`, "org_a");
  const names = await readdir(folder);
  assert.ok(names.includes("req_39"), names.join());
  assert.ok(!names.includes("req_0"), names.join());
  assert.ok((await small.freeBytes()) >= FLOOR_BYTES);
});

test("a disk below its floor has no room, even after every stored response has been deleted", async (t) => {
  const folder = await temporaryFolder();
  await mkdir(folder, { recursive: true });
  const disk = new DiskSpace(folder, Number.MAX_SAFE_INTEGER);
  const before = await AnswerFiles.open({ folder, capacityBytes: 1_000 * MIB, log: SILENT });
  await keep(before, "req_a", "org_a");
  before.close();
  const files = await AnswerFiles.open({ folder, capacityBytes: 1_000 * MIB, disk, log: SILENT });
  t.after(() => files.close());
  assert.equal(await disk.hasRoomFor(0), false);
  assert.deepEqual(await readdir(folder), []);
});
