import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { FolderInUse, lockFolder } from "../../../src/store/postgres/folder-lock.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";

test("a locked folder is rejected with its path, its holder and what to do", async () => {
  const folder = await temporaryFolder();
  const lock = await lockFolder(folder, "service");
  await assert.rejects(lockFolder(folder, "command"), (error) => {
    assert.ok(error instanceof FolderInUse);
    assert.match(error.message, new RegExp(`${folder}: a service with process id ${process.pid} .*DATA_DIR`));
    return true;
  });
  await lock.release();
  await (await lockFolder(folder, "command")).release();
  assert.deepEqual(await readdir(folder), []);
});

test("one of many concurrent processes gets the folder", async () => {
  const folder = await temporaryFolder();
  // Once in thirty rounds a late process used to move a fresh lock aside, so that another process found the
  // folder free.
  for (let round = 0; round < 60; round++) {
    await abandon(folder, {});
    const asked = Array.from({ length: 20 }, () => lockFolder(folder, "service"));
    const outcomes = await Promise.allSettled(asked);
    const locks = outcomes.filter((outcome) => outcome.status === "fulfilled");
    assert.equal(locks.length, 1, `round ${round}`);
    for (const outcome of outcomes)
      assert.ok(outcome.status === "fulfilled" || outcome.reason instanceof FolderInUse);
    await locks[0]!.value.release();
    assert.deepEqual(await readdir(folder), []);
  }
});

test("a lock is taken over after a process that died while taking it over", async () => {
  const folder = await temporaryFolder();
  const gone = { pid: spawnSync("true").pid };
  const lock = JSON.parse(await abandon(folder, gone));
  await writeFile(
    join(folder, `dauys.lock.after-${lock.nonce}`),
    JSON.stringify({ ...lock, nonce: "another" }),
  );
  await (await lockFolder(folder, "service")).release();
  assert.deepEqual(await readdir(folder), []);
});

test("the lock of a dead process is taken over", async () => {
  const folder = await temporaryFolder();
  await abandon(folder, { pid: spawnSync("true").pid });
  await (await lockFolder(folder, "service")).release();
});

test("the lock of an earlier process with the same process ID is taken over", async () => {
  const folder = await temporaryFolder();
  await abandon(folder, { pid: process.pid, startedAt: "another-boot/1" });
  await (await lockFolder(folder, "service")).release();
});

// In a container without an init process, a killed service stays a zombie: its process ID still exists.
test("the lock of a zombie is taken over", {
  skip: process.platform !== "linux",
}, async (t) => {
  const folder = await temporaryFolder();
  const parent = spawn("sh", ["-c", "sleep 0.3 & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => parent.kill("SIGKILL"));
  const [said] = await once(parent.stdout, "data");
  const pid = Number(String(said));
  const fields = async () => {
    const status = await readFile(`/proc/${pid}/stat`, "utf8");
    return status.slice(status.lastIndexOf(")") + 2).split(" ");
  };
  await eventually("a zombie", async () => (await fields())[0] === "Z");
  const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  await abandon(folder, { pid, startedAt: `${boot}/${(await fields())[19]}` });
  await (await lockFolder(folder, "service")).release();
});

test("a truncated lock file is taken over", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "dauys.lock"), '{"pid":');
  await (await lockFolder(folder, "service")).release();
});

test("a holder on another host keeps the lock while it sends heartbeats", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "dauys.lock");
  await abandon(folder, { host: "another-host" });
  let beat = Promise.resolve();
  const heart = setInterval(() => {
    beat = utimes(path, new Date(), new Date());
  }, 200);
  await assert.rejects(lockFolder(folder, "service"), FolderInUse);
  clearInterval(heart);
  await beat;
  await (await lockFolder(folder, "service")).release();
});

test("releasing does not touch a successor's lock", async () => {
  const folder = await temporaryFolder();
  const lock = await lockFolder(folder, "service");
  await abandon(folder, { nonce: "successor" });
  await lock.release();
  assert.match(await readFile(join(folder, "dauys.lock"), "utf8"), /successor/);
});

/** Writes the lock of a holder that is not this process, and returns the text of the lock. */
async function abandon(folder: string, changes: Record<string, unknown>): Promise<string> {
  const { hostname } = await import("node:os");
  const holder = {
    pid: 2 ** 22 + 1,
    purpose: "service",
    host: hostname(),
    startedAt: null,
    nonce: "x",
    ...changes,
  };
  const text = JSON.stringify(holder);
  await writeFile(join(folder, "dauys.lock"), text);
  return text;
}
