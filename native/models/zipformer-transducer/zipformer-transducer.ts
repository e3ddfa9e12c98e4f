import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { type GraphOptions, loadGraph, requireDimension, requireFixed } from "../graph.js";
import type { GraphContract } from "../graph-interface.js";
import { OfflineTransducer } from "../offline-transducer.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
import type { TransducerManifest } from "../zipformer2-transducer/manifest.js";
import { ModifiedBeamSearch } from "../zipformer2-transducer/modified-beam-search.js";
import { SearchedRows } from "../zipformer2-transducer/searched-rows.js";
import { StatelessGraphs } from "../zipformer2-transducer/stateless-graphs.js";
import { ROWS_PER_FRAME, TransducerSearch } from "../zipformer2-transducer/transducer-search.js";

const ENCODER = {
  file: "encoder",
  inputs: ["x", "x_lens"],
  outputs: ["encoder_out", "encoder_out_lens"],
} as const satisfies GraphContract;
const SUBSAMPLING = 4;
/** Minimum number of frames; the convolutions at the encoder's start make none from fewer. */
const LEAST_FRAMES = 9;

/**
 * Loads icefall's transducer for whole utterances, of any encoder with this interface: x f32 [N, T, bins] of
 * Kaldi features, x_lens int64 [N]; encoder_out f32 [N, T', D], about T / 4 frames, encoder_out_lens int64
 * [N]. Decoder, joiner and searches are those of the streaming `zipformer2-transducer`.
 *
 * @see k2-fsa/icefall, `egs/librispeech/ASR/zipformer/export-onnx.py`; k2-fsa/sherpa-onnx at 02226fa,
 *   `sherpa-onnx/csrc/offline-transducer-model.cc`
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadZipformerTransducer(
  model: ModelPackage<TransducerManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const tokens = await readTokens(model);
  const encoder = await loadGraph(model, ENCODER, options);
  const name = fileNameOf(model, "encoder");
  const bins = requireFixed(encoder, name, "x", 2);
  const graphs = await StatelessGraphs.load(model, tokens, options);
  requireDimension(encoder, name, "encoder_out", { axis: 2, expected: graphs.width });
  const greedy = await TransducerSearch.start(graphs);
  const searched = new SearchedRows(new ModifiedBeamSearch(graphs, model.manifest.activePaths));
  const logMel = new LogMel(FRONT_ENDS.kaldi(bins));
  return new OfflineTransducer({
    tokens,
    samplesPerRow: (SUBSAMPLING * logMel.options.hopSamples) / ROWS_PER_FRAME,
    encode: async (pcm) => {
      const features = logMel.compute(pcm);
      const frames = features.length / bins;
      if (frames < LEAST_FRAMES) return new Float32Array(0);
      const answer = await encoder.run({
        x: new Tensor("float32", features, [1, frames, bins]),
        x_lens: new Tensor("int64", BigInt64Array.of(BigInt(frames)), [1]),
      });
      const count = Number((answer["encoder_out_lens"]!.data as BigInt64Array)[0]);
      const encoded = answer["encoder_out"]!.data as Float32Array;
      if (encoded.length >= count * graphs.width) return encoded.subarray(0, count * graphs.width);
      throw brokenModel(`Cannot run ${name}: encoder_out must have ${count} frames of ${graphs.width}`);
    },
    search: (encoded) => greedy.advance(encoded, greedy.initial(), 0),
    remember: (rows, encoded) => searched.remember(rows, encoded),
    searchOver: (fallback) => searched.over(fallback),
    release: async () => {
      await encoder.release();
      await graphs.release();
    },
  });
}
