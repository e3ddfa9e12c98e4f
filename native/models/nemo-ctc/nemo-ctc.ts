import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { type Features, featuresOf, OfflineCtc } from "../offline-ctc.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
import type { NemoCtcManifest } from "./manifest.js";

const CONTRACT = {
  file: "model",
  inputs: ["audio_signal", "length"],
  outputs: ["logprobs"],
} as const satisfies GraphContract;
/** An optional graph that computes features. */
const PREPROCESSOR = {
  file: "preprocessor",
  inputs: ["waveforms", "waveforms_lens"],
  outputs: ["features", "features_lens"],
} as const satisfies GraphContract;

/**
 * Loads an offline NeMo CTC (QuartzNet, Conformer, FastConformer), exported by `model.export`: audio_signal
 * f32 [B, bins, T], length int64 [B]; logprobs f32 [B, T / subsampling, outputs], the blank last. Features
 * are computed here, or by a graph: waveforms f32 [B, N], waveforms_lens int64 [B] to features f32 [B, bins,
 * T], features_lens int64 [B]. Full context only.
 *
 * @see k2-fsa/sherpa-onnx at 1c4fd97, `scripts/nemo/parakeet-tdt_ctc-0.6b-ja/export-onnx-ctc.py`;
 *   istupakov/onnx-asr at 0820e39, `src/onnx_asr/models/nemo.py` (tensor names), and at 25d42e7,
 *   `preprocessors/nemo.py` (preprocessor)
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadNemoCtc(
  model: ModelPackage<NemoCtcManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const { melBins, normalize, files } = model.manifest;
  const tokens = await readTokens(model);
  const graph = await loadGraph(model, CONTRACT, options);
  const name = fileNameOf(model, "model");
  requireDimension(graph, name, "audio_signal", { axis: 1, expected: melBins });
  const logMel = new LogMel(FRONT_ENDS.nemo(melBins));
  const preprocessor = "preprocessor" in files ? await loadGraph(model, PREPROCESSOR, options) : null;
  return new OfflineCtc({
    graph,
    name,
    tensors: { features: "audio_signal", length: "length", logProbs: "logprobs" },
    tokens,
    manifest: model.manifest,
    hopSamples: logMel.options.hopSamples,
    features:
      preprocessor === null
        ? featuresOf(logMel, normalize === "per-feature")
        : (pcm) => preprocess(preprocessor, pcm),
    helpers: preprocessor === null ? [] : [preprocessor],
  });
}

async function preprocess(graph: Graph, pcm: Float32Array): Promise<Features> {
  if (pcm.length === 0) return { values: new Float32Array(0), frames: 0 };
  const { features, features_lens } = await graph.run({
    waveforms: new Tensor("float32", pcm, [1, pcm.length]),
    waveforms_lens: new Tensor("int64", BigInt64Array.of(BigInt(pcm.length)), [1]),
  });
  const [, bins, width] = features!.dims as [number, number, number];
  const frames = Number((features_lens!.data as BigInt64Array)[0]);
  const values = features!.data as Float32Array;
  if (frames === width) return { values, frames };
  // Remove the padding.
  const kept = new Float32Array(bins * frames);
  for (let bin = 0; bin < bins; bin++)
    kept.set(values.subarray(bin * width, bin * width + frames), bin * frames);
  return { values: kept, frames };
}
