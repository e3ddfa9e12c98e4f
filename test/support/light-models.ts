import { createHash } from "node:crypto";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { modelFile } from "../domain/decoding/model-file.js";
import {
  changeManifest,
  copyOfPackage,
  type Json,
  RECOGNIZER_FOLDER,
  SYNTHESIZER_FOLDER,
  temporaryFolder,
} from "./folders.js";

/**
 * Returns the settings of a service with the shipped models, except for a language model with a single word
 * of weight 0. The shipped language model takes a second of CPU to unpack at each start. For tests of
 * requests and credits, because transcripts then come from the graphs alone.
 */
export async function lightModels(): Promise<{ readonly MODELS_DIR: string }> {
  const folder = await temporaryFolder();
  await symlink(resolve(SYNTHESIZER_FOLDER), join(folder, basename(SYNTHESIZER_FOLDER)));
  const recognizer = await copyOfPackage(RECOGNIZER_FOLDER);
  await symlink(recognizer, join(folder, basename(RECOGNIZER_FOLDER)));
  const vocabulary = JSON.parse(await readFile(join(recognizer, "vocabulary.json"), "utf8")) as string[];
  const file = gzipSync(modelFile({ vocabulary, order: 2, texts: [[1, 2]], seed: 1, wordHashes: [1] }));
  const path = "light.bin";
  await writeFile(join(recognizer, path), file);
  const sha256 = createHash("sha256").update(file).digest("hex");
  await changeManifest(recognizer, (manifest) => {
    const files = manifest["files"] as Record<string, Json>;
    const decoding = manifest["decoding"] as Json;
    return {
      ...manifest,
      files: { ...files, languageModel: { path, sha256 } },
      decoding: { ...decoding, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 },
    };
  });
  return { MODELS_DIR: folder };
}
