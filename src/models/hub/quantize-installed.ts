import { mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PackageFolder } from "../../../native/models/package.js";
import { syncPath } from "../durable.js";
import { type QuantizedPackage, type QuantizeOptions, quantizePackage } from "../quantize.js";
import { AddError } from "./add-error.js";
import { UNPACKED } from "./install-lock.js";

/**
 * Adds the int8 variant of an installed package. The caller holds the folder's lock.
 *
 * @param install folder to which packages are added
 * @throws {AddError} if the variant already exists
 * @throws {ServiceError} whatever `quantizePackage` throws
 */
export async function quantizeInstalled(
  { folder, manifest }: PackageFolder,
  install: string,
  { onProgress }: Required<Pick<QuantizeOptions, "onProgress">>,
): Promise<QuantizedPackage & { readonly folder: string }> {
  // The suffix is not `-int8`, because that names the hub's int8 variant, which has different weights.
  const id = `${manifest.id}-own-int8`;
  const target = join(install, id);
  if ((await stat(target).catch(() => null)) !== null)
    throw new AddError(`${id} already exists; run \`dauys models remove ${id}\` first`);
  const aside = await mkdtemp(join(install, UNPACKED));
  try {
    const made = join(aside, id);
    const quantized = await quantizePackage(folder, made, { id, onProgress });
    for (const entry of await readdir(made, { withFileTypes: true, recursive: true })) {
      await syncPath(join(entry.parentPath, entry.name));
    }
    await syncPath(made);
    await rename(made, target);
    await syncPath(install);
    return { ...quantized, folder: target };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
