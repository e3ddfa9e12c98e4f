import type { PieceTrim } from "./silence.js";

/** What a package says about how loud its mel will sound. */
export interface LoudnessModel {
  /** The level that every piece is brought to. */
  readonly targetLufs: number;
  /** K-weighted power of a band: `exp(slope * x + intercept)`, `[melBins]` each, x the normalised log-mel. */
  readonly slopes: readonly number[];
  readonly intercepts: readonly number[];
  /** The vocoder does not follow a normalised log-mel beyond this: nothing louder was in its training. */
  readonly ceiling: number;
  /** LUFS above the level of those powers, by voice: the vocoder speaks each a little louder or softer than its mel. */
  readonly voiceLufs: Readonly<Record<string, number>>;
}

/** What samples are multiplied with. It glides from each point's first gain to its last. */
export type GainCurve = readonly GainPoint[];

interface GainPoint {
  readonly frame: number;
  /** What the curve comes to at the point. */
  readonly from: number;
  readonly gain: number;
}

/** Blocks of 0.4 s, a step of 0.1 s, both rounded to frames. */
const BLOCK_SECONDS = 0.4;
const STEP_SECONDS = 0.1;
const RELATIVE_GATE_DB = -10;
/** A piece that would need more is unlike speech, and is left nearer to what the model made. */
const LARGEST_GAIN_DB = 3;

/**
 * Frames after which what is known of a piece counts as much as that pieces are equally loud anyway: by their first half a second
 * they seem to differ far more than they do.
 */
const HALF_KNOWN_FRAMES = 120;
/** A gain that changes does so over a second, which nobody hears as a step: a tenth of a decibel in 70 ms at most. */
const GLIDE_FRAMES = 94;

/**
 * The level of a piece before anything of it is vocoded, in dB: the integrated loudness of the standard over the powers of
 * mel bands, to be moved by `voiceLufs`.
 *
 * @param mel `[frames, melBins]`, normalised log-mel of the whole piece, or of what is known of it
 * @param trim which of its frames are heard, and the silence around them, which is part of what is measured
 * @param hopSeconds of a frame
 * @see ITU-R BS.1770-4; its absolute gate lies below anything that a voice says
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

/**
 * What the samples of a piece are multiplied with, so that pieces are equally loud. It is known before the vocoder runs, so
 * the first window does not wait for it.
 * @param voice one that the model does not know is left as it is
 */
export function pieceGain(levelDb: number, voice: string, { targetLufs, voiceLufs }: LoudnessModel): number {
  const ownLufs = voiceLufs[voice];
  if (ownLufs === undefined || !Number.isFinite(levelDb)) return 1;
  const gainDb = targetLufs - (levelDb + ownLufs);
  return 10 ** (Math.max(-LARGEST_GAIN_DB, Math.min(LARGEST_GAIN_DB, gainDb)) / 20);
}

/** The curve with one gain more, which holds from a frame on that lies behind all points. */
export function withGain(curve: GainCurve, frame: number, gain: number): GainCurve {
  return [...curve, { frame, from: curve.length === 0 ? gain : gainAt(curve, frame), gain }];
}

/** Multiplies samples by the gain of their place, in place. @param frame of the first of them */
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

/** The gain for a piece of which so many frames are known, by their own gain: the less is known, the nearer it is to none. */
export function gainSoFar(gain: number, knownFrames: number): number {
  return gain ** (knownFrames ** 2 / (knownFrames ** 2 + HALF_KNOWN_FRAMES ** 2));
}

function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / Math.max(1, values.length);
}
