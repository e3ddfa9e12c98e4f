import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { binsFirst, LogMel } from "../../../core/domain/audio/log-mel.js";
import { ChunkFeatures } from "../chunk-features.js";
import { ChunkedCtc, type ChunkInput } from "../chunked-ctc.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { GraphContract } from "../graph-interface.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import { floatsOf, StreamCaches } from "../stream-caches.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
import type { NemoStreamingCtcManifest } from "./manifest.js";

const CONTRACT = {
  file: "model",
  inputs: ["audio_signal", "length", "cache_last_channel", "cache_last_time", "cache_last_channel_len"],
  outputs: ["logprobs", "cache_last_channel_next", "cache_last_time_next", "cache_last_channel_next_len"],
} as const satisfies GraphContract;

/**
 * Loads a cache-aware streaming CTC, exported by NeMo with `cache_support`: audio_signal f32 [B, bins,
 * window], length int64 [B], cache_last_channel f32 [B, layers, length, width], cache_last_time f32 [B,
 * layers, width, length], cache_last_channel_len int64 [B]; logprobs f32 [B, shift / subsampling, outputs]
 * with the blank last, and the three next caches. Features are not normalized.
 *
 * A window is the encoder's `pre_encode_cache_size[1]`, then its `chunk_size[1]`. A stream starts with zeros
 * in place of the former: the export drops the encoder's output for it in every run
 * (`drop_extra_pre_encoded`).
 *
 * @see k2-fsa/sherpa-onnx at 6122a67, `scripts/nemo/fast-conformer-hybrid-transducer-ctc/export-onnx-ctc.py`
 *   (shapes, window_size, chunk_shift), and at 001b311, `sherpa-onnx/csrc/online-nemo-ctc-model.cc`; names
 *   from NeMo's `ConformerEncoder.output_types`
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadNemoStreamingCtc(
  model: ModelPackage<NemoStreamingCtcManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const { melBins, subsampling, windowFrames, shiftFrames, cacheLastChannel, cacheLastTime } = model.manifest;
  const tokens = await readTokens(model);
  const graph = await loadGraph(model, CONTRACT, options);
  const name = fileNameOf(model, "model");
  requireDimension(graph, name, "audio_signal", { axis: 1, expected: melBins });
  requireDimension(graph, name, "logprobs", { axis: 2, expected: tokens.width });
  for (const [tensor, dims] of [
    ["cache_last_channel", cacheLastChannel],
    ["cache_last_time", cacheLastTime],
  ] as const) {
    for (const [i, expected] of dims.entries())
      requireDimension(graph, name, tensor, { axis: i + 1, expected });
  }
  const [channel, time] = ["cache_last_channel", "cache_last_time"];
  const caches = new StreamCaches(name, [
    {
      input: channel,
      output: `${channel}_next`,
      type: "float32",
      dims: [1, ...cacheLastChannel],
    },
    { input: time, output: `${time}_next`, type: "float32", dims: [1, ...cacheLastTime] },
    { input: `${channel}_len`, output: `${channel}_next_len`, type: "int64", dims: [1] },
  ]);
  const logMel = new LogMel(FRONT_ENDS.nemo(melBins));
  const leadFrames = windowFrames - shiftFrames;
  const features = new ChunkFeatures(logMel, { windowFrames, shiftFrames, leadFrames });
  const rowsPerChunk = shiftFrames / subsampling;
  return new ChunkedCtc(
    {
      rowsPerChunk,
      samplesPerRow: subsampling * logMel.options.hopSamples,
      // The chunks contain the right context with which the model was trained.
      tailSamples: 0,
      spanOf: (chunk) => features.spanOf(chunk),
      initial: () => caches.initial(),
      run: async (next) => {
        const inputs = signalOf(next, features, { windowFrames, melBins });
        const answer = await graph.run({ ...caches.feeds(next.state), ...inputs }, [...CONTRACT.outputs]);
        const rows = floatsOf(name, "logprobs", answer, rowsPerChunk * tokens.width);
        caches.take(answer, next.state);
        return rows;
      },
      release: () => graph.release(),
    },
    tokens,
  );
}

/** Makes the inputs with the features, `[1, melBins, windowFrames]`, and their length. */
function signalOf(
  { chunk, pcm }: ChunkInput,
  features: ChunkFeatures,
  { windowFrames, melBins }: { readonly windowFrames: number; readonly melBins: number },
): Readonly<Record<string, Tensor>> {
  const window = new Float32Array(windowFrames * melBins);
  features.compute(chunk, pcm, window);
  return {
    audio_signal: new Tensor("float32", binsFirst(window, melBins), [1, melBins, windowFrames]),
    length: new Tensor("int64", BigInt64Array.of(BigInt(windowFrames)), [1]),
  };
}
