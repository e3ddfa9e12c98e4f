import type { PieceTrim } from "./silence.js";

/** A package's constants for the loudness of its mel. */
export interface LoudnessModel {
  /** Target level of every piece. */
  readonly targetLufs: number;
  /** K-weighted power of a band: `exp(slope * x + intercept)`, `[melBins]` each, x the normalized log-mel. */
  readonly slopes: readonly number[];
  readonly intercepts: readonly number[];
  /** Largest normalized log-mel that the vocoder follows: its training had nothing louder. */
  readonly ceiling: number;
  /** Difference in LUFS by voice: the vocoder renders each voice slightly louder or softer than its mel. */
  readonly voiceLufs: Readonly<Record<string, number>>;
}

/** A gain over time, which glides from the first value of each point to its second. */
export type GainCurve = readonly GainPoint[];

interface GainPoint {
  readonly frame: number;
  readonly from: number;
  readonly gain: number;
}

/** Blocks of 0.4 s, a step of 0.1 s, both rounded to frames. */
const BLOCK_SECONDS = 0.4;
const STEP_SECONDS = 0.1;
const RELATIVE_GATE_DB = -10;
/** Limit of the gain: a piece that needs more is hardly speech. */
const LARGEST_GAIN_DB = 3;

/**
 * Number of known frames at which half of a piece's gain applies: the first half second overstates
 * differences.
 */
const HALF_KNOWN_FRAMES = 120;
/** Length of a change of gain, a second, which is inaudible: at most 0.1 dB in 70 ms. */
const GLIDE_FRAMES = 94;

/**
 * Estimates the level of a piece before the vocoder runs, in dB: the standard's integrated loudness over the
 * powers of mel bands, without `voiceLufs`.
 *
 * @param mel `[frames, melBins]`, normalized log-mel of the known part of the piece
 * @param trim the audible frames, and the silence around them, which is measured too
 * @see ITU-R BS.1770-4; its absolute gate is below any speech
 */
export function melLevelDb(
  mel: Float32Array,
  trim: PieceTrim,
  { slopes, intercepts, ceiling }: Pick<LoudnessModel, "slopes" | "intercepts" | "ceiling">,
  hopSeconds: number,
): number {
  const bins = slopes.length;
  const { start, stop, silentFramesBefore, silentFramesAfter } = trim;
  const powers = new Float64Array(silentFramesBefore + stop - start + silentFramesAfter);
  for (let frame = start; frame < stop; frame++) {
    let sum = 0;
    for (let bin = 0; bin < bins; bin++) {
      const x = Math.min(mel[frame * bins + bin]!, ceiling);
      sum += Math.exp(slopes[bin]! * x + intercepts[bin]!);
    }
    powers[silentFramesBefore + frame - start] = sum;
  }
  const block = Math.min(powers.length, Math.round(BLOCK_SECONDS / hopSeconds));
  const step = Math.round(STEP_SECONDS / hopSeconds);
  const blocks: number[] = [];
  for (let from = 0; from + block <= powers.length; from += step) {
    blocks.push(mean(powers.subarray(from, from + block)));
  }
  const gate = mean(blocks) * 10 ** (RELATIVE_GATE_DB / 10);
  return 10 * Math.log10(mean(blocks.filter((power) => power > gate)));
}

/** Returns the gain that makes pieces equally loud; 1 for a voice that is not in the loudness model. */
export function pieceGain(levelDb: number, voice: string, { targetLufs, voiceLufs }: LoudnessModel): number {
  const ownLufs = voiceLufs[voice];
  if (ownLufs === undefined || !Number.isFinite(levelDb)) return 1;
  const gainDb = targetLufs - (levelDb + ownLufs);
  return 10 ** (Math.max(-LARGEST_GAIN_DB, Math.min(LARGEST_GAIN_DB, gainDb)) / 20);
}

/** Appends a gain to the curve from `frame` on, which must be after all its points. */
export function withGain(curve: GainCurve, frame: number, gain: number): GainCurve {
  return [...curve, { frame, from: curve.length === 0 ? gain : gainAt(curve, frame), gain }];
}

/** Multiplies samples by the gain at their position, in place. @param frame frame of the first sample */
export function applyGain(samples: Float32Array, frame: number, hopSamples: number, curve: GainCurve): void {
  const [first] = curve;
  if (first === undefined) return;
  for (let i = 0; i < samples.length; i++) {
    samples[i]! *= curve.length === 1 ? first.gain : gainAt(curve, frame + i / hopSamples);
  }
}

function gainAt(curve: GainCurve, frame: number): number {
  const index = curve.findLastIndex((point) => point.frame <= frame);
  const point = curve[Math.max(0, index)]!;
  const share = Math.min(1, Math.max(0, (frame - point.frame) / GLIDE_FRAMES));
  return point.from + (point.gain - point.from) * share;
}

/** Reduces the gain while only part of a piece is known: the fewer frames, the closer it is to 1. */
export function gainSoFar(gain: number, knownFrames: number): number {
  return gain ** (knownFrames ** 2 / (knownFrames ** 2 + HALF_KNOWN_FRAMES ** 2));
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / Math.max(1, values.length);
}
