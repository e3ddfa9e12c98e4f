import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BatchRows, USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import type { Provider } from "../../core/domain/placement/provider.js";
import type { RowsOfLength } from "../../core/domain/placement/shared-passes.js";

export interface DeviceTuning extends BatchRows {
  readonly device: string;
  /** Time of the measurement in ISO 8601. */
  readonly measured: string;
}

export type DeviceTunings = Readonly<Partial<Record<Provider, DeviceTuning>>>;

const FILE = "device-tuning.json";
const ROWS = ["solverRows", "windowRows", "liveRows"] as const;
/** Missing in files of earlier releases. */
const LATER = ["finalRows", "fileRows", "hearFrames"] as const;
const MOST_ROWS = 256;
const MOST_FRAMES = 2_000;

/** Reads this machine's measurements; empty without a file. @throws {SyntaxError} for an invalid file */
export async function readDeviceTuning(dataDir: string): Promise<DeviceTunings> {
  const path = join(dataDir, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  const entries = Object.entries((JSON.parse(text) ?? {}) as DeviceTunings);
  const usual = Object.fromEntries(LATER.map((name) => [name, USUAL_ROWS[name]]));
  const tunings = entries.map(([provider, tuning]) => [provider, { ...usual, ...tuning }] as const);
  for (const [provider, tuning] of tunings) requireTuning(path, provider, tuning);
  return Object.fromEntries(tunings) as DeviceTunings;
}

/** Writes a provider's measurements and keeps those of others. @returns the file's path */
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

function requireTuning(path: string, provider: string, tuning: Partial<DeviceTuning>): void {
  const requireCount = (name: string, found: unknown, most: number) => {
    if (isCount(found, most)) return;
    const rule = `must be a whole number from 1 to ${most}`;
    throw new SyntaxError(`Cannot use ${path}: ${provider}.${name} ${rule}, found ${JSON.stringify(found)}`);
  };
  for (const name of ROWS) requireCount(name, tuning[name], MOST_ROWS);
  requireCount("hearFrames", tuning.hearFrames, MOST_FRAMES);
  for (const name of ["finalRows", "fileRows"] as const) {
    if (isTable(tuning[name])) continue;
    const rule = "must be a list of rows with ascending frames";
    throw new SyntaxError(
      `Cannot use ${path}: ${provider}.${name} ${rule}, found ${JSON.stringify(tuning[name])}`,
    );
  }
}

function isCount(value: unknown, most: number): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;
}

function isTable(value: unknown): value is readonly RowsOfLength[] {
  if (!Array.isArray(value)) return false;
  let before = 0;
  return value.every((entry: Partial<RowsOfLength> | null) => {
    const { frames = 0, rows } = entry ?? {};
    const rises = isCount(frames, MOST_FRAMES) && frames > before;
    before = frames;
    return rises && isCount(rows, MOST_ROWS);
  });
}
