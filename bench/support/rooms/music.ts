import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { gaussianNoise } from "../../../core/domain/synthesis/noise.js";
import { addInto, RATE_HZ } from "./levels.js";
import { between, filtered, type Random, tone } from "./signals.js";
import type { Sound } from "./sounds.js";

/** Roots of the chords in semitones above the key; `m` marks minor chords. */
const PROGRESSIONS = [
  ["9m", "5", "0", "7"],
  ["0", "9m", "5", "7"],
  ["2m", "7", "0", "9m"],
] as const;
/** A pentatonic scale in semitones; it fits every chord above. */
const SCALE = [0, 2, 4, 7, 9, 12, 14, 16];
const STEPS_IN_BAR = 8;

/** A band: plucked chords and bass, a plucked melody, a drum and a cymbal. */
export const music: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const out = new Float32Array(length);
  const stepSamples = Math.floor((60 / between(random, 84, 126) / 2) * RATE_HZ);
  const keyHz = between(random, 110, 165);
  const progression = PROGRESSIONS[Math.floor(random() * PROGRESSIONS.length)]!;
  const pitch = (semitones: number) => keyHz * 2 ** (semitones / 12);
  for (let step = 0; step * stepSamples < length; step++) {
    const at = step * stepSamples;
    const beat = step % STEPS_IN_BAR;
    const chord = progression[Math.floor(step / STEPS_IN_BAR) % progression.length]!;
    const root = Number.parseInt(chord, 10);
    const triad = [root, root + (chord.endsWith("m") ? 3 : 4), root + 7];
    if (beat % 4 === 0) addInto(out, plucked(pitch(root - 12), 1.2, random), at, 0.5);
    if (beat % 4 === 2) {
      for (const note of triad) addInto(out, plucked(pitch(note), 0.9, random), at, 0.22);
    }
    if (random() < 0.6) {
      const note = SCALE[Math.floor(random() * SCALE.length)]! + 12;
      addInto(out, plucked(pitch(note), 0.8, random), at, between(random, 0.2, 0.4));
    }
    if (beat % 4 === 0) addInto(out, drum(), at, 0.6);
    addInto(out, cymbal(random), at, beat % 2 === 0 ? 0.06 : 0.12);
  }
  return out;
};

/** A plucked string. @see Karplus and Strong, "Digital synthesis of plucked-string and drum timbres", 1983 */
function plucked(hz: number, seconds: number, random: Random): Float32Array {
  const period = Math.max(2, Math.round(RATE_HZ / hz));
  const out = new Float32Array(Math.floor(seconds * RATE_HZ));
  const noise = gaussianNoise(period, Math.floor(random() * 2 ** 31));
  for (let i = 0; i < out.length; i++) {
    out[i] = i < period ? noise[i]! * 0.5 : 0.498 * (out[i - period]! + out[Math.max(0, i - period - 1)]!);
  }
  return out;
}

function drum(): Float32Array {
  const length = Math.floor(0.18 * RATE_HZ);
  return tone(
    (i) => 50 + 70 * Math.exp(-i / 500),
    (i) => Math.exp(-i / 900),
    length,
  );
}

function cymbal(random: Random): Float32Array {
  const length = Math.floor(0.08 * RATE_HZ);
  const noise = filtered(gaussianNoise(length, Math.floor(random() * 2 ** 31)), "high", 5_000);
  return noise.map((x, i) => x * Math.exp(-i / 300));
}
