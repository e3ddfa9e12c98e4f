import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { gaussianNoise } from "../../../core/domain/synthesis/noise.js";
import { addInto, fadeAround, RATE_HZ } from "./levels.js";
import {
  between,
  brownNoise,
  filtered,
  mixed,
  pinkNoise,
  poisson,
  type Random,
  struck,
  sweptLow,
  tone,
  wander,
} from "./signals.js";

/** Makes `length` samples of a sound; the same seed gives the same ones. Mixing sets the level. */
export type Sound = (length: number, seed: number) => Float32Array;

/** A box fan: moving air, the tone of its blades and the hum of its motor. */
export const fan: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const bladeHz = between(random, 70, 140);
  const drift = wander(length, random, 0.5);
  const air = filtered(pinkNoise(length, seed + 1), "low", between(random, 900, 1_800));
  const harmonic = (nth: number) =>
    tone(
      (i) => nth * bladeHz * (0.995 + 0.01 * drift[i]!),
      (i) => (0.2 + 0.1 * drift[i]!) / nth,
      length,
    );
  const hum = tone(
    () => 100,
    () => 0.08,
    length,
  );
  return mixed([air, 1], [harmonic(1), 1], [harmonic(2), 0.7], [harmonic(3), 0.4], [hum, 1]);
};

/** A road: a constant rumble, passing cars, and now and then a horn. */
export const street: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const swell = wander(length, random, 0.3);
  const rumble = filtered(brownNoise(length, seed + 1), "low", 350).map(
    (x, i) => x * (0.4 + 0.6 * swell[i]!),
  );
  const out = mixed([rumble, 1], [filtered(pinkNoise(length, seed + 2), "low", 2_500), 0.15]);
  for (const at of poisson(length, random, 0.35)) addInto(out, passingCar(random), at - 2 * RATE_HZ);
  for (const at of poisson(length, random, 0.05)) addInto(out, horn(random), at);
  return out;
};

/** Typing: each key sounds when pressed and, softer, when released; there are pauses between words. */
export const keyboard: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const out = new Float32Array(length);
  let lettersLeft = 0;
  for (let at = 0.1 * RATE_HZ; at < length; ) {
    const isSpace = lettersLeft-- <= 0;
    if (isSpace) lettersLeft = Math.floor(between(random, 2, 9));
    const loudness = (isSpace ? 1.5 : 1) * between(random, 0.5, 1);
    addInto(out, keyStroke(random), Math.floor(at), loudness);
    addInto(out, keyStroke(random), Math.floor(at + between(random, 0.06, 0.12) * RATE_HZ), 0.3 * loudness);
    at += RATE_HZ * (isSpace ? between(random, 0.15, 0.6) : between(random, 0.08, 0.22));
  }
  return out;
};

/** Wind on a microphone: low buffeting in gusts, with a whistle when they peak. */
export const wind: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const gusts = wander(length, random, 0.7);
  const flutter = wander(length, random, 6);
  const strength = gusts.map((gust, i) => gust ** 1.5 * (0.6 + 0.4 * flutter[i]!));
  const corners = strength.map((value) => 120 + 700 * value);
  const buffeting = sweptLow(sweptLow(brownNoise(length, seed + 1), corners), corners);
  const whistle = filtered(gaussianNoise(length, seed + 2), "band", between(random, 500, 900), 12);
  return buffeting.map((x, i) => x * (0.15 + strength[i]!) + 0.06 * whistle[i]! * strength[i]! ** 2);
};

/** Rain on a window sill: the hiss of far drops and the clicks of near ones. */
export const rain: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const hiss = filtered(filtered(gaussianNoise(length, seed + 1), "high", 1_200), "low", 6_500);
  const out = mixed([hiss, 0.12]);
  for (const at of poisson(length, random, 60)) {
    const hz = between(random, 900, 5_500);
    const seconds = between(random, 0.004, 0.02);
    // Most drops are small or far.
    addInto(out, struck([{ hz, level: 1, seconds }]), at, 0.05 + 0.8 * random() ** 4);
  }
  return out;
};

/** Plates and cutlery: single clinks and clusters. */
export const dishes: Sound = (length, seed) => {
  const random = uniformRandom(seed);
  const out = new Float32Array(length);
  for (const first of poisson(length, random, 0.8)) {
    const clinks = Math.ceil(4 * random() ** 2);
    for (
      let nth = 0, at = first;
      nth < clinks;
      nth++, at += Math.floor(between(random, 0.04, 0.2) * RATE_HZ)
    ) {
      addInto(out, clink(random), at, between(random, 0.2, 1));
    }
  }
  return out;
};

function passingCar(random: Random): Float32Array {
  const length = Math.floor(between(random, 3, 6) * RATE_HZ);
  const seed = Math.floor(random() * 2 ** 31);
  const nearness = Float32Array.from({ length }, (_, i) => Math.exp(-0.5 * ((i / length - 0.5) / 0.16) ** 2));
  const tyres = sweptLow(
    filtered(pinkNoise(length, seed), "high", 180),
    nearness.map((near) => 300 + 2_200 * near),
  );
  const hz = between(random, 55, 110);
  // Doppler: the pitch falls as the vehicle passes.
  const engine = (nth: number) =>
    tone(
      (i) => nth * hz * (1.04 - (0.08 * i) / length),
      (i) => (0.35 * nearness[i]!) / nth,
      length,
    );
  const parts = mixed([tyres, 2.2], [engine(1), 1], [engine(2), 1], [engine(4), 1]);
  return parts.map((x, i) => x * nearness[i]! * 0.9);
}

function horn(random: Random): Float32Array {
  const length = Math.floor(between(random, 0.25, 0.9) * RATE_HZ);
  const hz = between(random, 330, 440);
  const out = new Float32Array(length);
  for (const base of [hz, hz * 1.26]) {
    for (let nth = 1; nth <= 6; nth++) {
      addInto(
        out,
        tone(
          () => nth * base,
          () => 0.12 / nth,
          length,
        ),
        0,
      );
    }
  }
  fadeAround(out, 400, length - 400);
  return out;
}

function keyStroke(random: Random): Float32Array {
  const length = Math.floor(0.06 * RATE_HZ);
  const noise = filtered(
    gaussianNoise(length, Math.floor(random() * 2 ** 31)),
    "band",
    between(random, 1_800, 4_200),
    1.2,
  );
  const fall = between(random, 0.002, 0.005) * RATE_HZ;
  const click = noise.map((x, i) => x * Math.exp(-i / fall));
  const body = struck([
    { hz: between(random, 140, 280), level: 0.35, seconds: 0.05 },
    { hz: between(random, 1_100, 2_400), level: 0.3, seconds: 0.03 },
  ]);
  addInto(click, body, 0);
  return click;
}

function clink(random: Random): Float32Array {
  const isPlate = random() < 0.4;
  const base = isPlate ? between(random, 600, 1_500) : between(random, 2_000, 4_200);
  // Modes of a plate and of a bar, slightly different for each piece.
  const ratios = isPlate ? [1, 1.73, 2.33, 3.91] : [1, 1.51, 1.84, 1.97];
  return struck(
    ratios.map((ratio, nth) => ({
      hz: Math.min(7_600, base * ratio * between(random, 0.97, 1.03)),
      level: 1 / (1 + nth),
      seconds: between(random, isPlate ? 0.08 : 0.12, isPlate ? 0.25 : 0.6) / (1 + 0.4 * nth),
    })),
  );
}
