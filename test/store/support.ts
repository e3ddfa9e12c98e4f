import { rmSync } from "node:fs";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog, type Log } from "../../src/observe/log.js";
import type { Clock } from "../../src/ports/clock.js";
import type { StoreConfig } from "../../src/store/store.js";

export const SILENT: Log = createLog({ level: "silent" });

/** A clock that stands until it is told to move. */
export class ManualClock implements Clock {
  #nowMs = 1_000;

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

/** A new folder that goes away with the test's process: by then everything in it has been closed. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-test-"));
  // Reachable for a private server that runs as another OS user.
  await chmod(folder, 0o711);
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function privateStore(dataDir: string, changes: Partial<StoreConfig> = {}): StoreConfig {
  return { dataDir, databaseUrl: null, devApiKey: null, keyPepper: null, ...changes };
}

/** Polls until `isTrue`; fails loudly rather than for ever. */
export async function eventually(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(50);
  }
}
