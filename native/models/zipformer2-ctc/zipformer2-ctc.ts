import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { ChunkFeatures } from "../chunk-features.js";
import { ChunkedCtc } from "../chunked-ctc.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { GraphContract } from "../graph-interface.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import { floatsOf, StreamCaches } from "../stream-caches.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
import { windowOf, ZIPFORMER_TAIL_SAMPLES, zipformerCaches } from "../zipformer2.js";
import type { Zipformer2CtcManifest } from "./manifest.js";

const CONTRACT = {
  file: "model",
  inputs: ["x", "cached_key_0", "embed_states", "processed_lens"],
  outputs: ["log_probs", "new_cached_key_0", "new_embed_states", "new_processed_lens"],
} as const satisfies GraphContract;

/**
 * Loads a streaming zipformer2 CTC, exported by icefall: x f32 [N, T, 80] of Kaldi features; per encoder
 * layer cached_key, cached_nonlin_attn, cached_val1, cached_val2 (batch second), cached_conv1, cached_conv2
 * (batch first); embed_states, processed_lens int64 [N]; log_probs f32 [N, chunk / 4, outputs] with the blank
 * at 0, and each next cache as `new_` and its name. The export's metadata `T` and `decode_chunk_len` are
 * `windowFrames` and `shiftFrames` in the manifest: T = decode_chunk_len + 13.
 *
 * @see k2-fsa/icefall at 102b5b7, `egs/librispeech/ASR/zipformer/export-onnx-streaming-ctc.py`
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadZipformer2Ctc(
  model: ModelPackage<Zipformer2CtcManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const { melBins, subsampling, windowFrames, shiftFrames } = model.manifest;
  const tokens = await readTokens(model);
  const graph = await loadGraph(model, CONTRACT, options);
  const name = fileNameOf(model, "model");
  requireDimension(graph, name, "x", { axis: 1, expected: windowFrames });
  requireDimension(graph, name, "x", { axis: 2, expected: melBins });
  requireDimension(graph, name, "log_probs", { axis: 2, expected: tokens.width });
  const caches = new StreamCaches(name, zipformerCaches(graph, name));
  const logMel = new LogMel(FRONT_ENDS.kaldi(melBins));
  const features = new ChunkFeatures(logMel, { windowFrames, shiftFrames, leadFrames: 0 });
  const rowsPerChunk = shiftFrames / subsampling;
  return new ChunkedCtc(
    {
      rowsPerChunk,
      samplesPerRow: subsampling * logMel.options.hopSamples,
      tailSamples: ZIPFORMER_TAIL_SAMPLES,
      spanOf: (chunk) => features.spanOf(chunk),
      initial: () => caches.initial(),
      run: async (next) => {
        const x = windowOf(next, features, { windowFrames, melBins });
        const answer = await graph.run({ ...caches.feeds(next.state), x });
        const rows = floatsOf(name, "log_probs", answer, rowsPerChunk * tokens.width);
        caches.take(answer, next.state);
        return rows;
      },
      release: () => graph.release(),
    },
    tokens,
  );
}
