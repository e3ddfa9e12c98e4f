import { resample } from "../../core/domain/audio/resample.js";

/** Rate at which the tracker searches for candidates: a third of the work, and pitch needs no higher rate. */
const TRACKING_HZ = 8_000;
/** Length of the compared stretch in periods of the lowest pitch. */
const WINDOW_PERIODS = 1.5;
const CANDIDATES = 5;
/** Correlation at which a frame is as likely voiced as unvoiced. */
const VOICED_ABOVE = 0.45;
/** Penalty per octave above the shortest lag: a steady voice also repeats after two periods. */
const LONG_LAG_COST = 0.07;
const VOICING_CHANGE_COST = 0.1;
const OCTAVE_COST = 0.6;
const SILENT_RMS = 0.004;
/** Neighbouring periods with a larger ratio belong to different voiced stretches (as in Praat). */
const LARGEST_PERIOD_RATIO = 1.3;

/** Range of a voice's pitch, Hz. */
export interface PitchRange {
  readonly lowestHz: number;
  readonly highestHz: number;
}

/**
 * Tracks F0 of frames in Hz, 0 where unvoiced: peaks of the normalised correlation, joined by the cheapest
 * path.
 *
 * @param frames centres in seconds
 * @see Boersma, "Accurate short-term analysis of the fundamental frequency", 1993; Talkin's RAPT for the
 *   correlation
 */
export function trackPitch(
  pcm: Float32Array,
  sampleRateHz: number,
  centres: readonly number[],
  range: PitchRange,
): Float64Array {
  const low = resample(pcm, { fromHz: sampleRateHz, toHz: TRACKING_HZ });
  const candidates = centres.map((seconds) => candidatesAt(low, Math.round(seconds * TRACKING_HZ), range));
  return bestPath(candidates);
}

interface Candidate {
  /** 0 for unvoiced. */
  readonly hz: number;
  readonly score: number;
}

function candidatesAt(pcm: Float32Array, centre: number, range: PitchRange): Candidate[] {
  const shortest = Math.floor(TRACKING_HZ / range.highestHz);
  const longest = Math.ceil(TRACKING_HZ / range.lowestHz);
  const window = Math.round((WINDOW_PERIODS * TRACKING_HZ) / range.lowestHz);
  const unvoiced: Candidate = { hz: 0, score: VOICED_ABOVE };
  const correlations = new Float64Array(longest - shortest + 3);
  for (let i = 0; i < correlations.length; i++) {
    correlations[i] = correlation(pcm, centre, window, shortest - 1 + i);
  }
  const found: Candidate[] = [];
  for (let i = 1; i < correlations.length - 1; i++) {
    const [left, here, right] = [correlations[i - 1]!, correlations[i]!, correlations[i + 1]!];
    if (!(here > left && here >= right && here > 0.2)) continue;
    const shift = vertexOf(left, here, right);
    const lag = shortest - 1 + i + shift;
    const score = here - 0.25 * (left - right) * shift - LONG_LAG_COST * Math.log2(lag / shortest);
    found.push({ hz: TRACKING_HZ / lag, score });
  }
  found.sort((a, b) => b.score - a.score);
  return [unvoiced, ...found.slice(0, CANDIDATES)];
}

/**
 * Normalised correlation of two stretches of `window` samples, `lag` apart, around `centre`; 0 in silence.
 */
function correlation(pcm: Float32Array, centre: number, window: number, lag: number): number {
  const start = centre - ((window + lag) >> 1);
  let [product, first, second] = [0, 0, 0];
  for (let i = Math.max(0, start); i < start + window && i + lag < pcm.length; i++) {
    const [a, b] = [pcm[i]!, pcm[i + lag]!];
    product += a * b;
    first += a * a;
    second += b * b;
  }
  if (Math.sqrt(Math.min(first, second) / window) < SILENT_RMS) return 0;
  return product / Math.sqrt(first * second);
}

