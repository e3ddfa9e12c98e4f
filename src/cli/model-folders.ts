import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { nearestName } from "../../core/domain/text/nearest-name.js";
import { NEAR_VOICE_ID } from "../../native/models/near-voice-package.js";
import type { PackageFolder } from "../../native/models/package.js";
import { type ModelFolders, modelFolders } from "../models/folders.js";
import { readConfig } from "../settings/settings.js";
import { CommandError, type CommandInput } from "./command.js";

/** The folder of `package.json`, where `npm start` runs. */
const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));

export function foldersOf({ environment }: CommandInput): ModelFolders {
  return modelFolders(readConfig(environment));
}

/**
 * Returns the folders for commands that write. Rejects a wrong working directory, in which the default
 * `./data` would become a folder that no service reads.
 */
export async function writableFolders(input: CommandInput): Promise<ModelFolders> {
  const folders = foldersOf(input);
  const { environment } = input;
  if (environment["MODELS_DIR"] || environment["DATA_DIR"]) return folders;
  if (resolve(".") === resolve(PROJECT)) return folders;
  const dataDir = dirname(folders.install);
  if ((await stat(dataDir).catch(() => null))?.isDirectory() === true) return folders;
  throw new CommandError(
    `no data folder at ${dataDir}; run this in the service's folder, or set DATA_DIR or MODELS_DIR`,
  );
}

/** Returns the package whose ID is `name`. @throws {CommandError} that suggests the nearest name */
export function requireInstalled(packages: readonly PackageFolder[], name: string): PackageFolder {
  const named = packages.map((each) => ({ id: each.manifest.id, each }));
  return requireSeen(named, name).each;
}

/** Returns the item whose ID is `name`. @throws {CommandError} that suggests the nearest one */
export function requireSeen<T extends { readonly id: string }>(all: readonly T[], name: string): T {
  const found = all.find(({ id }) => id === name);
  if (found !== undefined) return found;
  if (name === NEAR_VOICE_ID)
    throw new CommandError(`"${name}" is the built-in voice activity detector, not a model`);
  const known = all.map(({ id }) => id);
  throw unknownModel(`"${name}" is not installed`, name, known);
}

export function unknownModel(what: string, name: string, known: readonly string[]): CommandError {
  const nearest = nearestName(name, known);
  const advice = nearest === null ? "; see `dauys models list`" : `: did you mean "${nearest}"?`;
  return new CommandError(`${what}${advice}`);
}
