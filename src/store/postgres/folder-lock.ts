import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { chmod, link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isErrno } from "./secret-files.js";

/** A service holds the folder for as long as it runs, an operator's command only briefly. */
export type LockPurpose = "service" | "command";

export interface LockHolder {
  readonly pid: number;
  readonly purpose: LockPurpose;
  readonly host: string;
  /** Distinguishes a process from a later one with the same ID; null on systems without `/proc`. */
  readonly startedAt: string | null;
  readonly nonce: string;
}

export interface FolderLock {
  release(): Promise<void>;
}

/** Thrown if another process uses the folder. */
export class FolderInUse extends Error {
  override readonly name = "FolderInUse";
  readonly holder: LockHolder;

  constructor(folder: string, holder: LockHolder) {
    super(
      `Cannot use the data folder ${folder}: a ${holder.purpose} with process id ${holder.pid} on ${holder.host} ` +
        "uses it. Stop it, or set DATA_DIR to another folder",
    );
    this.holder = holder;
  }
}

const LOCK_FILE = "dauys.lock";
const HEARTBEAT_MS = 1_000;
/** A holder on another host that misses this many heartbeats counts as dead. */
const SILENT_HEARTBEATS = 5;
/** Limits the retries of processes that compete for the same abandoned lock. */
const MAX_TRIES = 100;
const TAKING_OVER_POLL_MS = 20;

/**
 * Locks the folder for this process. Takes over the lock of a dead process.
 *
 * @throws {FolderInUse} if another process, or an earlier call by this one, holds the lock
 */
export async function lockFolder(folder: string, purpose: LockPurpose): Promise<FolderLock> {
  await makeFolder(folder);
  const path = join(folder, LOCK_FILE);
  const me = await describeMyself(purpose);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (await claim(path, me)) return hold(path, me);
    const holder = await readHolder(path);
    if (holder === "missing") continue;
    if (holder !== null && (await isAtWork(path, holder))) throw new FolderInUse(folder, holder);
    if (await takeOver(path, holder, me)) return hold(path, me);
  }
  throw new Error(`Cannot lock the data folder ${folder}: other processes keep taking ${LOCK_FILE}`);
}

/**
 * Creates a missing folder that others may traverse but not list: a private database that runs as another OS
 * user has its folder inside.
 */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await chmod(made, 0o711);
}

async function claim(path: string, me: LockHolder): Promise<boolean> {
  const draft = `${path}.${me.nonce}`;
  try {
    await writeFile(draft, JSON.stringify(me), { mode: 0o644 });
    // The link appears together with its content, or not at all if the name is taken.
    await link(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

function hold(path: string, me: LockHolder): FolderLock {
  const heartbeat = setInterval(() => {
    const now = new Date();
    // The process that waits for this heartbeat counts a failed one as missed.
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  heartbeat.unref();
  return {
    async release() {
      clearInterval(heartbeat);
      const holder = await readHolder(path);
      if (holder !== null && holder !== "missing" && holder.nonce === me.nonce)
        await rm(path, { force: true });
    },
  };
}

async function isAtWork(path: string, holder: LockHolder): Promise<boolean> {
  if (holder.host !== hostname()) return await hasHeartbeat(path);
  return isAlive(holder.pid) && (await startOf(holder.pid)) === holder.startedAt;
}

/** Watches for a heartbeat, because process IDs of another host or container mean nothing here. */
async function hasHeartbeat(path: string): Promise<boolean> {
  const before = await modifiedAtMs(path);
  for (let beat = 0; beat < SILENT_HEARTBEATS; beat++) {
    await sleep(HEARTBEAT_MS);
    if ((await modifiedAtMs(path)) !== before) return true;
  }
  return false;
}

/**
 * Replaces an abandoned lock with ours. The right to do so is itself a lock, named after the abandoned one,
 * and its holder checks again. So only one process at a time compares and replaces, and a new lock is never
 * replaced. If the holder of the right dies, the right is taken over in the same way.
 *
 * @param seen the abandoned lock; null if the file contains none
 * @returns false if another process was faster, or is about to be; the caller then starts over
 */
async function takeOver(path: string, seen: LockHolder | null, me: LockHolder): Promise<boolean> {
  // The file may not be ours, and may contain anything.
  const right = `${path}.after-${encodeURIComponent(seen?.nonce ?? "none").slice(0, 64)}`;
  if (!(await claim(right, me))) {
    const other = await readHolder(right);
    if (other === "missing") return false;
    if (other !== null && (await isAtWork(right, other))) {
      await sleep(TAKING_OVER_POLL_MS);
      return false;
    }
    if (!(await takeOver(right, other, me))) return false;
  }
  try {
    const found = await readHolder(path);
    if (found === "missing" || found?.nonce !== seen?.nonce) return false;
    const draft = `${path}.${me.nonce}`;
    await writeFile(draft, JSON.stringify(me), { mode: 0o644 });
    await rename(draft, path);
    return true;
  } finally {
    await rm(right, { force: true });
  }
}

/** Reads a lock. Null if the file contains none, as after a full disk or a power failure. */
async function readHolder(path: string): Promise<LockHolder | null | "missing"> {
  try {
    const holder = JSON.parse(await readFile(path, "utf8")) as Partial<LockHolder> | null;
    return Number.isSafeInteger(holder?.pid) && typeof holder?.nonce === "string"
      ? (holder as LockHolder)
      : null;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return "missing";
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function describeMyself(purpose: LockPurpose): Promise<LockHolder> {
  const nonce = randomBytes(12).toString("hex");
  return { pid: process.pid, purpose, host: hostname(), startedAt: await startOf(process.pid), nonce };
}

async function modifiedAtMs(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null);
  return found?.mtimeMs ?? null;
}

/** Returns the boot and start tick of a process, on systems with `/proc`. */
async function startOf(pid: number): Promise<string | null> {
  try {
    const [status, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    ]);
    // The command, in parentheses, may contain spaces. The start time is the 20th field after it.
    const startTick = status.slice(status.lastIndexOf(")") + 2).split(" ")[19];
    return `${boot.trim()}/${startTick}`;
  } catch {
    // There is no /proc, or the process does not exist.
    return null;
  }
}

/** Returns whether a process is running, as any user. A zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!isErrno(error, "EPERM")) return false;
  }
  return !isZombie(pid);
}

/** Returns whether a process has ended but was not reaped, as in a container without an init process. */
function isZombie(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    return /^[ZX]/.test(status.slice(status.lastIndexOf(")") + 2));
  } catch {
    // There is no /proc, or the process has just ended.
    return false;
  }
}
