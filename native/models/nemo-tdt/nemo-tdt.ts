import { Tensor } from "onnxruntime-node";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import { type GraphOptions, loadGraph, requireDimension, requireFixed } from "../graph.js";
import type { GraphContract } from "../graph-interface.js";
import { featuresOf } from "../offline-ctc.js";
import { OfflineTransducer } from "../offline-transducer.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
import type { NemoTdtManifest } from "./manifest.js";
import { loadPredictor } from "./predictor.js";
import { ROWS_PER_FRAME, TdtSearch } from "./tdt-search.js";

const ENCODER = {
  file: "encoder",
  inputs: ["audio_signal", "length"],
  outputs: ["outputs", "encoded_lengths"],
} as const satisfies GraphContract;

/**
 * Loads a NeMo transducer for whole utterances, with durations (Parakeet TDT) or without: audio_signal f32
 * [B, bins, T], length int64 [B]; outputs f32 [B, D, T / subsampling], encoded_lengths int64 [B]. Its decoder
 * takes targets int32 [B, U], target_length int32 [B] and two states f32 [layers, B, H], and returns outputs
 * f32 [B, H, U] and the next states; the joiner takes encoder_outputs and decoder_outputs, and returns
 * outputs f32 [B, T, U, columns + durations], the blank last of the columns. One graph, `decoderJoint`, may
 * combine both.
 *
 * @see k2-fsa/sherpa-onnx at 0bfca2c, `scripts/nemo/parakeet-tdt-0.6b-v3/export_onnx.py`;
 *   istupakov/onnx-asr, `src/onnx_asr/models/nemo.py` (one graph)
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadNemoTdt(
  model: ModelPackage<NemoTdtManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const { melBins, subsampling, normalize, files } = model.manifest;
  const tokens = await readTokens(model);
  const encoder = await loadGraph(model, ENCODER, options);
  const name = fileNameOf(model, "encoder");
  requireDimension(encoder, name, "audio_signal", { axis: 1, expected: melBins });
  const width = requireFixed(encoder, name, "outputs", 1);
  const predictor = await loadPredictor(model, tokens.width, options);
  const joiner = fileNameOf(model, "joiner" in files ? "joiner" : "decoderJoint");
  const search = new TdtSearch(predictor, tokens, width, joiner);
  const logMel = new LogMel(FRONT_ENDS.nemo(melBins));
  const features = featuresOf(logMel, normalize === "per-feature");
  return new OfflineTransducer({
    tokens,
    samplesPerRow: (subsampling * logMel.options.hopSamples) / ROWS_PER_FRAME,
    encode: async (pcm) => {
      const { values, frames } = await features(pcm);
      if (frames === 0) return new Float32Array(0);
      const answer = await encoder.run({
        audio_signal: new Tensor("float32", values, [1, melBins, frames]),
        length: new Tensor("int64", BigInt64Array.of(BigInt(frames)), [1]),
      });
      const count = Number(answer["encoded_lengths"]!.data[0]);
      return framesFirst(answer["outputs"]!, width, count);
    },
    search: (encoded) => search.search(encoded),
    release: async () => {
      await encoder.release();
      await predictor.release();
    },
  });
}

/** Transposes `[1, width, rows]` to `[count, width]`. */
function framesFirst(outputs: Tensor, width: number, count: number): Float32Array {
  const rows = outputs.dims[2]!;
  const frames = Math.min(count, rows);
  const source = outputs.data as Float32Array;
  const target = new Float32Array(frames * width);
  for (let frame = 0; frame < frames; frame++) {
    for (let i = 0; i < width; i++) target[frame * width + i] = source[i * rows + frame]!;
  }
  return target;
}
