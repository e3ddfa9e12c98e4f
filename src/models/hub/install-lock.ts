import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FolderInUse, lockFolder } from "../../store/postgres/folder-lock.js";

/** Names in the folder that packages are added to, which no reader of packages looks at. */
const LOCK_NAME = ".lock";
export const PARTIAL = ".partial";
export const REPLACED = ".replaced";
export const REMOVED = ".removed";
/** Where a bundle is taken apart. */
export const UNPACKED = ".unpacked-";
const LOOK_MS = 300;

/**
 * Runs `work` while no other command changes the folder; one that does is waited for, and told once.
 *
 * @param onWait is told whose end is waited for
 * @throws the signal's reason when it aborts
 */
export async function withInstallLock<T>(
  folder: string,
  { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: (message: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  const lock = await waitForLock(folder, signal, onWait);
  try {
    await tidy(folder);
    return await work();
  } finally {
    await lock.release();
  }
}

async function waitForLock(folder: string, signal: AbortSignal, onWait: (message: string) => void) {
  for (let isTold = false; ; ) {
    try {
      return await lockFolder(join(folder, LOCK_NAME), "command");
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error;
      const { pid, host } = error.holder;
      if (!isTold)
        onWait(`another command works in ${folder} (process ${pid} on ${host}): waiting for its end`);
      isTold = true;
      await sleep(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** Ends what a command that was killed had begun: a package whose successor never came is put back. */
async function tidy(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const isLeftOver = name.startsWith(UNPACKED) || (name.startsWith(".") && name.endsWith(REMOVED));
    if (isLeftOver) await rm(join(folder, name), { recursive: true, force: true });
    if (!name.startsWith(".") || !name.endsWith(REPLACED)) continue;
    const replaced = join(folder, name);
    const package_ = join(folder, name.slice(1, -REPLACED.length));
    const hasSuccessor = (await stat(package_).catch(() => null)) !== null;
    if (hasSuccessor) await rm(replaced, { recursive: true, force: true });
    else await rename(replaced, package_);
  }
}