/** Finds the best path through the frames' candidates (Viterbi). */
function bestPath(frames: readonly Candidate[][]): Float64Array {
  let totals = frames[0]?.map(({ score }) => score) ?? [];
  const backs: number[][] = [];
  for (let t = 1; t < frames.length; t++) {
    const [before, now] = [frames[t - 1]!, frames[t]!];
    const back: number[] = [];
    totals = now.map((candidate, j) => {
      let best = Number.NEGATIVE_INFINITY;
      for (const [i, from] of before.entries()) {
        const reach = totals[i]! - changeCost(from.hz, candidate.hz);
        if (reach > best) [best, back[j]] = [reach, i];
      }
      return best + candidate.score;
    });
    backs.push(back);
  }
  const hz = new Float64Array(frames.length);
  let at = totals.indexOf(Math.max(...totals));
  for (let t = frames.length - 1; t >= 0; t--) {
    hz[t] = frames[t]![at]!.hz;
    at = backs[t - 1]?.[at] ?? 0;
  }
  return hz;
}

function changeCost(fromHz: number, toHz: number): number {
  if (fromHz === 0 && toHz === 0) return 0;
  if (fromHz === 0 || toHz === 0) return VOICING_CHANGE_COST;
  return OCTAVE_COST * Math.abs(Math.log2(toHz / fromHz));
}

/**
 * Jitter (local): mean difference of neighbouring periods over the mean period; NaN without voiced periods. A
 * period is the shift at which the waveform repeats best, within a fifth of the tracked pitch.
 *
 * @param hz F0 of the frames around `centres`, 0 where unvoiced
 */
export function jitterOf(
  pcm: Float32Array,
  sampleRateHz: number,
  centres: readonly number[],
  hz: Float64Array,
): number {
  let [differences, pairs, periods, count] = [0, 0, 0, 0];
  let frame = 0;
  let before = 0;
  for (let at = 0; frame < centres.length; ) {
    while (frame + 1 < centres.length && centres[frame + 1]! * sampleRateHz <= at) frame++;
    const pitch = hz[frame]!;
    if (pitch === 0) {
      before = 0;
      if (++frame < centres.length) at = Math.max(at, Math.round(centres[frame]! * sampleRateHz));
      continue;
    }
    const expected = sampleRateHz / pitch;
    if (at + 2.5 * expected >= pcm.length) break;
    const period = repeatOf(pcm, Math.round(at), expected);
    if (before > 0 && Math.max(period / before, before / period) < LARGEST_PERIOD_RATIO) {
      differences += Math.abs(period - before);
      pairs++;
    }
    periods += period;
    count++;
    before = period;
    at += period;
  }
  return differences / Math.max(1, pairs) / (periods / count);
}

/** Returns the shift in samples, with a fraction, after which the waveform at `start` repeats best. */
function repeatOf(pcm: Float32Array, start: number, expected: number): number {
  const window = Math.round(expected);
  const [low, high] = [Math.floor(0.8 * expected), Math.ceil(1.2 * expected)];
  const match = (lag: number) => {
    let [product, first, second] = [0, 1e-12, 1e-12];
    for (let i = start; i < start + window; i++) {
      const [a, b] = [pcm[i]!, pcm[i + lag] ?? 0];
      product += a * b;
      first += a * a;
      second += b * b;
    }
    return product / Math.sqrt(first * second);
  };
  let [best, bestLag] = [Number.NEGATIVE_INFINITY, low];
  for (let lag = low; lag <= high; lag++) {
    const found = match(lag);
    if (found > best) [best, bestLag] = [found, lag];
  }
  return bestLag + vertexOf(match(bestLag - 1), best, match(bestLag + 1));
}

/**
 * Returns the vertex of the parabola through three neighbouring values, relative to the middle one, -0.5 to
 * 0.5.
 */
function vertexOf(left: number, middle: number, right: number): number {
  const curve = left - 2 * middle + right;
  return curve >= 0 ? 0 : Math.max(-0.5, Math.min(0.5, (0.5 * (left - right)) / curve));
}

/** Returns Pearson's correlation of log F0 where both are voiced; NaN below ten such pairs. */
export function pitchCorrelation(pairs: readonly (readonly [aHz: number, bHz: number])[]): number {
  const logs = pairs.filter(([a, b]) => a > 0 && b > 0).map(([a, b]) => [Math.log(a), Math.log(b)] as const);
  if (logs.length < 10) return Number.NaN;
  const mean = (k: 0 | 1) => logs.reduce((sum, pair) => sum + pair[k], 0) / logs.length;
  const [meanA, meanB] = [mean(0), mean(1)];
  let [product, squareA, squareB] = [0, 0, 0];
  for (const [a, b] of logs) {
    product += (a - meanA) * (b - meanB);
    squareA += (a - meanA) ** 2;
    squareB += (b - meanB) ** 2;
  }
  return product / Math.sqrt(squareA * squareB);
}
