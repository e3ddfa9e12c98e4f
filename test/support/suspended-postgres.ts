import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Suspends the private database of a data folder with all its processes (Linux). @returns a function that
 * resumes it
 */
export async function suspendPostgres(dataDir: string): Promise<() => void> {
  const text = await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8");
  const server = Number(text.split("\n")[0]);
  // The server is suspended first, so that it starts no other process meanwhile.
  process.kill(server, "SIGSTOP");
  const children = await readFile(`/proc/${server}/task/${server}/children`, "utf8");
  const stopped = children.trim().split(" ").map(Number);
  for (const pid of stopped) signal(pid, "SIGSTOP");
  return () => {
    for (const pid of [server, ...stopped]) signal(pid, "SIGCONT");
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // A background worker may have ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
