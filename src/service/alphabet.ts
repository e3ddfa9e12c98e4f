import { recognizerFamilyOf } from "../../native/models/families.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { alphabetOf } from "../../native/models/tokens.js";

/** Characters that transcripts are written in. @throws {ServiceError} `MODEL_BROKEN` */
export async function readAlphabet(modelFolder: string): Promise<ReadonlySet<string>> {
  const recognizer = await readPackage<RecognizerManifest>(modelFolder, "transcription");
  return alphabetOf(await recognizerFamilyOf(recognizer.manifest).vocabulary(recognizer));
}
