import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { readMachine } from "../../src/service/machine.js";
import { temporaryFolder } from "../support/folders.js";

const GIGABYTE = 2 ** 30;
const SEEN = { cpus: 8, memoryBytes: 16 * GIGABYTE };

/** The resources that the service finds on a machine with 8 CPUs, 16 GiB and these kernel files. */
async function machineWith(files: Readonly<Record<string, string>>) {
  const root = await temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `${text}\n`);
  }
  return readMachine({ root, ...SEEN });
}

const FREE = { cores: 8, hasQuota: false, memoryBytes: 16 * GIGABYTE, isMemoryLimited: false };

test("without control groups the service may use the whole machine", async () => {
  assert.deepEqual(await machineWith({}), FREE);
});

test("the quota and memory of cgroup version 2 are read", async () => {
  const found = await machineWith({
    "proc/self/cgroup": "0::/",
    "sys/fs/cgroup/cpu.max": "250000 100000",
    "sys/fs/cgroup/memory.max": String(2 * GIGABYTE),
  });
  assert.deepEqual(found, { cores: 2, hasQuota: true, memoryBytes: 2 * GIGABYTE, isMemoryLimited: true });
});

test("the lowest limit of the parent groups applies", async () => {
  const found = await machineWith({
    "proc/self/cgroup": "0::/system.slice/dauys.service",
    "sys/fs/cgroup/system.slice/dauys.service/cpu.max": "600000 100000",
    "sys/fs/cgroup/system.slice/dauys.service/memory.max": "max",
    "sys/fs/cgroup/system.slice/cpu.max": "400000 100000",
    "sys/fs/cgroup/system.slice/memory.max": String(4 * GIGABYTE),
  });
  assert.deepEqual(found, { cores: 4, hasQuota: true, memoryBytes: 4 * GIGABYTE, isMemoryLimited: true });
});

test("cgroup version 1 is read even if a container cannot see its place in the tree", async () => {
  const found = await machineWith({
    "proc/self/cgroup": "9:memory:/docker/4f\n4:cpu,cpuacct:/docker/4f\n0::/",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": String(3 * GIGABYTE),
  });
  assert.deepEqual(found, { cores: 3, hasQuota: true, memoryBytes: 3 * GIGABYTE, isMemoryLimited: true });
});

test("without a quota, or with one larger than the machine, all cores count", async () => {
  const current = {
    "proc/self/cgroup": "0::/a",
    "sys/fs/cgroup/a/cpu.max": "max 100000",
    "sys/fs/cgroup/a/memory.max": "max",
  };
  const older = {
    "proc/self/cgroup": "4:cpu:/a\n9:memory:/a",
    "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "-1",
    "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
    "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712",
  };
  const roomy = { "proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "1600000 100000" };
  for (const files of [current, older, roomy]) assert.deepEqual(await machineWith(files), FREE);
});

test("half a core counts as a core", async () => {
  const { cores, hasQuota } = await machineWith({
    "proc/self/cgroup": "0::/",
    "sys/fs/cgroup/cpu.max": "50000 100000",
  });
  assert.deepEqual([cores, hasQuota], [1, true]);
});

test("the cores and memory of this machine are detected", () => {
  const { cores, memoryBytes } = readMachine();
  assert.ok(cores >= 1 && Number.isInteger(cores), `${cores} cores`);
  assert.ok(memoryBytes > 2 ** 20, `${memoryBytes} bytes`);
});
