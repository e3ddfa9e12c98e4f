import { Tensor } from "onnxruntime-node";
import { binsFirst, type LogMel, normalizeBins } from "../../core/domain/audio/log-mel.js";
import { bestToken } from "../../core/domain/decoding/greedy.js";
import { passesOver, stitchPasses } from "../../core/domain/decoding/stitched-passes.js";
import { requireDimension } from "./graph.js";
import type { Graph } from "./graph-interface.js";
import type { LogProbs } from "./log-probs.js";
import { brokenModel } from "./package.js";
import type { OfflineRecognizerManifest } from "./public-recognizer-manifest.js";
import { copyRows, type Tokens } from "./tokens.js";
import type { Reading } from "./utterance-reader.js";
import type { CtcHead } from "./voiced-recognizer.js";
import { WindowReader } from "./window-reader.js";

/** Overlap of two passes over a long utterance: a word with its context fits into a quarter of it. */
const OVERLAP_SECONDS = 4;
const SAMPLE_RATE_HZ = 16_000;
/** Lengths of the batch that tests whether rows are independent; the second row is padded. */
const PROBE_SAMPLES = [16_000, 9_600] as const;
/** The last rows of a padded utterance may differ: convolutions see the padding. */
const EDGE_ROWS = 2;

export interface Features {
  /** `[bins, frames]` */
  readonly values: Float32Array;
  readonly frames: number;
}

export interface OfflineCtcParts {
  readonly graph: Graph;
  readonly name: string;
  readonly tensors: { readonly features: string; readonly length: string; readonly logProbs: string };
  readonly tokens: Tokens;
  readonly manifest: OfflineRecognizerManifest;
  readonly hopSamples: number;
  readonly features: (pcm: Float32Array) => Promise<Features>;
  /** Graphs that compute the features; released with this one. */
  readonly helpers?: readonly Graph[];
}

/** A full-context CTC graph, from features `[B, bins, frames]` to `[B, frames / subsampling, outputs]`. */
export class OfflineCtc implements CtcHead {
  readonly vocabulary: readonly string[];
  readonly outputFrameSamples: number;
  readonly reader: WindowReader;
  readonly #parts: OfflineCtcParts;
  #takesBatches: boolean | null = null;

  /** @throws {ServiceError} `MODEL_BROKEN` if the graph and the vocabulary differ in the number of outputs */
  constructor(parts: OfflineCtcParts) {
    this.#parts = parts;
    this.vocabulary = parts.tokens.vocabulary;
    this.outputFrameSamples = parts.manifest.subsampling * parts.hopSamples;
    requireDimension(parts.graph, parts.name, parts.tensors.logProbs, {
      axis: -1,
      expected: parts.tokens.width,
    });
    const { strideSeconds, overlapSeconds } = parts.manifest.windows;
    this.reader = new WindowReader({
      windows: {
        strideSamples: this.#wholeRows(strideSeconds),
        overlapSamples: this.#wholeRows(overlapSeconds),
      },
      rowSamples: this.outputFrameSamples,
      width: this.vocabulary.length,
      read: (pcm) => this.decode(pcm),
      readTogether: (pcms) => this.decodeTogether(pcms),
    });
  }

  /** Reads the rest of a live utterance, or all of it without `begun`, in several passes if it is long. */
  async decode(pcm: Float32Array, begun: Reading | null = null): Promise<LogProbs> {
    if (begun !== null) return this.reader.finish(pcm, begun);
    const { longestSeconds = Number.POSITIVE_INFINITY } = this.#parts.manifest;
    if (pcm.length <= longestSeconds * SAMPLE_RATE_HZ) return this.#read(pcm);
    const passes = passesOver(pcm.length, {
      longestSamples: longestSeconds * SAMPLE_RATE_HZ,
      overlapSamples: OVERLAP_SECONDS * SAMPLE_RATE_HZ,
      rowSamples: this.outputFrameSamples,
    });
    const parts = [];
    for (const { startSample, endSample } of passes) {
      const { logProbs, frames } = await this.#read(pcm.subarray(startSample, endSample));
      parts.push({ startRow: startSample / this.outputFrameSamples, logProbs, rows: frames });
    }
    const { logProbs, rows } = stitchPasses(parts, this.vocabulary.length);
    return { logProbs, frames: rows };
  }

