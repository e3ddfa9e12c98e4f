import { Tensor } from "onnxruntime-node";
import type { PieceTrim } from "../../../src/domain/synthesis/silence.js";
import { paddedPatches } from "../../../src/domain/synthesis/solver-schedule.js";
import type { SynthesisJob } from "../../../src/ports/synthesizer.js";

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
  /** `[paddedPatches(patches), condition width]`, zero beyond `patches`. */
  readonly condition: Float32Array;
  readonly f0: Float32Array;
  readonly voicing: Float32Array;
  /** `nfe + 1` times from 0 to 1. */
  readonly schedule: Float64Array;
  /** `[at least paddedPatches(patches), 2 * melBins]`, noise at first, log-mel when all steps are done; zero beyond `patches`. */
  x: Float32Array;
  stepsDone: number;
  /** Known when all steps are done. */
  trim: PieceTrim | null;
  /** What its samples are multiplied with; known when all steps are done. */
  gain: number | null;
  /** `[frames * hopSamples]` each; drawn when the first window is vocoded. */
  sources: { readonly excitation: Float32Array; readonly noise: Float32Array } | null;
}

export interface RowWidths {
  /** Values of a patch of `x`. */
  readonly x: number;
  /** Values of a patch of the condition. */
  readonly condition: number;
}

/** The feeds of one solver step over `pieces`, each row at a time of its own, padded to `patches`. */
export function stepFeeds(
  pieces: readonly SolverPiece[],
  patches: number,
  widths: RowWidths,
): Record<string, Tensor> {
  const rows = pieces.length;
  const times = pieces.map((piece) => piece.schedule[piece.stepsDone]!);
  const steps = pieces.map((piece, row) => piece.schedule[piece.stepsDone + 1]! - times[row]!);
  const mask = new Float32Array(rows * patches);
  for (const [row, piece] of pieces.entries()) mask.fill(1, row * patches, row * patches + piece.patches);
  const x = stackRows(pieces, (piece) => piece.x, patches * widths.x);
  const condition = stackRows(pieces, (piece) => piece.condition, patches * widths.condition);
  return {
    x: new Tensor("float32", x, [rows, patches, widths.x]),
    condition: new Tensor("float32", condition, [rows, patches, widths.condition]),
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

/** Zero-padded to the length the solver runs a piece at when it runs alone, so that those runs copy nothing. */
export function padRows(values: Float32Array, patches: number, width: number): Float32Array {
  const padded = new Float32Array(paddedPatches(patches) * width);
  padded.set(values.subarray(0, patches * width));
  return padded;
}

function stackRows(
  pieces: readonly SolverPiece[],
  valuesOf: (piece: SolverPiece) => Float32Array,
  rowLength: number,
): Float32Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1 && valuesOf(first).length === rowLength)
    return valuesOf(first);
  const stacked = new Float32Array(pieces.length * rowLength);
  for (const [row, piece] of pieces.entries()) {
    // Beyond a piece's own patches there are zeros in a longer array, and nothing to copy from a shorter one.
    stacked.set(valuesOf(piece).subarray(0, rowLength), row * rowLength);
  }
  return stacked;
}
