import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The resources that the process may use. */
export interface Machine {
  /** Number of whole cores, at least 1; a fraction of a core is too little for a worker. */
  readonly cores: number;
  /** Whether a container's CPU quota is lower than the number of CPUs that the process may use. */
  readonly hasQuota: boolean;
  /** Memory of the machine, or of the container if that is less. */
  readonly memoryBytes: number;
  readonly isMemoryLimited: boolean;
}

/** Values that tests replace: those of the runtime, and the root folder of the control groups. */
interface Seen {
  readonly root: string;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/**
 * Reads the limits of the process: its CPUs, and the CPU time and memory that control groups (versions 1 and
 * 2) allow. In Node 20, `availableParallelism` ignores quotas and counts the CPUs in the affinity mask.
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

/** Lists the folders of the process's groups and of all groups above, each of which may set a limit. */
function controlGroups(root: string): readonly string[] {
  const folders = new Set<string>();
  for (const line of textOf(join(root, "proc/self/cgroup")).split("\n")) {
    const [, , controllers = "", path = ""] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    // Version 2 has a single tree. Version 1 has one tree per controller, in a folder with its name.
    const names = controllers === "" ? [""] : [controllers, ...controllers.split(",")];
    // In a container that does not see outer groups, this path does not exist and the container's group is
    // the root.
    for (const group of path === "" ? [] : upwards(resolve("/", path))) {
      for (const name of names) folders.add(join(root, "sys/fs/cgroup", name, group));
    }
  }
  return [...folders];
}

function upwards(path: string): string[] {
  return path === "/" ? [path] : [path, ...upwards(dirname(path))];
}

/** Returns the quota in cores; infinite without one. */
function cpuQuota(folder: string): number {
  const [quota, period] = textOf(join(folder, "cpu.max")).split(" ");
  const current = share(quota, period);
  const older = share(textOf(join(folder, "cpu.cfs_quota_us")), textOf(join(folder, "cpu.cfs_period_us")));
  return Math.min(current, older);
}

function share(quota: string | undefined, period: string | undefined): number {
  const cores = Number.parseInt(quota ?? "", 10) / Number.parseInt(period ?? "", 10);
  // "max", -1 and a missing file mean no quota.
  return cores > 0 ? cores : Number.POSITIVE_INFINITY;
}

/** Returns the limit in bytes; infinite without one. */
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
    // A different system or a missing controller means no limit.
    return "";
  }
}
