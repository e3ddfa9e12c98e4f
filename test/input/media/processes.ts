import { readdirSync, readFileSync } from "node:fs";

/** Returns the command lines of a process's running children, as seen from outside. */
export function childrenOf(pid: number): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        const stat = readFileSync(`/proc/${id}/stat`, "latin1");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        return parent === pid ? [readFileSync(`/proc/${id}/cmdline`, "latin1").replaceAll("\0", " ")] : [];
      } catch {
        // The process ended between the two reads.
        return [];
      }
    });
}

/** Returns only decoder processes. */
export function decodersOf(pid: number): readonly string[] {
  return childrenOf(pid).filter((line) => line.includes("ffmpeg"));
}
