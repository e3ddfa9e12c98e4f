import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../core/domain/errors.js";
import type { SealedFolder } from "./package.js";

/** Id of the voice activity that comes with the repository, and its folder among the shipped packages. */
export const NEAR_VOICE_ID = "near-voice-v1";
/** The graph's name among the files of its manifest. */
export const NEAR_VOICE_FILE = "near";
/**
 * From `dist/native/models` to the folder beside `package.json`. It is found from the code, not from
 * MODELS_DIR: packages that an operator keeps there need it too.
 */
const FOLDER = join(import.meta.dirname, "../../../models", NEAR_VOICE_ID);

/**
 * The shipped voice activity, its graph not yet hashed. It is read by hand, since worker threads do not load zod.
 * @throws {ServiceError} `MODEL_BROKEN` naming the manifest and what is wrong with it
 */
export function readNearVoice(folder: string = FOLDER): SealedFolder {
  const path = join(folder, "manifest.json");
  const broken = (rule: string, cause?: unknown) =>
    new ServiceError("MODEL_BROKEN", `Cannot use ${path}: ${rule}`, { cause });
  let manifest: Partial<SealedFolder["manifest"]> | null;
  try {
    manifest = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw broken((error as Error).message, error);
  }
  const file = manifest?.files?.[NEAR_VOICE_FILE];
  if (typeof manifest?.id !== "string") throw broken("id must be a string");
  if (typeof file?.path !== "string" || typeof file.sha256 !== "string")
    throw broken(`files must name "${NEAR_VOICE_FILE}" with its path and sha256`);
  return { folder, manifest: { id: manifest.id, files: { [NEAR_VOICE_FILE]: file } } };
}
