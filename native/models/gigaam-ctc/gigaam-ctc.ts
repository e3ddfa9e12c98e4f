import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { roundedTo16Bits } from "../../../core/domain/audio/pcm.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { GraphContract } from "../graph-interface.js";
import { featuresOf, OfflineCtc } from "../offline-ctc.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import type { OfflineRecognizerManifest } from "../public-recognizer-manifest.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";

const CONTRACT = {
  file: "model",
  inputs: ["features", "feature_lengths"],
  outputs: ["log_probs"],
} as const satisfies GraphContract;

/**
 * Loads GigaAM CTC, exported by its own `to_onnx`: features f32 [B, 64, T], feature_lengths int64 [B];
 * log_probs f32 [B, T / 4, outputs], the blank last. Full context only: partials come from repeated reading.
 *
 * @see salute-developers/GigaAM at 47b458f, `gigaam/model.py`, `GigaAMASR._to_onnx`; windows in
 *   `front-ends.ts`
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadGigaamCtc(
  model: ModelPackage<OfflineRecognizerManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const { melBins, subsampling, frontEnd, longestSeconds, windows } = model.manifest;
  const tokens = await readTokens(model);
  const graph = await loadGraph(model, CONTRACT, options);
  const name = fileNameOf(model, "model");
  requireDimension(graph, name, "features", { axis: 1, expected: melBins });
  const logMel = new LogMel(FRONT_ENDS[frontEnd](melBins));
  const features = featuresOf(logMel, false);
  return new OfflineCtc({
    graph,
    name,
    tensors: { features: "features", length: "feature_lengths", logProbs: "log_probs" },
    tokens,
    bins: melBins,
    subsampling,
    hopSamples: logMel.options.hopSamples,
    longestSeconds,
    windows,
    // 8 kHz audio resampled in floats is exactly silent above 4 kHz, unlike all training audio, which nearly
    // doubles word errors. Files and sessions have 16 bits anyway, so for them rounding again changes
    // nothing.
    features: (pcm) => features(roundedTo16Bits(pcm)),
  });
}
