import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FolderInUse, lockFolder } from "../../store/postgres/folder-lock.js";

/** Readers of packages ignore these names, because they start with a dot. */
const LOCK_NAME = ".lock";
export const PARTIAL = ".partial";
export const REPLACED = ".replaced";
export const REMOVED = ".removed";
/** Prefix of folders with unpacked bundles. */
export const UNPACKED = ".unpacked-";
const POLL_MS = 300;

/**
 * Runs `work` with the folder locked. Waits if another command has locked it.
 *
 * @param onWait receives one message about that command
 * @throws the signal's reason if it is aborted
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
        onWait(`another command is using ${folder} (process ${pid} on ${host}), waiting for it to finish`);
      isReported = true;
      await sleep(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** Cleans up after a killed command, and restores a package whose replacement was never completed. */
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
