import { type InferenceSession, Tensor } from "onnxruntime-node";
import { binsFirst, type LogMel, normalizeBins } from "../../src/domain/audio/log-mel.js";
import { ServiceError } from "../../src/domain/errors.js";
import { requireDimension } from "./graph.js";
import type { LogProbs } from "./recognizer.js";
import { copyRows, type Tokens } from "./tokens.js";
import { type CtcHead, writeBlank } from "./voiced-recognizer.js";

/** Features of an utterance, `[bins, frames]`. */
export interface Features {
  readonly values: Float32Array;
  readonly frames: number;
}

export interface OfflineCtcParts {
  readonly graph: InferenceSession;
  /** The graph's file, for errors. */
  readonly name: string;
  readonly tensors: { readonly features: string; readonly length: string; readonly logProbs: string };
  readonly tokens: Tokens;
  readonly bins: number;
  readonly subsampling: number;
  readonly hopSamples: number;
  readonly features: (pcm: Float32Array) => Promise<Features>;
  /** Other graphs that the features need; released with this one. */
  readonly helpers?: readonly InferenceSession[];
}

/** A full-context CTC graph over features, `[1, bins, frames]` and a length in, `[1, frames / subsampling, outputs]` out. */
export class OfflineCtc implements CtcHead {
  readonly vocabulary: readonly string[];
  readonly outputFrameSamples: number;
  readonly stateSize = 0;
  readonly lagFrames = 0;
  readonly #parts: OfflineCtcParts;

  /** @throws {ServiceError} `MODEL_BROKEN` when the graph's outputs are not as many as the vocabulary's */
  constructor(parts: OfflineCtcParts) {
    this.#parts = parts;
    this.vocabulary = parts.tokens.vocabulary;
    this.outputFrameSamples = parts.subsampling * parts.hopSamples;
    requireDimension(parts.graph, parts.name, parts.tensors.logProbs, {
      axis: -1,
      expected: this.vocabulary.length,
    });
  }

  step(_state: Float32Array, _pcm: Float32Array, row: Float32Array): Promise<void> {
    writeBlank(row);
    return Promise.resolve();
  }

  async decode(pcm: Float32Array): Promise<LogProbs> {
    const { graph, tensors, tokens, bins, subsampling, name } = this.#parts;
    const { values, frames } = await this.#parts.features(pcm);
    if (frames === 0) return { logProbs: new Float32Array(0), frames: 0 };
    const answer = await graph.run(
      {
        [tensors.features]: new Tensor("float32", values, [1, bins, frames]),
        [tensors.length]: new Tensor("int64", BigInt64Array.of(BigInt(frames)), [1]),
      },
      [tensors.logProbs],
    );
    const rows = answer[tensors.logProbs]!;
    if (rows.dims[2] !== this.vocabulary.length || rows.type !== "float32") {
      throw new ServiceError(
        "MODEL_BROKEN",
        `Cannot run ${name}: ${tensors.logProbs} must be float32 of ${this.vocabulary.length} outputs, ` +
          `found ${rows.type} [${rows.dims.join(", ")}]`,
      );
    }
    // Exports may round a length up; rows beyond the audio are padding.
    const outputs = Math.min(rows.dims[1]!, Math.ceil(frames / subsampling));
    const logProbs = new Float32Array(outputs * this.vocabulary.length);
    copyRows((rows.data as Float32Array).subarray(0, logProbs.length), tokens.columns, logProbs);
    return { logProbs, frames: outputs };
  }

  async release(): Promise<void> {
    for (const graph of [this.#parts.graph, ...(this.#parts.helpers ?? [])]) await graph.release();
  }
}

/** Features computed here, with or without normalization over the utterance. */
export function featuresOf(logMel: LogMel, isNormalized: boolean): (pcm: Float32Array) => Promise<Features> {
  return (pcm) => {
    const features = logMel.compute(pcm);
    const frames = features.length / logMel.bins;
    if (isNormalized && frames > 0) normalizeBins(features, logMel.bins);
    return Promise.resolve({ values: binsFirst(features, logMel.bins), frames });
  };
}
