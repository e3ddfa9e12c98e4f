import { gaussianNoise } from "../../../core/domain/synthesis/noise.js";
import { RATE_HZ } from "./levels.js";

export type Random = () => number;

type FilterKind = "low" | "high" | "band";

/**
 * Generates noise whose power falls by 3 dB per octave.
 * @see Kellet's filter, musicdsp.org 76: within 0.05 dB above 10 Hz
 */
export function pinkNoise(length: number, seed: number): Float32Array {
  const pink = gaussianNoise(length, seed);
  const poles = [0.99886, 0.99332, 0.969, 0.8665, 0.55, -0.7616];
  const gains = [0.0555179, 0.0750759, 0.153852, 0.3104856, 0.5329522, -0.016898];
  const held = new Float64Array(poles.length);
  let late = 0;
  for (let i = 0; i < length; i++) {
    const white = pink[i]!;
    let sum = late + 0.5362 * white;
    for (let pole = 0; pole < held.length; pole++) {
      held[pole] = poles[pole]! * held[pole]! + gains[pole]! * white;
      sum += held[pole]!;
    }
    late = 0.115926 * white;
    pink[i] = 0.2 * sum;
  }
  return pink;
}

/** Generates noise whose power falls by 6 dB per octave above 20 Hz. */
export function brownNoise(length: number, seed: number): Float32Array {
  const brown = gaussianNoise(length, seed);
  const keep = Math.exp((-2 * Math.PI * 20) / RATE_HZ);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    sum = keep * sum + brown[i]!;
    brown[i] = 0.09 * sum;
  }
  return brown;
}

/** Applies a second-order filter; returns a new array. @see Bristow-Johnson, "Audio EQ Cookbook" */
export function filtered(
  samples: Float32Array,
  kind: FilterKind,
  hz: number,
  q = Math.SQRT1_2,
): Float32Array {
  const { b0, b1, b2, a1, a2 } = biquad(kind, hz, q);
  const out = new Float32Array(samples.length);
  let [x1, x2, y1, y2] = [0, 0, 0, 0];
  for (let i = 0; i < samples.length; i++) {
    const x = samples[i]!;
    const y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
    x2 = x1;
    x1 = x;
    y2 = y1;
    y1 = y;
    out[i] = y;
  }
  return out;
}

/** Applies a first-order low-pass filter with a corner frequency per sample. */
export function sweptLow(samples: Float32Array, cornersHz: Float32Array): Float32Array {
  let held = 0;
  return samples.map((sample, i) => {
    held += (1 - Math.exp((-2 * Math.PI * cornersHz[i]!) / RATE_HZ)) * (sample - held);
    return held;
  });
}

/** Generates a smooth curve through random values from 0 to 1, `perSecond` of them a second. */
export function wander(length: number, random: Random, perSecond: number): Float32Array {
  const stride = RATE_HZ / perSecond;
  const points = Array.from({ length: Math.ceil(length / stride) + 2 }, random);
  return Float32Array.from({ length }, (_, i) => {
    const at = i / stride;
    const whole = Math.floor(at);
    const blend = (1 - Math.cos(Math.PI * (at - whole))) / 2;
    return points[whole]! * (1 - blend) + points[whole + 1]! * blend;
  });
}

/** Generates a sine with varying pitch and level. */
export function tone(hz: (i: number) => number, level: (i: number) => number, length: number): Float32Array {
  let phase = 0;
  return Float32Array.from({ length }, (_, i) => {
    phase += (2 * Math.PI * hz(i)) / RATE_HZ;
    return level(i) * Math.sin(phase);
  });
}

/**
 * Generates the sound of a struck body: decaying sines. `seconds` is the time in which a mode falls by 60 dB.
 */
export function struck(
  modes: readonly { readonly hz: number; readonly level: number; readonly seconds: number }[],
): Float32Array {
  const longest = Math.max(...modes.map(({ seconds }) => seconds));
  const out = new Float32Array(Math.ceil(longest * RATE_HZ));
  for (const { hz, level, seconds } of modes) {
    const decay = -6.9 / (seconds * RATE_HZ);
    const turn = (2 * Math.PI * hz) / RATE_HZ;
    for (let i = 0; i < out.length; i++) out[i]! += level * Math.exp(decay * i) * Math.sin(turn * i);
  }
  return out;
}

/** Returns a random number between `low` and `high`. */
export function between(random: Random, low: number, high: number): number {
  return low + (high - low) * random();
}

/** Returns the items in a random order. */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Yields the times, in samples, of independent random events, `perSecond` of them a second on average. */
export function* poisson(length: number, random: Random, perSecond: number): Generator<number> {
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) / perSecond) * RATE_HZ;
    if (at >= length) return;
    yield Math.floor(at);
  }
}

/** Adds signals of the same length, each with its gain. */
export function mixed(...parts: readonly (readonly [samples: Float32Array, gain: number])[]): Float32Array {
  const out = new Float32Array(parts[0]?.[0].length ?? 0);
  for (const [samples, gain] of parts) {
    for (let i = 0; i < out.length; i++) out[i]! += gain * samples[i]!;
  }
  return out;
}

function biquad(kind: FilterKind, hz: number, q: number) {
  const turn = (2 * Math.PI * hz) / RATE_HZ;
  const alpha = Math.sin(turn) / (2 * q);
  const cos = Math.cos(turn);
  const [b0, b1] = { low: [(1 - cos) / 2, 1 - cos], high: [(1 + cos) / 2, -1 - cos], band: [alpha, 0] }[
    kind
  ] as [number, number];
  const b2 = kind === "band" ? -alpha : b0;
  const a0 = 1 + alpha;
  return { b0: b0 / a0, b1: b1 / a0, b2: b2 / a0, a1: (-2 * cos) / a0, a2: (1 - alpha) / a0 };
}
