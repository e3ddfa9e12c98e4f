import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ServiceError } from "../../core/domain/errors.js";
import type { ModelManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import { writeDurably } from "./durable.js";

export type Task = ModelManifest["task"];

/** Ids of the packages that requests without a model get; a task without one has the usual default. */
export type Defaults = { readonly [T in Task]?: string | undefined };

const DEFAULTS_FILE = "defaults.json";
/** Ids of the packages that come with the repository. */
export const SHIPPED_IDS: Readonly<Record<Task, string>> = {
  transcription: "svc-kk-ru-v2",
  synthesis: "svc-kk-v1",
};

const ID = z
  .string({ error: "must be the id of a package" })
  .min(1, { error: "must be the id of a package" });
const SCHEMA = z.strictObject({ transcription: ID.optional(), synthesis: ID.optional() });

/**
 * What `models use` has chosen; nothing where it never was.
 *
 * @param folder `install` of the model folders
 * @throws {ServiceError} `MODEL_BROKEN` naming the file and what is wrong with it
 */
export async function readDefaults(folder: string): Promise<Defaults> {
  const path = defaultsPath(folder);
  const broken = (rule: string, cause: unknown) =>
    new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${rule}`, { cause });
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return {};
    throw broken(message, error);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken((error as Error).message, error);
  }
  const checked = SCHEMA.safeParse(value);
  if (checked.success) return checked.data;
  const { path: field = [], message = "" } = checked.error.issues[0] ?? {};
  throw broken([...field.map(String), message].join(" "), checked.error);
}

/** Replaces what `readDefaults` reads. The folder must be there. */
export async function writeDefaults(folder: string, defaults: Defaults): Promise<void> {
  await writeDurably(defaultsPath(folder), `${JSON.stringify(defaults, null, 2)}\n`);
}

/**
 * The package that requests without a model get: the one that `defaults` names, else the one that comes with the repository,
 * else the first by id; null when there is none for the task.
 *
 * @param packages by id, of any task
 * @param folder where `defaults` were read, for the error
 * @throws {ServiceError} `MODEL_BROKEN` when `defaults` names a package that is not installed, or is one for another task
 */
export function chooseDefault<M extends ModelManifest>(
  packages: readonly PackageFolder[],
  task: M["task"],
  { defaults, folder }: { readonly defaults: Defaults; readonly folder: string },
): PackageFolder<M> | null {
  const isFor = ({ manifest }: PackageFolder): boolean => manifest.task === task;
  const wanted = defaults[task];
  if (wanted !== undefined) {
    const found = packages.find(({ manifest }) => manifest.id === wanted);
    // Whether a manifest is a recogniser's or a synthesizer's, its task says.
    if (found !== undefined && isFor(found)) return found as PackageFolder<M>;
    const what = found === undefined ? "is not installed" : `is a package for ${found.manifest.task}`;
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot start: ${defaultsPath(folder)} names ${wanted} for ${task}, which ${what}`,
    );
  }
  const candidates = packages.filter(isFor);
  const shipped = candidates.find(({ manifest }) => manifest.id === SHIPPED_IDS[task]);
  return ((shipped ?? candidates[0]) as PackageFolder<M> | undefined) ?? null;
}

function defaultsPath(folder: string): string {
  return join(folder, DEFAULTS_FILE);
}
