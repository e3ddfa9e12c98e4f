import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { ChunkedCtc, type ChunkGraph } from "../chunked-ctc.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { GraphContract } from "../graph-interface.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import { StreamCaches, takeRows } from "../stream-caches.js";
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
    { input: channel, output: `${channel}_next`, type: "float32", dims: [1, ...cacheLastChannel] },
    { input: time, output: `${time}_next`, type: "float32", dims: [1, ...cacheLastTime] },
    { input: `${channel}_len`, output: `${channel}_next_len`, type: "int64", dims: [1] },
  ]);
  const signal = new Float32Array(melBins * windowFrames);
  const feeds = {
    ...caches.feeds,
    audio_signal: new Tensor("float32", signal, [1, melBins, windowFrames]),
    length: new Tensor("int64", BigInt64Array.of(BigInt(windowFrames)), [1]),
  };
  const chunks: ChunkGraph = {
    windowFrames,
    shiftFrames,
    leadFrames: windowFrames - shiftFrames,
    rowsPerChunk: shiftFrames / subsampling,
    subsampling,
    cacheSize: caches.size,
    run: async (features, state, rows) => {
      for (let frame = 0; frame < windowFrames; frame++) {
        for (let bin = 0; bin < melBins; bin++) {
          signal[bin * windowFrames + frame] = features[frame * melBins + bin]!;
        }
      }
      caches.load(state);
      const answer = await graph.run(feeds, [...CONTRACT.outputs]);
      takeRows(name, "logprobs", answer, rows);
      caches.store(answer, state);
    },
    release: () => graph.release(),
  };
  return new ChunkedCtc(new LogMel(FRONT_ENDS.nemo(melBins)), chunks, tokens);
}
