import { gunzipSync } from "node:zlib";
import { BeamDecoder } from "../../core/domain/decoding/beam-decoder.js";
import { LanguageModel } from "../../core/domain/decoding/language-model.js";
import { PrefixBeamSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { CtcTwoPass } from "../../native/models/ctc-two-pass/ctc-two-pass.js";
import type { CtcTwoPassContents } from "../../native/models/ctc-two-pass/manifest.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { readPackageFile } from "../../native/models/package.js";
import { readSamples } from "./samples.js";
import type { SpokenItem } from "./sets.js";

/** Log-probs of a whole utterance from both heads. */
export interface Heard {
  readonly item: SpokenItem;
  readonly frames: number;
  /** `[frames, vocabulary]`, natural log; the streaming head, without right context. */
  readonly causal: Float32Array;
  /** `[frames, vocabulary]`, natural log; the full-context head, as in finals and files. */
  readonly full: Float32Array;
  readonly audioSeconds: number;
  readonly fullMs: number;
}

/** A recogniser package with the decoding parts that the service assembles in its workers. */
export interface LoadedRecognizer {
  readonly graphs: CtcTwoPass;
  readonly languageModel: LanguageModel;
  readonly manifest: RecognizerManifest;
  readonly outputBias: Float32Array | null;
}

/** Decodes as the service does with this package; the search is the reference in TypeScript. */
export function decoderOf(recognizer: LoadedRecognizer): BeamDecoder {
  const { graphs, languageModel, manifest, outputBias } = recognizer;
  const { decoding } = manifest;
  const search = new PrefixBeamSearch(graphs.vocabulary, languageModel, decoding);
  const { evidencePerCharacter } = decoding;
  return new BeamDecoder(graphs.vocabulary, search, { evidencePerCharacter, outputBias });
}

export async function loadRecognizerParts(folder: string): Promise<LoadedRecognizer> {
  const model = await readPackage<RecognizerManifest, CtcTwoPassContents>(folder, "transcription");
  const { manifest } = model;
  const graphs = await CtcTwoPass.load(model, { intraOpThreads: 1 });
  const languageModel = LanguageModel.parse(gunzipSync(await readPackageFile(model, "languageModel")));
  const { outputBias } = graphs;
  return { graphs, languageModel, manifest, outputBias };
}

/** Runs both heads over one recording. */
export async function hear(recognizer: LoadedRecognizer, item: SpokenItem): Promise<Heard> {
  const { graphs, manifest } = recognizer;
  const pcm = await readSamples(item.path, manifest.sampleRateHz);
  const before = performance.now();
  const { logProbs: full, frames } = await graphs.decodeUtterance(pcm);
  const fullMs = performance.now() - before;
  // Runs the same frames through the streaming head; its output does not depend on how the audio is split.
  const batch = graphs.stepBatch(1, frames);
  batch.pcm.set(pcm.subarray(0, batch.pcm.length));
  await batch.run();
  const audioSeconds = pcm.length / manifest.sampleRateHz;
  return { item, frames, causal: batch.logProbs, full, audioSeconds, fullMs };
}
