import { readdirSync, readFileSync } from "node:fs";

/** Snapshot of one thread of a process. */
export interface ThreadTime {
  readonly id: number;
  readonly niceness: number;
  /** CPU time so far, in hundredths of a second. */
  readonly ticks: number;
}

/** Returns the threads of a process, as Linux counts them. */
export function threadTimes(pid: number): readonly ThreadTime[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    const stat = statOf(pid, id);
    if (stat === null) return [];
    // Fields are counted after the command's name, which may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [{ id: Number(id), niceness: Number(fields[16]), ticks: Number(fields[11]) + Number(fields[12]) }];
  });
}

/** Returns null if the thread has ended meanwhile. */
function statOf(pid: number, id: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8");
  } catch {
    return null;
  }
}

/**
 * Returns the CPU time between two moments by niceness, in hundredths of a second; the main thread is listed
 * separately.
 */
export function ticksByNiceness(
  before: readonly ThreadTime[],
  after: readonly ThreadTime[],
  pid: number,
): ReadonlyMap<number | "main", number> {
  const known = new Map(before.map(({ id, ticks }) => [id, ticks]));
  const sums = new Map<number | "main", number>();
  for (const { id, niceness, ticks } of after) {
    const group = id === pid ? "main" : niceness;
    sums.set(group, (sums.get(group) ?? 0) + ticks - (known.get(id) ?? 0));
  }
  return sums;
}
