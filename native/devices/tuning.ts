import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BatchRows } from "../../src/domain/placement/batch-rows.js";
import type { Provider } from "../../src/domain/placement/provider.js";

/** What `npm run bench -- device-tuning` has found for a provider's device. */
export interface DeviceTuning extends BatchRows {
  /** The device that it was measured on. */
  readonly device: string;
  /** When, as ISO 8601 says it. */
  readonly measured: string;
}

export type DeviceTunings = Readonly<Partial<Record<Provider, DeviceTuning>>>;

const FILE = "device-tuning.json";
const ROWS = ["solverRows", "windowRows", "liveRows"] as const;
/** More than any of them is ever. */
const MOST_ROWS = 256;

/** What was measured here so far; nothing when there is no such file. @throws {SyntaxError} when it is none of ours */
export async function readDeviceTuning(dataDir: string): Promise<DeviceTunings> {
  const path = join(dataDir, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  const value: unknown = JSON.parse(text);
  for (const [provider, tuning] of Object.entries(value ?? {})) requireTuning(path, provider, tuning);
  return value as DeviceTunings;
}

/** Keeps what was measured with other providers. @returns the file's path */
export async function writeDeviceTuning(
  dataDir: string,
  provider: Provider,
  tuning: DeviceTuning,
): Promise<string> {
  const path = join(dataDir, FILE);
  await mkdir(dataDir, { recursive: true });
  const all = { ...(await readDeviceTuning(dataDir)), [provider]: tuning };
  await writeFile(`${path}.part`, `${JSON.stringify(all, null, 2)}\n`);
  await rename(`${path}.part`, path);
  return path;
}

function requireTuning(path: string, provider: string, tuning: unknown): void {
  for (const name of ROWS) {
    const rows = (tuning as Partial<DeviceTuning> | null)?.[name];
    if (Number.isInteger(rows) && rows! >= 1 && rows! <= MOST_ROWS) continue;
    throw new SyntaxError(
      `Cannot use ${path}: ${provider}.${name} must be a whole number from 1 to ${MOST_ROWS}, found ${rows}`,
    );
  }
}
