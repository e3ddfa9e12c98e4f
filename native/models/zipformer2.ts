import { Tensor } from "onnxruntime-node";
import type { ChunkFeatures } from "./chunk-features.js";
import type { ChunkInput } from "./chunked-ctc.js";
import type { Graph } from "./graph-interface.js";
import { brokenModel } from "./package.js";
import type { CacheTensor } from "./stream-caches.js";

/**
 * Silence read after an utterance, 0.3 s: the encoder outputs a piece of a word some frames after its sound.
 * The examples of sherpa-onnx append 0.66 s to a file, of which the last window takes up to 0.45.
 */
export const ZIPFORMER_TAIL_SAMPLES = 4_800;

/** Lists an encoder's caches: every input but `x`, with the batch as its only open dimension. */
export function zipformerCaches(graph: Graph, name: string): CacheTensor[] {
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

/** Makes the encoder's input `x`, `[1, windowFrames, melBins]`. */
export function windowOf(
  { chunk, pcm }: ChunkInput,
  features: ChunkFeatures,
  { windowFrames, melBins }: { readonly windowFrames: number; readonly melBins: number },
): Tensor {
  const x = new Float32Array(windowFrames * melBins);
  features.compute(chunk, pcm, x);
  return new Tensor("float32", x, [1, windowFrames, melBins]);
}
