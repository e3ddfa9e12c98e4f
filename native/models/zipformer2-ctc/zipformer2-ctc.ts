import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { ChunkedCtc, type ChunkGraph } from "../chunked-ctc.js";
import { type GraphOptions, loadGraph, requireDimension } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import { type CacheTensor, StreamCaches, takeRows } from "../stream-caches.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
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
  const caches = new StreamCaches(name, cachesOf(graph, name));
  const x = new Float32Array(windowFrames * melBins);
  const feeds = { ...caches.feeds, x: new Tensor("float32", x, [1, windowFrames, melBins]) };
  const chunks: ChunkGraph = {
    windowFrames,
    shiftFrames,
    leadFrames: 0,
    rowsPerChunk: shiftFrames / subsampling,
    subsampling,
    cacheSize: caches.size,
    run: async (features, state, rows) => {
      x.set(features);
      caches.load(state);
      const answer = await graph.run(feeds);
      takeRows(name, "log_probs", answer, rows);
      caches.store(answer, state);
    },
    release: () => graph.release(),
  };
  return new ChunkedCtc(new LogMel(FRONT_ENDS.kaldi(melBins)), chunks, tokens);
}

/** Lists the caches: all inputs except the features; only their batch dimension is variable. */
function cachesOf(graph: Graph, name: string): CacheTensor[] {
  return graph.inputMetadata
    .filter((input) => input.name !== "x")
    .map((input) => {
      const output = `new_${input.name}`;
      if (!graph.outputNames.includes(output)) {
        throw brokenModel(`Cannot load ${name}: outputs must contain ${output}`);
      }
      const shape = input.isTensor ? input.shape : [];
      const dims = shape.map((dim) => (typeof dim === "number" && dim > 0 ? dim : 1));
      const openCount = shape.filter((dim) => typeof dim !== "number" || dim < 1).length;
      const isKnown = input.isTensor && (input.type === "float32" || input.type === "int64");
      if (!isKnown || openCount > 1) {
        const rule = "must be float32 or int64 with every dimension but the batch fixed";
        throw brokenModel(`Cannot load ${name}: ${input.name} ${rule}`);
      }
      return { input: input.name, output, type: input.type as CacheTensor["type"], dims };
    });
}
