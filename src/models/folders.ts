import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPackages } from "../../native/models/find-packages.js";
import type { PackageFolder } from "../../native/models/package.js";
import type { Config } from "../settings/settings.js";

/** From `dist/src/models/folders.js` to the models beside `package.json`. */
const SHIPPED = fileURLToPath(new URL("../../../models", import.meta.url));

/** Where model packages lie. */
export interface ModelFolders {
  /** Where packages are read; of two packages with one id that of the earlier folder counts. */
  readonly read: readonly string[];
  /** Where packages are added, with `defaults.json` beside them. */
  readonly install: string;
}

/** `MODELS_DIR` alone where it is set, else the shipped packages and those of the data folder. */
export function modelFolders(config: Pick<Config, "modelsDir" | "dataDir">): ModelFolders {
  if (config.modelsDir !== null) return { read: [config.modelsDir], install: config.modelsDir };
  const install = join(config.dataDir, "models");
  return { read: [install, SHIPPED], install };
}

/**
 * Every installed package, by id.
 * @throws {ServiceError} `MODEL_BROKEN` naming the first manifest that breaks a rule
 */
export async function findInstalled({ read }: ModelFolders): Promise<PackageFolder[]> {
  const found = new Map<string, PackageFolder>();
  for (const folder of read) {
    for (const each of await packagesIn(folder)) {
      if (!found.has(each.manifest.id)) found.set(each.manifest.id, each);
    }
  }
  return [...found.values()].sort((a, b) => a.manifest.id.localeCompare(b.manifest.id));
}

/** A folder that nothing was added to yet is not there. */
async function packagesIn(folder: string): Promise<PackageFolder[]> {
  try {
    return await findPackages(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
