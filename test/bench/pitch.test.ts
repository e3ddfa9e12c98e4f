import assert from "node:assert/strict";
import test from "node:test";
import { warp } from "../../bench/evaluate/mel-cepstra.js";
import { jitterOf, pitchCorrelation, trackPitch } from "../../bench/evaluate/pitch.js";

const RATE_HZ = 24_000;
const RANGE = { lowestHz: 80, highestHz: 400 };
const HOP_SECONDS = 256 / RATE_HZ;

/** Band-limited pulses at the given times in seconds, so that a period can be any fraction of a sample. */
function pulses(moments: readonly number[], seconds: number): Float32Array {
  const pcm = new Float32Array(Math.round(seconds * RATE_HZ));
  for (const moment of moments) {
    const at = moment * RATE_HZ;
    for (let i = Math.max(0, Math.ceil(at - 60)); i < Math.min(pcm.length, at + 60); i++) {
      const x = (i - at) / 12;
      pcm[i] = pcm[i]! + 0.5 * Math.exp(-x * x) * Math.cos(1.5 * x);
    }
  }
  return pcm;
}

/** Start times of the periods that `periodAt` gives, in seconds. */
function moments(periodAt: (seconds: number, index: number) => number, seconds: number): number[] {
  const found: number[] = [];
  for (let at = 0.01; at < seconds; at += periodAt(at, found.length)) found.push(at);
  return found;
}

function centresOf(pcm: Float32Array): number[] {
  const count = Math.floor(pcm.length / RATE_HZ / HOP_SECONDS);
  return Array.from({ length: count }, (_, i) => (i + 0.5) * HOP_SECONDS);
}

/** Noise from a fixed seed (mulberry32). */
function noise(count: number): Float32Array {
  let state = 7;
  return Float32Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1) * 0.3;
  });
}

test("follows a glide within 1 %", () => {
  const hzAt = (seconds: number) => 110 + 90 * seconds;
  const pcm = pulses(
    moments((seconds) => 1 / hzAt(seconds), 1),
    1,
  );
  const centres = centresOf(pcm);
  const hz = trackPitch(pcm, RATE_HZ, centres, RANGE);
  for (let i = 4; i < centres.length - 4; i++) {
    assert.ok(Math.abs(hz[i]! / hzAt(centres[i]!) - 1) < 0.01, `${hz[i]} Hz at ${centres[i]} s`);
  }
});

test("silence and noise have no pitch", () => {
  for (const pcm of [new Float32Array(RATE_HZ), noise(RATE_HZ)]) {
    const hz = trackPitch(pcm, RATE_HZ, centresOf(pcm), RANGE);
    assert.ok(hz.filter((value) => value > 0).length <= 2);
  }
});

test("jitter is the mean difference of neighbouring periods, relative to their mean", () => {
  for (const jitter of [0, 0.02, 0.05]) {
    const pcm = pulses(
      moments((_, index) => (1 + (index % 2 === 0 ? jitter / 2 : -jitter / 2)) / 150, 1),
      1,
    );
    const centres = centresOf(pcm);
    const found = jitterOf(pcm, RATE_HZ, centres, trackPitch(pcm, RATE_HZ, centres, RANGE));
    assert.ok(Math.abs(found - jitter) < 0.004, `${found} for ${jitter}`);
  }
});

test("correlation is that of log F0 where both are voiced", () => {
  const rising = Array.from({ length: 20 }, (_, i) => 100 * 1.02 ** i);
  assert.ok(Math.abs(pitchCorrelation(rising.map((hz) => [hz, hz * 1.5])) - 1) < 1e-9);
  assert.ok(Math.abs(pitchCorrelation(rising.map((hz) => [hz, 1e4 / hz])) + 1) < 1e-9);
  assert.ok(Number.isNaN(pitchCorrelation(rising.map((hz) => [hz, 0]))));
});

test("warping pairs every hop with its original", () => {
  const rows = [0, 3, 1, 4].map((value) => new Float64Array(13).fill(value));
  const slow = rows.flatMap((row) => [row, row]);
  const { distortionDb, pairs } = warp(rows, slow);
  assert.equal(distortionDb, 0);
  assert.deepEqual(
    pairs,
    slow.map((_, i) => [i >> 1, i]),
  );
});
