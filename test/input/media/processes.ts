import { readdirSync, readFileSync } from "node:fs";

interface Child {
  readonly pid: number;
  readonly line: string;
}

/** Returns the command lines of a process's running children, as seen from outside. */
export function childrenOf(pid: number): readonly string[] {
  return processesOf(pid).map(({ line }) => line);
}

/** Returns a process's decoders of live audio that have started. */
export function liveDecodersOf(pid: number): readonly Child[] {
  return processesOf(pid).filter(
    ({ line }) => line.startsWith(process.execPath) && line.includes("live-process"),
  );
}

function processesOf(pid: number): readonly Child[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        const stat = readFileSync(`/proc/${id}/stat`, "latin1");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const line = readFileSync(`/proc/${id}/cmdline`, "latin1").replaceAll("\0", " ");
        return parent === pid ? [{ pid: Number(id), line }] : [];
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
