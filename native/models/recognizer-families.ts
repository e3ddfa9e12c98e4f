import { CtcTwoPass } from "./ctc-two-pass/ctc-two-pass.js";
import {
  type ExternalRecognizerFamily,
  type ExternalRecognizerManifest,
  isExternalRecognizer,
} from "./external-manifest.js";
import { type CtcHead, ExternalRecognizer } from "./external-recognizer.js";
import { loadGigaamCtc } from "./gigaam-ctc/gigaam-ctc.js";
import type { GraphOptions } from "./graph.js";
import { loadNemoCtc } from "./nemo-ctc/nemo-ctc.js";
import { loadNemoStreamingCtc } from "./nemo-streaming-ctc/nemo-streaming-ctc.js";
import type { ModelPackage, RecognizerManifest } from "./package.js";
import type { RecognizerModel } from "./recognizer.js";
import { SileroVad } from "./silero-vad.js";
import { loadZipformer2Ctc } from "./zipformer2-ctc/zipformer2-ctc.js";

type LoadHead = (model: ModelPackage<ExternalRecognizerManifest>, options: GraphOptions) => Promise<CtcHead>;

const HEADS: Readonly<Record<ExternalRecognizerFamily, LoadHead>> = {
  "gigaam-ctc": loadGigaamCtc,
  "nemo-ctc": loadNemoCtc,
  "nemo-streaming-ctc": loadNemoStreamingCtc,
  "zipformer2-ctc": loadZipformer2Ctc,
};

const PROBE_SAMPLES = 16_000;

/**
 * Loads a recogniser by the family its manifest names.
 * @throws {ServiceError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface
 */
export async function loadRecognizerModel(
  model: ModelPackage<RecognizerManifest>,
  options: GraphOptions,
): Promise<RecognizerModel> {
  if (!isExternal(model)) return CtcTwoPass.load(model, options);
  const vad = await SileroVad.load(model, options);
  const head = await HEADS[model.manifest.family](model, options);
  // Shapes that graphs leave open show when they run: better now than in the first utterance.
  await head.decode(Float32Array.from({ length: PROBE_SAMPLES }, (_, i) => 0.1 * Math.sin(i)));
  return new ExternalRecognizer(model.manifest, head, vad);
}

function isExternal(
  model: ModelPackage<RecognizerManifest>,
): model is ModelPackage<ExternalRecognizerManifest> {
  return isExternalRecognizer(model.manifest.family);
}
