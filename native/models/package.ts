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
 * The bytes of one file of a package, after its hash was checked.
 * @throws {ServiceError} `MODEL_BROKEN` when the file is not named, missing, or not the one the manifest was made for
 */
export async function readPackageFile(model: PackageFolder, name: string): Promise<Uint8Array> {
  const file = model.manifest.files[name];
  if (file === undefined) {
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot load ${model.manifest.id}: its manifest names no file "${name}"`,
    );
  }
  const path = join(model.folder, file.path);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new ServiceError("MODEL_BROKEN", `Cannot load ${model.manifest.id}: ${path} cannot be read`, {
      cause: error,
    });
  }
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (sha256 !== file.sha256) {
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot load ${model.manifest.id}: sha256 of ${path} must be ${file.sha256}, found ${sha256}`,
    );
  }
  return bytes;
}

/** A package's file as errors name it. */
export function fileNameOf(model: PackageFolder, file: string): string {
  return `${model.manifest.id}/${model.manifest.files[file]?.path}`;
}
