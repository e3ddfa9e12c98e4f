import type { VocoderWindow } from "./vocoder-windows.js";

/** The next run of a piece. */
export type PieceStage =
  | { readonly type: "begin" }
  /** A solver step over `patches` patches; the chunk has done `stepsDone` of `steps`. */
  | { readonly type: "step"; readonly patches: number; readonly stepsDone: number; readonly steps: number }
  | { readonly type: "vocode"; readonly window: VocoderWindow };

/** A piece between two model runs. */
export interface PieceInFlight {
  readonly id: number;
  /** Deadline, from `dueAtMs`; the earliest runs first. */
  readonly dueAtMs: number;
  /** True if a listener waits for the first audio from its first chunk, which costs the same in any piece. */
  readonly isFirstChunk: boolean;
  readonly stage: PieceStage;
}

/** The next run of the model, and its pieces. */
export type ModelRun =
  | { readonly type: "begin"; readonly id: number }
  /** One step of every piece in `ids`, each padded to `patches`. */
  | { readonly type: "step"; readonly ids: readonly number[]; readonly patches: number }
  /** One window of every piece in `ids`, all of the same size. */
  | { readonly type: "vocode"; readonly ids: readonly number[] };

export interface RunLimits {
  /** Pieces in a step, at least 1. */
  readonly rows: number;
  /** Windows in a run of the vocoder, at least 1. */
  readonly windowRows: number;
  /** First chunks in a step, at least 1; not used if below `rows`. */
  readonly firstChunkRows: number;
}

/**
 * Largest share of steps by which the first chunks in a batch may differ, so that listeners need not wait.
 */
const JOINED_SHARE = 0.25;

/** Largest ratio of lengths in a batch, so that an urgent short piece does not wait for a long one's step. */
const LONGEST_MATE = 2;
/** Padded lengths per octave: padding costs 1/32 at most, 1/64 on average. */
const LENGTHS_PER_OCTAVE = 32;
const SHORTEST_PATCHES = 8;

/**
 * Pure: chooses the run for the piece that is due first, and the pieces that share it.
 *
 * Pieces join and leave between runs, so each run has its own batch. Its other pieces are taken in the order
 * in which they are due; a step is padded to the longest.
 * @returns null when there is nothing to do
 */
export function nextRun(pieces: readonly PieceInFlight[], limits: RunLimits): ModelRun | null {
  const [leader, ...others] = pieces.toSorted(byDue);
  if (leader === undefined) return null;
  const { id, stage } = leader;
  switch (stage.type) {
    case "begin":
      return { type: "begin", id };
    case "step": {
      if (leader.isFirstChunk && limits.firstChunkRows > limits.rows)
        return firstChunkRun(leader.id, stage, others, limits);
      const longest = LONGEST_MATE * stage.patches;
      const mates = others.filter((other) => other.stage.type === "step" && other.stage.patches <= longest);
      const rows = [leader, ...mates.slice(0, limits.rows - 1)];
      const patches = Math.max(...rows.map((row) => (row.stage.type === "step" ? row.stage.patches : 0)));
      return { type: "step", ids: rows.map((row) => row.id), patches: paddedPatches(patches) };
    }
    case "vocode": {
      const size = contextFrames(stage.window);
      const mates = others.filter(
        (other) => other.stage.type === "vocode" && contextFrames(other.stage.window) === size,
      );
      return { type: "vocode", ids: [id, ...mates.slice(0, limits.windowRows - 1).map((mate) => mate.id)] };
    }
  }
}

/**
 * Batches first chunks that were requested at about the same time: they are short, and a run has a high fixed
 * cost. Waiting pieces therefore start before the leader's next step.
 */
function firstChunkRun(
  leader: number,
  { stepsDone, steps, patches }: Extract<PieceStage, { type: "step" }>,
  others: readonly PieceInFlight[],
  { firstChunkRows }: RunLimits,
): ModelRun {
  const most = JOINED_SHARE * steps;
  const mates = others.filter(
    ({ isFirstChunk, stage }) =>
      isFirstChunk && stage.type === "step" && Math.abs(stage.stepsDone - stepsDone) <= most,
  );
  const waiting = others.find(({ isFirstChunk, stage }) => isFirstChunk && stage.type === "begin");
  if (waiting !== undefined && stepsDone <= most && mates.length + 1 < firstChunkRows)
    return { type: "begin", id: waiting.id };
  const rows = mates.slice(0, firstChunkRows - 1);
  const longest = Math.max(patches, ...rows.map(({ stage }) => (stage.type === "step" ? stage.patches : 0)));
  return { type: "step", ids: [leader, ...rows.map(({ id }) => id)], patches: paddedPatches(longest) };
}

/** Pads the length of a step, so that the runtime sees few shapes. */
export function paddedPatches(patches: number): number {
  if (patches <= SHORTEST_PATCHES) return SHORTEST_PATCHES;
  const octave = 2 ** Math.floor(Math.log2(patches));
  const grain = Math.max(1, octave / LENGTHS_PER_OCTAVE);
  return Math.ceil(patches / grain) * grain;
}

function byDue(a: PieceInFlight, b: PieceInFlight): number {
  // Ids increase over time, so ties go to the older piece.
  return a.dueAtMs - b.dueAtMs || a.id - b.id;
}

function contextFrames(window: VocoderWindow): number {
  return window.contextEnd - window.contextStart;
}
