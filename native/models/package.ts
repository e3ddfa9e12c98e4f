import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import type { ModelManifest } from "./manifest.js";
import type { ManifestFile, PackageFile } from "./package-files.js";

/** A folder and the files in it that a manifest names by their hashes. */
export interface SealedFolder {
  readonly folder: string;
  readonly manifest: Pick<ModelManifest, "id" | "files">;
}

/** A folder whose manifest was checked. */
export interface PackageFolder<M extends ModelManifest = ModelManifest> extends SealedFolder {
  readonly manifest: M;
}

/** A package, checked by its family's schema; it may be sent to another thread. */
export interface ModelPackage<M extends ModelManifest = ModelManifest, C = unknown> extends PackageFolder<M> {
  /** What its JSON files say, as the family's schema gives it. */
  readonly contents: C;
}

/** Which form of a graph a provider runs. */
export type GraphVariant = "cpu" | "gpu";

/** A graph's file for one provider. */
export interface GraphFile extends PackageFile {
  readonly variant: GraphVariant;
}

const CPU = "cpu";

/**
 * The file that a graph is loaded from where it is placed: off the CPU its variant for GPUs, where the package has one.
 * @throws {ServiceError} `MODEL_BROKEN` when the manifest does not name the graph
 */
export function graphFile(
  model: SealedFolder,
  name: string,
  { provider }: { readonly provider: string },
): GraphFile {
  const { gpu, ...file } = namedFile(model, name);
  const isForGpu = provider !== CPU && gpu !== undefined;
  return isForGpu ? { ...gpu, variant: "gpu" } : { ...file, variant: "cpu" };
}

/** @throws {ServiceError} `MODEL_BROKEN` when the manifest does not name it */
export function namedFile(model: SealedFolder, name: string): ManifestFile {
  const file = model.manifest.files[name];
  if (file !== undefined) return file;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${model.manifest.id}: its manifest names no file "${name}"`,
  );
}

/** Where a file of a package lies. */
export function placeOf({ folder }: SealedFolder, { path }: PackageFile): string {
  return join(folder, path);
}

/**
 * The bytes of one file of a package, after its hash was checked. Graphs are not read but loaded by path, see `loadGraph`.
 * @throws {ServiceError} `MODEL_BROKEN` when the file is not named, missing, or not the one the manifest was made for
 */
export async function readPackageFile(model: SealedFolder, name: string): Promise<Uint8Array> {
  const file = namedFile(model, name);
  const path = placeOf(model, file);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw unreadable(model, path, error);
  }
  requireHash(model, file, createHash("sha256").update(bytes).digest("hex"));
  return bytes;
}

/** Where a file of a package lies. @throws {ServiceError} `MODEL_BROKEN` when the manifest does not name it */
export function pathOf(model: SealedFolder, name: string): string {
  return placeOf(model, namedFile(model, name));
}

/** @throws {ServiceError} `MODEL_BROKEN` when `found` is not the hash that the manifest says */
export function requireHash(model: SealedFolder, file: PackageFile, found: string): void {
  if (found === file.sha256) return;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${model.manifest.id}: sha256 of ${placeOf(model, file)} must be ${file.sha256}, found ${found}`,
  );
}

/** What is thrown for a file of a package that cannot be read. */
export function unreadable(model: SealedFolder, path: string, cause: unknown): ServiceError {
  return new ServiceError("MODEL_BROKEN", `Cannot load ${model.manifest.id}: ${path} cannot be read`, {
    cause,
  });
}

/** A package's file as errors name it. */
export function fileNameOf(model: SealedFolder, file: string): string {
  return `${model.manifest.id}/${model.manifest.files[file]?.path}`;
}
