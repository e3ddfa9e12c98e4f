import { join } from "node:path";
import { z } from "zod";
import { ServiceError } from "../../core/domain/errors.js";
import type { ModelManifest, Task } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import { isMissing, readCheckedJson } from "./checked-json.js";
import { writeDurably } from "./durable.js";

/** IDs of the packages for requests that specify no model, as chosen with `models use`. */
export type Defaults = { readonly [T in Task]?: string | undefined };

const DEFAULTS_FILE = "defaults.json";
/** IDs of the shipped packages. */
export const SHIPPED_IDS: Readonly<Record<Exclude<Task, "diarization">, string>> & {
  /** No model for diarization is shipped. */
  readonly diarization?: undefined;
} = {
  transcription: "svc-kk-ru-v2",
  synthesis: "svc-kk-v1",
  punctuation: "punctuation-v1",
};

const ID = z
  .string({ error: "must be the id of a package" })
  .min(1, { error: "must be the id of a package" });
const SCHEMA = z.strictObject({
  transcription: ID.optional(),
  synthesis: ID.optional(),
  punctuation: ID.optional(),
  diarization: ID.optional(),
});

/**
 * Reads the choices made with `models use`; empty if there are none.
 *
 * @param folder `install` of the model folders
 * @throws {ServiceError} `MODEL_BROKEN` with the file and what is wrong with it
 */
export async function readDefaults(folder: string): Promise<Defaults> {
  const path = defaultsPath(folder);
  const broken = (rule: string, cause: unknown) =>
    new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${rule}`, { cause });
  return await readCheckedJson(path, SCHEMA, broken).catch((error: Error) => {
    if (isMissing(error.cause)) return {};
    throw error;
  });
}

/** Replaces the choices that `readDefaults` reads. The folder must exist. */
export async function writeDefaults(folder: string, defaults: Defaults): Promise<void> {
  await writeDurably(defaultsPath(folder), `${JSON.stringify(defaults, null, 2)}\n`);
}

/**
 * Chooses the package for requests without a model: the one in `defaults`, otherwise the shipped one,
 * otherwise the first by ID (but not for punctuation). Null if there is none for the task.
 *
 * @param packages packages of any task, sorted by ID
 * @param folder the folder of `defaults`, for the error message
 * @throws {ServiceError} `MODEL_BROKEN` if the package in `defaults` is not installed, or is for another task
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
    // The task determines the type of the manifest.
    if (found !== undefined && isFor(found)) return found as PackageFolder<M>;
    const what = found === undefined ? "is not installed" : `is a package for ${found.manifest.task}`;
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot start: ${defaultsPath(folder)} sets ${wanted} for ${task}, which ${what}`,
    );
  }
  const candidates = packages.filter(isFor);
  const shipped = candidates.find(({ manifest }) => manifest.id === SHIPPED_IDS[task]);
  // The shipped punctuation model works with any packages folder, so another one must be chosen explicitly.
  const other = task === "punctuation" ? undefined : candidates[0];
  return ((shipped ?? other) as PackageFolder<M> | undefined) ?? null;
}

function defaultsPath(folder: string): string {
  return join(folder, DEFAULTS_FILE);
}
