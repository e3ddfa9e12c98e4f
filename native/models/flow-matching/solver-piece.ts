import { Tensor } from "onnxruntime-node";
import type { PulseTrain } from "../../../core/domain/synthesis/excitation.js";
import type { GainCurve } from "../../../core/domain/synthesis/loudness.js";
import type { GaussianNoise } from "../../../core/domain/synthesis/noise.js";
import type { PieceTrim } from "../../../core/domain/synthesis/silence.js";
import type { SolverChunk } from "../../../core/domain/synthesis/solver-chunks.js";
import { paddedPatches } from "../../../core/domain/synthesis/solver-schedule.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import type { PieceCondition } from "./piece-condition.js";

/** Frames per decoder position. */
export const PATCH_FRAMES = 2;

/** A piece in synthesis: the solver's results so far, and the inputs of its next run. */
export interface SolverPiece {
  readonly job: SynthesisJob;
  readonly voiceIndex: bigint;
  readonly frames: number;
  readonly patches: number;
  /** Frames of each token: start mark, characters, end mark. */
  readonly durations: Int32Array;
  readonly condition: PieceCondition;
  /** Pitch, known as far as the condition is computed, like `voicing`. */
  readonly f0: Float32Array;
  readonly voicing: Float32Array;
  /** `nfe + 1` times from 0 to 1. */
  readonly schedule: Float64Array;
  /** The solver's start, `[patches, 2 * melBins]`, unit variance; does not depend on how chunks are cut. */
  readonly noise: GaussianNoise;
  readonly chunks: readonly SolverChunk[];
  /** Null once all chunks are solved. */
  solving: ChunkInFlight | null;
  /** At least `[knownFrames, melBins]`, normalised log-mel. */
  mel: Float32Array;
  solvedFrames: number;
  /**
   * The solved frames plus the last chunk's right context, which is less exact but good enough as context for
   * the vocoder.
   */
  knownFrames: number;
  /** Known up to `solvedFrames`; see `trimSoFar`. */
  trim: PieceTrim | null;
  /** Gain of its samples, up to `solvedFrames`. */
  gain: GainCurve;
  /** `[frames * hopSamples]` each, generated on demand. */
  readonly sources: { readonly excitation: PulseTrain; readonly noise: GaussianNoise };
}

export interface ChunkInFlight {
  readonly index: number;
  /** Number of patches, including those of the context. */
  readonly patches: number;
  /** `[paddedPatches(patches), condition width]`, zero beyond `patches`; null before its first step. */
  condition: Float32Array | null;
  /** At least `[paddedPatches(patches), 2 * melBins]`, from noise to log-mel; zero beyond `patches`. */
  x: Float32Array;
  stepsDone: number;
}

export type UnsolvedPiece = SolverPiece & { readonly solving: ChunkInFlight };

/**
 * Makes the feeds of one solver step over `pieces`, each row at its own time, padded to `patches`.
 * @param width values per patch of `x`
 */
export function stepFeeds(
  pieces: readonly UnsolvedPiece[],
  patches: number,
  width: number,
): Record<string, Tensor> {
  const rows = pieces.length;
  const chunks = pieces.map(({ solving }) => solving);
  const times = pieces.map(({ schedule, solving }) => schedule[solving.stepsDone]!);
  const steps = pieces.map(({ schedule, solving }, row) => schedule[solving.stepsDone + 1]! - times[row]!);
  const mask = new Float32Array(rows * patches);
  for (const [row, chunk] of chunks.entries()) mask.fill(1, row * patches, row * patches + chunk.patches);
  const conditionWidth = pieces[0]!.condition.width;
  const x = chunks.map((chunk) => chunk.x);
  const conditions = chunks.map(({ condition }) => condition!);
  const voices = BigInt64Array.from(pieces, ({ voiceIndex }) => voiceIndex);
  return {
    x: new Tensor("float32", stackRows(x, patches * width), [rows, patches, width]),
    condition: new Tensor("float32", stackRows(conditions, patches * conditionWidth), [
      rows,
      patches,
      conditionWidth,
    ]),
    t: new Tensor("float32", Float32Array.from(times), [rows]),
    dt: new Tensor("float32", Float32Array.from(steps), [rows]),
    voice: new Tensor("int64", voices, [rows]),
    mask: new Tensor("float32", mask, [rows, patches, 1]),
  };
}

/** Pads with zeros to the length of a run of one row, so that such a run copies nothing. */
export function padRows(values: Float32Array, patches: number, width: number): Float32Array {
  const padded = new Float32Array(paddedPatches(patches) * width);
  padded.set(values.subarray(0, patches * width));
  return padded;
}

function stackRows(values: readonly Float32Array[], rowLength: number): Float32Array {
  const [first] = values;
  if (first !== undefined && values.length === 1 && first.length === rowLength) return first;
  const stacked = new Float32Array(values.length * rowLength);
  for (const [row, one] of values.entries()) {
    // The array may be longer (zeros beyond the chunk) or shorter (the stack is zero there).
    stacked.set(one.subarray(0, rowLength), row * rowLength);
  }
  return stacked;
}
