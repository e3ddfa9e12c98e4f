import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import type { ModelManifest } from "./manifest.js";
import type { ManifestFile, PackageFile } from "./package-files.js";

/** A folder, and the files in it that a manifest lists with their hashes. */
export interface SealedFolder {
  readonly folder: string;
  readonly manifest: Pick<ModelManifest, "id" | "files">;
}

export interface PackageFolder<M extends ModelManifest = ModelManifest> extends SealedFolder {
  readonly manifest: M;
}

/** A package checked by its family's schema. Plain data: it may be posted to another thread. */
export interface ModelPackage<M extends ModelManifest = ModelManifest, C = unknown> extends PackageFolder<M> {
  readonly contents: C;
}

export type GraphVariant = "cpu" | "gpu";

export function brokenModel(message: string, cause?: unknown): ServiceError {
  return new ServiceError("MODEL_BROKEN", message, cause === undefined ? undefined : { cause });
}

/**
 * Selects the file to load a graph from: off the CPU, its GPU variant if the package has one.
 * @throws {ServiceError} `MODEL_BROKEN` if the manifest does not list the graph
 */
export function graphFile(
  model: SealedFolder,
  name: string,
  { provider }: { readonly provider: string },
): PackageFile & { readonly variant: GraphVariant } {
  const { gpu, ...file } = namedFile(model, name);
  const isForGpu = provider !== "cpu" && gpu !== undefined;
  return isForGpu ? { ...gpu, variant: "gpu" } : { ...file, variant: "cpu" };
}

/** @throws {ServiceError} `MODEL_BROKEN` if the manifest does not list it */
export function namedFile(model: SealedFolder, name: string): ManifestFile {
  const file = model.manifest.files[name];
  if (file !== undefined) return file;
  throw brokenModel(`Cannot load ${model.manifest.id}: its manifest does not list a file "${name}"`);
}

export function placeOf({ folder }: SealedFolder, { path }: PackageFile): string {
  return join(folder, path);
}

/**
 * Reads a file of a package and checks its hash. Graphs are loaded by path instead, see `loadGraph`.
 * @throws {ServiceError} `MODEL_BROKEN` if the file is missing or not listed, or its hash is wrong
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

/** Returns the path of a listed file. @throws {ServiceError} `MODEL_BROKEN` if it is not listed */
export function pathOf(model: SealedFolder, name: string): string {
  return placeOf(model, namedFile(model, name));
}

/** @throws {ServiceError} `MODEL_BROKEN` if `found` is not the hash in the manifest */
export function requireHash(model: SealedFolder, file: PackageFile, found: string): void {
  if (found === file.sha256) return;
  const rule = `sha256 of ${placeOf(model, file)} must be ${file.sha256}, found ${found}`;
  throw brokenModel(`Cannot load ${model.manifest.id}: ${rule}`);
}

export function unreadable(model: SealedFolder, path: string, cause: unknown): ServiceError {
  return brokenModel(`Cannot load ${model.manifest.id}: ${path} cannot be read`, cause);
}

/** Returns the name of a package's file for error messages. */
export function fileNameOf(model: SealedFolder, file: string): string {
  return `${model.manifest.id}/${model.manifest.files[file]?.path}`;
}
