import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FolderInUse, lockFolder } from "../../store/postgres/folder-lock.js";

/** Names that readers of packages ignore, because they start with a dot. */
const LOCK_NAME = ".lock";
export const PARTIAL = ".partial";
export const REPLACED = ".replaced";
export const REMOVED = ".removed";
/** For unpacked bundles. */
export const UNPACKED = ".unpacked-";
const POLL_MS = 300;

/**
 * Runs `work` with the folder locked, and waits for another command on it.
 *
 * @param onWait receives, once, a message about that command
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
  for (let isReported = false; ; ) {
    try {
      return await lockFolder(join(folder, LOCK_NAME), "command");
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error;
      const { pid, host } = error.holder;
      if (!isReported)
        onWait(`another command is using ${folder} (process ${pid} on ${host}): waiting for it to end`);
      isReported = true;
      await sleep(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** Cleans up after a killed command, and restores a package whose replacement never arrived. */
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
