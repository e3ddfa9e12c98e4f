import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";

/** What the process may use of the machine that it runs on. */
export interface Machine {
  /** Whole cores, at least 1: what is left of a fraction is too little for a worker. */
  readonly cores: number;
  /** A container's quota of CPU time is less than the CPUs that the process may run on. */
  readonly hasQuota: boolean;
  /** Of the machine, or of the container where that has less. */
  readonly memoryBytes: number;
  readonly isMemoryLimited: boolean;
}

/** The machine as the runtime sees it, and the folder that its control groups are read below. */
interface Seen {
  readonly root: string;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/**
 * Reads the limits of the process: CPUs it may run on, and what control groups (version 1 and 2) leave it of CPU time and
 * memory. Node 20 knows nothing of quotas: `availableParallelism` counts the CPUs of the affinity mask.
 */
export function readMachine(seen: Partial<Seen> = {}): Machine {
  const { root = "/", cpus = availableParallelism(), memoryBytes = totalmem() } = seen;
  const folders = controlGroups(root);
  const quota = Math.min(...folders.map(cpuQuota));
  const limitBytes = Math.min(...folders.map(memoryLimit));
  const hasQuota = quota < cpus;
  const isMemoryLimited = limitBytes < memoryBytes;
  return {
    cores: hasQuota ? Math.max(1, Math.floor(quota)) : cpus,
    hasQuota,
    memoryBytes: isMemoryLimited ? limitBytes : memoryBytes,
    isMemoryLimited,
  };
}

/** Folders of the process's groups and of all groups above them: each of them limits what is below it. */
function controlGroups(root: string): readonly string[] {
  const folders = new Set<string>();
  for (const line of textOf(join(root, "proc/self/cgroup")).split("\n")) {
    const [, , controllers = "", path = ""] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    // Version 2 has one tree without names; in version 1 a controller's tree stands below its name.
    const names = controllers === "" ? [""] : [controllers, ...controllers.split(",")];
    // Where a container does not see the groups around its own, its path leads nowhere, and its own group is the root.
    for (const group of path === "" ? [] : upwards(resolve("/", path))) {
      for (const name of names) folders.add(join(root, "sys/fs/cgroup", name, group));
    }
  }
  return [...folders];
}

function upwards(path: string): string[] {
  return path === "/" ? [path] : [path, ...upwards(dirname(path))];
}

/** In cores; infinite without one. */
function cpuQuota(folder: string): number {
  const [quota, period] = textOf(join(folder, "cpu.max")).split(" ");
  const current = share(quota, period);
  const older = share(textOf(join(folder, "cpu.cfs_quota_us")), textOf(join(folder, "cpu.cfs_period_us")));
  return Math.min(current, older);
}

function share(quota: string | undefined, period: string | undefined): number {
  const cores = Number.parseInt(quota ?? "", 10) / Number.parseInt(period ?? "", 10);
  // "max", -1 and a file that is not there mean none.
  return cores > 0 ? cores : Number.POSITIVE_INFINITY;
}

/** In bytes; infinite without one. */
function memoryLimit(folder: string): number {
  const limits = ["memory.max", "memory.limit_in_bytes"].map((name) =>
    Number.parseInt(textOf(join(folder, name)), 10),
  );
  return Math.min(...limits.map((bytes) => (bytes > 0 ? bytes : Number.POSITIVE_INFINITY)));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // Another system, or a controller that is not there: no limit.
    return "";
  }
}
