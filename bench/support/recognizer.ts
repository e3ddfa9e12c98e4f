import { readPackage } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { loadRecognizer, type Recognizer } from "../../native/recognition/load-recognizer.js";
import { UNPACKED } from "./unpacked.js";

/** Loads the recogniser in `modelFolder` in this thread. */
export async function recognizerIn(modelFolder: string, intraOpThreads = 1): Promise<Recognizer> {
  const model = await readPackage<RecognizerManifest>(modelFolder, "transcription");
  return loadRecognizer({ model, intraOpThreads, unpacked: UNPACKED });
}
