import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { NEAR_VOICE_ID } from "../../native/models/near-voice-package.js";
import type { PackageFolder } from "../../native/models/package.js";
import { nearestName } from "../domain/text/nearest-name.js";
import { type ModelFolders, modelFolders } from "../models/folders.js";
import { readConfig } from "../settings/settings.js";
import { CommandError, type CommandInput } from "./command.js";

/** The folder of `package.json`, where `npm start` is typed. */
const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));

/** Where packages lie for this command line. */
export function foldersOf({ environment }: CommandInput): ModelFolders {
  return modelFolders(readConfig(environment));
}

/**
 * The same for a command that writes: in a wrong working directory the default `./data` would become a new folder that no
 * service reads.
 */
export async function writableFolders(input: CommandInput): Promise<ModelFolders> {
  const folders = foldersOf(input);
  const { environment } = input;
  if (environment["MODELS_DIR"] || environment["DATA_DIR"]) return folders;
  if (resolve(".") === resolve(PROJECT)) return folders;
  const dataDir = dirname(folders.install);
  if ((await stat(dataDir).catch(() => null))?.isDirectory() === true) return folders;
  throw new CommandError(
    `there is no data folder ${dataDir}: run this where the service runs, or set DATA_DIR or MODELS_DIR`,
  );
}

/** @throws {CommandError} that tells the nearest name */
export function requireInstalled(packages: readonly PackageFolder[], name: string): PackageFolder {
  const named = packages.map((each) => ({ id: each.manifest.id, each }));
  return requireSeen(named, name).each;
}

/** The same among anything with an id. */
export function requireSeen<T extends { readonly id: string }>(all: readonly T[], name: string): T {
  const found = all.find(({ id }) => id === name);
  if (found !== undefined) return found;
  if (name === NEAR_VOICE_ID)
    throw new CommandError(`${name} comes with the service as voice activity of other models, and stays`);
  const known = all.map(({ id }) => id);
  throw unknownModel(`${name} is not installed`, name, known);
}

export function unknownModel(what: string, name: string, known: readonly string[]): CommandError {
  const nearest = nearestName(name, known);
  const advice = nearest === null ? "see `dauys models list`" : `did you mean ${nearest}?`;
  return new CommandError(`${what}: ${advice}`);
}
