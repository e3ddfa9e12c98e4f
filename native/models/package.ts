import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ServiceError } from "../../src/domain/errors.js";
import type { ModelManifest } from "./manifest.js";

/** A folder whose manifest was checked. */
export interface PackageFolder<M extends ModelManifest = ModelManifest> {
  readonly folder: string;
  readonly manifest: M;
}

/** A package, checked by its family's schema; it may be sent to another thread. */
export interface ModelPackage<M extends ModelManifest = ModelManifest, C = unknown> extends PackageFolder<M> {
  /** What its JSON files say, as the family's schema gives it. */
  readonly contents: C;
}

/**
 * The bytes of one file of a package, after its hash was checked. Graphs are not read but loaded by path, see `loadGraph`.
 * @throws {ServiceError} `MODEL_BROKEN` when the file is not named, missing, or not the one the manifest was made for
 */
export async function readPackageFile(model: PackageFolder, name: string): Promise<Uint8Array> {
  const path = pathOf(model, name);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw unreadable(model, path, error);
  }
  requireHash(model, name, createHash("sha256").update(bytes).digest("hex"));
  return bytes;
}

/** Where a file of a package lies. @throws {ServiceError} `MODEL_BROKEN` when the manifest does not name it */
export function pathOf(model: PackageFolder, name: string): string {
  const file = model.manifest.files[name];
  if (file !== undefined) return join(model.folder, file.path);
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${model.manifest.id}: its manifest names no file "${name}"`,
  );
}

/** @throws {ServiceError} `MODEL_BROKEN` when `found` is not the hash that the manifest says */
export function requireHash(model: PackageFolder, name: string, found: string): void {
  const sha256 = model.manifest.files[name]?.sha256;
  if (found === sha256) return;
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot load ${model.manifest.id}: sha256 of ${pathOf(model, name)} must be ${sha256}, found ${found}`,
  );
}

/** What is thrown for a file of a package that cannot be read. */
export function unreadable(model: PackageFolder, path: string, cause: unknown): ServiceError {
  return new ServiceError("MODEL_BROKEN", `Cannot load ${model.manifest.id}: ${path} cannot be read`, {
    cause,
  });
}

/** A package's file as errors name it. */
export function fileNameOf(model: PackageFolder, file: string): string {
  return `${model.manifest.id}/${model.manifest.files[file]?.path}`;
}
