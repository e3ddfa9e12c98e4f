import { Tensor } from "onnxruntime-node";
import type { PulseTrain } from "../../../core/domain/synthesis/excitation.js";
import type { GainCurve } from "../../../core/domain/synthesis/loudness.js";
import type { GaussianNoise } from "../../../core/domain/synthesis/noise.js";
import type { PieceTrim } from "../../../core/domain/synthesis/silence.js";
import type { SolverChunk } from "../../../core/domain/synthesis/solver-chunks.js";
import { paddedPatches } from "../../../core/domain/synthesis/solver-schedule.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import type { PieceCondition } from "./piece-condition.js";

/** Frames that one row of the decoder holds. */
export const PATCH_FRAMES = 2;

/** What the solver has made of a piece so far, and all it needs for its next run. */
export interface SolverPiece {
  readonly job: SynthesisJob;
  readonly voiceIndex: bigint;
  readonly frames: number;
  readonly patches: number;
  /** Frames of each token: begin mark, characters, end mark. */
  readonly durations: Int32Array;
  readonly condition: PieceCondition;
  /** As far as the condition is made. */
  readonly f0: Float32Array;
  readonly voicing: Float32Array;
  /** `nfe + 1` times from 0 to 1. */
  readonly schedule: Float64Array;
  /** `[patches, 2 * melBins]`, of unit variance: what the solver starts from, whichever chunk a patch is solved in. */
  readonly noise: GaussianNoise;
  /** Solved one after another. */
  readonly chunks: readonly SolverChunk[];
  /** The chunk on its way; null when all are solved. */
  solving: ChunkInFlight | null;
  /** `[knownFrames, melBins]` at least, normalised log-mel. */
  mel: Float32Array;
  /** Frames whose chunk is solved. */
  solvedFrames: number;
  /** Frames behind them are known less exactly: the context of the last chunk. The vocoder reaches into it. */
  knownFrames: number;
  /** Known as far as `solvedFrames`; see `trimSoFar`. */
  trim: PieceTrim | null;
  /** What its samples are multiplied with, as far as `solvedFrames`. */
  gain: GainCurve;
  /** `[frames * hopSamples]` each, drawn as far as windows have reached. */
  readonly sources: { readonly excitation: PulseTrain; readonly noise: GaussianNoise };
}

/** A chunk between two solver steps. */
export interface ChunkInFlight {
  readonly index: number;
  /** Its own and those around it. */
  readonly patches: number;
  /** `[paddedPatches(patches), condition width]`, zero beyond `patches`; null until its first step needs it. */
  condition: Float32Array | null;
  /** `[at least paddedPatches(patches), 2 * melBins]`, noise at first, log-mel in the end; zero beyond `patches`. */
  x: Float32Array;
  stepsDone: number;
}

/** A piece that the solver goes on with. */
export type UnsolvedPiece = SolverPiece & { readonly solving: ChunkInFlight };

/**
 * The feeds of one solver step over `pieces`, each row at a time of its own, padded to `patches`.
 * @param width values of a patch of `x`
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
  const x = stackRows(
    chunks.map((chunk) => chunk.x),
    patches * width,
  );
  const condition = stackRows(
    chunks.map((chunk) => chunk.condition!),
    patches * conditionWidth,
  );
  return {
    x: new Tensor("float32", x, [rows, patches, width]),
    condition: new Tensor("float32", condition, [rows, patches, conditionWidth]),
    t: new Tensor("float32", Float32Array.from(times), [rows]),
    dt: new Tensor("float32", Float32Array.from(steps), [rows]),
    voice: new Tensor(
      "int64",
      BigInt64Array.from(pieces, (piece) => piece.voiceIndex),
      [rows],
    ),
    mask: new Tensor("float32", mask, [rows, patches, 1]),
  };
}

/** Zero-padded to the length the solver runs so many patches at when they run alone, so that those runs copy nothing. */
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
    // Beyond a chunk's own patches there are zeros in a longer array, and nothing to copy from a shorter one.
    stacked.set(one.subarray(0, rowLength), row * rowLength);
  }
  return stacked;
}
