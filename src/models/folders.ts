import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPackages, readManifest } from "../../native/models/find-packages.js";
import { NEAR_VOICE_ID, readNearVoice } from "../../native/models/near-voice-package.js";
import type { PackageFolder, SealedFolder } from "../../native/models/package.js";
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

/** A folder that holds a package, or should. */
export interface SeenPackage {
  /** Of the manifest; of one that cannot be read, the folder's name. */
  readonly id: string;
  readonly folder: string;
  /** Null where the manifest breaks a rule, which `fault` tells. */
  readonly package: PackageFolder | null;
  readonly fault: string | null;
}

/** Every package in every folder, by id, those that would stop the service among them. */
export async function seePackages({ read }: ModelFolders): Promise<readonly SeenPackage[]> {
  const seen: SeenPackage[] = [];
  for (const root of read) {
    for (const entry of await entriesOf(root)) {
      if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
      const each = await seePackage(join(root, entry.name), entry.name);
      if (each !== null) seen.push(each);
    }
  }
  return seen.sort((a, b) => a.id.localeCompare(b.id));
}

/** The voice activity that ships, wherever packages are kept: verified as they are, but neither chosen nor removed. */
export function seeNearVoice(): Omit<SeenPackage, "package"> & { readonly package: SealedFolder | null } {
  try {
    const part = readNearVoice();
    return { id: NEAR_VOICE_ID, folder: part.folder, package: part, fault: null };
  } catch (error) {
    const fault = (error as Error).message;
    return { id: NEAR_VOICE_ID, folder: join(SHIPPED, NEAR_VOICE_ID), package: null, fault };
  }
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Null for a folder without a manifest. */
async function seePackage(folder: string, name: string): Promise<SeenPackage | null> {
  try {
    const manifest = await readManifest(folder);
    return manifest === null ? null : { id: manifest.id, folder, package: { folder, manifest }, fault: null };
  } catch (error) {
    return { id: name, folder, package: null, fault: (error as Error).message };
  }
}

/** The packages that can be read; one that is broken is no reason not to add, choose or remove others. */
export async function readablePackages(folders: ModelFolders): Promise<readonly PackageFolder[]> {
  const found = new Map<string, PackageFolder>();
  for (const { id, package: each } of await seePackages(folders)) {
    if (each !== null && !found.has(id)) found.set(id, each);
  }
  return [...found.values()];
}
