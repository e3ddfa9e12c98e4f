export const RATE_HZ = 16_000;
/** Length of a step over which levels are measured: 10 ms. */
export const STEP_SAMPLES = 160;
/** Range below the loudest steps in which steps still count as loud. */
const LOUD_RANGE_DB = 20;
/** Percentile above which steps are the loudest, so that a single click does not set the level. */
const LOUDEST_SHARE = 0.98;
/** Range below the level of speech in which steps still belong to it. */
const SPEECH_RANGE_DB = 35;
const SILENCE_POWER = 1e-14;

/** Where speech starts and ends in clean samples; `steps` has 1 for each step of 10 ms with speech. */
export interface SpeechBounds {
  readonly onset: number;
  /** One past the last sample of speech. */
  readonly end: number;
  readonly steps: Uint8Array;
}

/** Returns the mean power of each whole step, in dB of full scale. */
export function stepLevels(samples: Float32Array, stepSamples = STEP_SAMPLES): Float32Array {
  const levels = new Float32Array(Math.floor(samples.length / stepSamples));
  for (let step = 0; step < levels.length; step++) {
    let power = 0;
    for (let i = step * stepSamples; i < (step + 1) * stepSamples; i++) power += samples[i]! * samples[i]!;
    levels[step] = toDecibels(power / stepSamples);
  }
  return levels;
}

/**
 * Returns the mean level of the loud steps, in dB of full scale; pauses between words or clicks do not lower
 * it.
 */
export function loudLevel(samples: Float32Array): number {
  const levels = stepLevels(samples);
  const floor = percentile(levels, LOUDEST_SHARE) - LOUD_RANGE_DB;
  const loud = levels.filter((level) => level >= floor);
  return toDecibels(loud.reduce((sum, level) => sum + 10 ** (level / 10), 0) / Math.max(1, loud.length));
}

/** Returns the value below which `share` of the values lie. */
export function percentile(values: Float32Array, share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

/** Returns the gain that brings samples to the loud level `levelDb`. */
export function gainTo(levelDb: number, samples: Float32Array): number {
  return 10 ** ((levelDb - loudLevel(samples)) / 20);
}

/** Finds speech in clean samples: every step at most `rangeDb` below the loud level. */
export function speechBounds(samples: Float32Array, rangeDb = SPEECH_RANGE_DB): SpeechBounds {
  const floor = loudLevel(samples) - rangeDb;
  const steps = Uint8Array.from(stepLevels(samples), (level) => (level > floor ? 1 : 0));
  return { steps, onset: steps.indexOf(1) * STEP_SAMPLES, end: (steps.lastIndexOf(1) + 1) * STEP_SAMPLES };
}

/** Adds `source` times `gain` to `target` at offset `at`; samples beyond its bounds are dropped. */
export function addInto(target: Float32Array, source: Float32Array, at: number, gain = 1): void {
  const first = Math.max(0, -at);
  const end = Math.min(source.length, target.length - at);
  for (let i = first; i < end; i++) target[at + i]! += gain * source[i]!;
}

/** Fades in up to `onset` and out from `end`, in place. */
export function fadeAround(samples: Float32Array, onset: number, end: number): void {
  for (let i = 0; i < onset; i++) samples[i]! *= i / onset;
  for (let i = end; i < samples.length; i++) samples[i]! *= (samples.length - 1 - i) / (samples.length - end);
}

function toDecibels(power: number): number {
  return 10 * Math.log10(power + SILENCE_POWER);
}