  async decodeTogether(pcms: readonly Float32Array[]): Promise<readonly LogProbs[]> {
    this.#takesBatches ??= await this.#areRowsIndependent();
    if (this.#takesBatches) return this.#readTogether(pcms);
    const read: LogProbs[] = [];
    for (const pcm of pcms) read.push(await this.#read(pcm));
    return read;
  }

  async release(): Promise<void> {
    for (const graph of [this.#parts.graph, ...(this.#parts.helpers ?? [])]) await graph.release();
  }

  #wholeRows(seconds: number): number {
    return Math.round((seconds * SAMPLE_RATE_HZ) / this.outputFrameSamples) * this.outputFrameSamples;
  }

  async #read(pcm: Float32Array): Promise<LogProbs> {
    const [read] = await this.#readTogether([pcm]);
    return read!;
  }

  /** Runs the graph over several utterances, the shorter ones padded with zeros. */
  async #readTogether(pcms: readonly Float32Array[]): Promise<LogProbs[]> {
    const { graph, tensors } = this.#parts;
    const { melBins: bins } = this.#parts.manifest;
    const all: Features[] = [];
    for (const pcm of pcms) all.push(await this.#parts.features(pcm));
    const longest = Math.max(...all.map(({ frames }) => frames));
    if (longest === 0) return pcms.map(() => ({ logProbs: new Float32Array(0), frames: 0 }));
    const values = padded(all, bins, longest);
    const lengths = BigInt64Array.from(all, ({ frames }) => BigInt(frames));
    const answer = await graph.run(
      {
        [tensors.features]: new Tensor("float32", values, [pcms.length, bins, longest]),
        [tensors.length]: new Tensor("int64", lengths, [pcms.length]),
      },
      [tensors.logProbs],
    );
    return all.map(({ frames }, row) => this.#rowsOf(answer[tensors.logProbs]!, row, frames));
  }

  #rowsOf(found: Tensor, row: number, frames: number): LogProbs {
    const { tensors, tokens, manifest, name } = this.#parts;
    if (found.dims[2] !== tokens.width || found.type !== "float32") {
      const rule = `must be float32 of ${tokens.width} outputs`;
      const shape = `${found.type} [${found.dims.join(", ")}]`;
      throw brokenModel(`Cannot run ${name}: ${tensors.logProbs} ${rule}, found ${shape}`);
    }
    // Some exports round the length up; rows past the audio are padding.
    const rows = found.dims[1]!;
    const count = Math.min(rows, Math.ceil(frames / manifest.subsampling));
    const start = row * rows * tokens.width;
    const logProbs = new Float32Array(count * this.vocabulary.length);
    copyRows((found.data as Float32Array).subarray(start, start + count * tokens.width), tokens, logProbs);
    return { logProbs, frames: count };
  }

  /** Tests whether a batch gives the same outputs as single rows, because not all exports mask padding. */
  async #areRowsIndependent(): Promise<boolean> {
    const pcms = PROBE_SAMPLES.map((samples) => probeOf(samples));
    let together: LogProbs[];
    try {
      together = await this.#readTogether(pcms);
    } catch {
      // The export has a fixed batch size of one.
      return false;
    }
    for (const [index, pcm] of pcms.entries()) {
      const alone = await this.#read(pcm);
      if (!this.#readAlike(alone, together[index]!)) return false;
    }
    return true;
  }

  #readAlike(alone: LogProbs, together: LogProbs): boolean {
    const width = this.vocabulary.length;
    if (alone.frames !== together.frames) return false;
    for (let row = 0; row < alone.frames - EDGE_ROWS; row++) {
      const best = bestToken(alone.logProbs, row * width, width);
      if (bestToken(together.logProbs, row * width, width) !== best) return false;
    }
    return true;
  }
}

function probeOf(samples: number): Float32Array {
  return Float32Array.from(
    { length: samples },
    (_, i) => 0.2 * Math.sin(i * i * 4e-6) + 0.1 * Math.sin(i / 3),
  );
}

/** Stacks features to `[rows, bins, longest]`; a single row is not copied. */
function padded(all: readonly Features[], bins: number, longest: number): Float32Array {
  if (all.length === 1) return all[0]!.values;
  const values = new Float32Array(all.length * bins * longest);
  for (const [row, { values: own, frames }] of all.entries()) {
    for (let bin = 0; bin < bins; bin++) {
      values.set(own.subarray(bin * frames, (bin + 1) * frames), (row * bins + bin) * longest);
    }
  }
  return values;
}

/** Makes a function that computes features, with or without normalization over the utterance. */
export function featuresOf(logMel: LogMel, isNormalized: boolean): (pcm: Float32Array) => Promise<Features> {
  return (pcm) => {
    const features = logMel.compute(pcm);
    const frames = features.length / logMel.bins;
    if (isNormalized && frames > 0) normalizeBins(features, logMel.bins);
    return Promise.resolve({ values: binsFirst(features, logMel.bins), frames });
  };
}
