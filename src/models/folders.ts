import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPackages, readManifest } from "../../native/models/find-packages.js";
import { NEAR_VOICE_ID, readNearVoice } from "../../native/models/near-voice-package.js";
import type { PackageFolder, SealedFolder } from "../../native/models/package.js";
import type { Config } from "../settings/settings.js";
import { isMissing } from "./checked-json.js";

/** Path relative to `dist/src/models`. */
const SHIPPED = fileURLToPath(new URL("../../../models", import.meta.url));

export interface ModelFolders {
  /**
   * Folders to read packages from. If two packages have the same ID, the one in the earlier folder counts.
   */
  readonly read: readonly string[];
  /** Folder to which packages are added; it also contains `defaults.json`. */
  readonly install: string;
}

/** Returns only `MODELS_DIR` if it is set; otherwise the data folder's packages and the shipped ones. */
export function modelFolders(config: Pick<Config, "modelsDir" | "dataDir">): ModelFolders {
  if (config.modelsDir !== null) return { read: [config.modelsDir], install: config.modelsDir };
  const install = join(config.dataDir, "models");
  return { read: [install, SHIPPED], install };
}

/**
 * Finds every installed package, sorted by ID.
 * @throws {ServiceError} `MODEL_BROKEN` with the name of the first invalid manifest
 */
export async function findInstalled({ read }: ModelFolders): Promise<PackageFolder[]> {
  const found = new Map<string, PackageFolder>();
  for (const folder of read) {
    for (const each of await orEmpty(findPackages(folder))) {
      if (!found.has(each.manifest.id)) found.set(each.manifest.id, each);
    }
  }
  return [...found.values()].sort((a, b) => a.manifest.id.localeCompare(b.manifest.id));
}

/** A folder with a package, which may be invalid. */
export interface SeenPackage {
  /** The manifest's ID, or the folder's name if the manifest is invalid. */
  readonly id: string;
  readonly folder: string;
  /** Null if the manifest is invalid; `fault` has the reason. */
  readonly package: PackageFolder | null;
  readonly fault: string | null;
}

/** Lists every package in every folder, sorted by ID, including those that would stop the service. */
export async function seePackages({ read }: ModelFolders): Promise<readonly SeenPackage[]> {
  const seen: SeenPackage[] = [];
  for (const root of read) {
    for (const entry of await orEmpty(readdir(root, { withFileTypes: true }))) {
      if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
      const each = await seePackage(join(root, entry.name), entry.name);
      if (each !== null) seen.push(each);
    }
  }
  return seen.sort((a, b) => a.id.localeCompare(b.id));
}

/** Returns the shipped voice activity detector, which can be verified but neither chosen nor removed. */
export function seeNearVoice(): Omit<SeenPackage, "package"> & { readonly package: SealedFolder | null } {
  try {
    const part = readNearVoice();
    return { id: NEAR_VOICE_ID, folder: part.folder, package: part, fault: null };
  } catch (error) {
    const fault = (error as Error).message;
    return { id: NEAR_VOICE_ID, folder: join(SHIPPED, NEAR_VOICE_ID), package: null, fault };
  }
}

/** Reads a folder that may not exist until the first package is added. */
async function orEmpty<T>(reading: Promise<T[]>): Promise<T[]> {
  return await reading.catch((error) => {
    if (isMissing(error)) return [];
    throw error;
  });
}

/** Returns the package in a folder; null if the folder has no manifest. */
async function seePackage(folder: string, name: string): Promise<SeenPackage | null> {
  try {
    const manifest = await readManifest(folder);
    return manifest === null ? null : { id: manifest.id, folder, package: { folder, manifest }, fault: null };
  } catch (error) {
    return { id: name, folder, package: null, fault: (error as Error).message };
  }
}

/** Lists valid packages, so that a broken one does not block commands on the others. */
export async function readablePackages(folders: ModelFolders): Promise<readonly PackageFolder[]> {
  const found = new Map<string, PackageFolder>();
  for (const { id, package: each } of await seePackages(folders)) {
    if (each !== null && !found.has(id)) found.set(id, each);
  }
  return [...found.values()];
}
