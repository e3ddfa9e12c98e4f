import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brokenModel, type SealedFolder } from "./package.js";

/** Id and folder of the voice activity in the repository. */
export const NEAR_VOICE_ID = "near-voice-v1";
/** Name of its graph in the manifest. */
export const NEAR_VOICE_FILE = "near";
/** Path from `dist/native/models`, not MODELS_DIR: packages that an operator keeps there need it too. */
const FOLDER = join(import.meta.dirname, "../../../models", NEAR_VOICE_ID);

/**
 * Reads the manifest of the shipped voice activity. Checks it manually, since worker threads do not load zod.
 * @throws {ServiceError} `MODEL_BROKEN` with the manifest and the reason
 */
export function readNearVoice(folder: string = FOLDER): SealedFolder {
  const path = join(folder, "manifest.json");
  const broken = (rule: string, cause?: unknown) => brokenModel(`Cannot use ${path}: ${rule}`, cause);
  let manifest: Partial<SealedFolder["manifest"]> | null;
  try {
    manifest = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw broken((error as Error).message, error);
  }
  const file = manifest?.files?.[NEAR_VOICE_FILE];
  if (typeof manifest?.id !== "string") throw broken("id must be a string");
  if (typeof file?.path !== "string" || typeof file.sha256 !== "string")
    throw broken(`files must list "${NEAR_VOICE_FILE}" with its path and sha256`);
  return { folder, manifest: { id: manifest.id, files: { [NEAR_VOICE_FILE]: file } } };
}
