import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PulseTrain } from "../../../core/domain/synthesis/excitation.js";
import * as fc from "../../support/properties.js";

const RATE_HZ = 24_000;
const HOP_SAMPLES = 256;
const HARMONIC_LIMIT = 0.48;

interface PulseTrainFixture {
  readonly f0: readonly number[];
  readonly hopSamples: number;
  readonly sampleRateHz: number;
  readonly everySample: number;
  readonly pulses: readonly number[];
}

function pulseTrain(f0: Float32Array, hopSamples: number, sampleRateHz: number): Float32Array {
  return new PulseTrain(f0, hopSamples, sampleRateHz).upTo(f0.length * hopSamples);
}

const anyF0 = fc.array(fc.double({ min: 50, max: 500, noNaN: true }), { minLength: 1, maxLength: 6 });

/**
 * Computes the formula directly: f0 between frame centres, summed phase, and one cosine per harmonic. Null
 * where a harmonic is exactly at the limit, because there the last bit of the pitch decides whether it is
 * included.
 */
function sumOfCosines(f0: Float32Array, hopSamples: number, sampleRateHz: number): (number | null)[] {
  let cycles = 0;
  return Array.from({ length: f0.length * hopSamples }, (_, n) => {
    const frequencyHz = pitchAt(f0, (n + 0.5) / hopSamples - 0.5);
    cycles += frequencyHz / sampleRateHz;
    const highest = (HARMONIC_LIMIT * sampleRateHz) / frequencyHz;
    if (Math.abs(highest - Math.round(highest)) < 1e-9) return null;
    const harmonics = Math.floor(highest);
    let sum = 0;
    for (let k = 1; k <= harmonics; k++) sum += Math.cos(2 * Math.PI * k * (cycles % 1));
    return sum * Math.sqrt(2 / harmonics);
  });
}

/** Returns the pitch, linear between frames and constant beyond the first and the last. */
function pitchAt(f0: Float32Array, frame: number): number {
  if (frame <= 0) return f0[0]!;
  if (frame >= f0.length - 1) return f0.at(-1)!;
  const left = Math.floor(frame);
  return f0[left]! + (frame - left) * (f0[left + 1]! - f0[left]!);
}

test("a pulse train is the sum of all harmonics below the limit", () => {
  fc.assert(
    fc.property(anyF0, fc.integer({ min: 1, max: 96 }), (frequencies, hopSamples) => {
      const f0 = Float32Array.from(frequencies);
      const expected = sumOfCosines(f0, hopSamples, RATE_HZ);
      const pulses = pulseTrain(f0, hopSamples, RATE_HZ);
      assert.equal(pulses.length, expected.length);
      for (const [n, value] of expected.entries()) {
        if (value === null) continue;
        // Single precision of values up to 22, and the quotient of two small sines next to a pulse.
        assert.ok(Math.abs(pulses[n]! - value) < 2e-5, `sample ${n}: ${pulses[n]} instead of ${value}`);
      }
    }),
    { numRuns: 60 },
  );
});

test("pulses equal those of the vocoder's training", () => {
  const fixture = JSON.parse(
    readFileSync("test/fixtures/tones/pulse-train.json", "utf8"),
  ) as PulseTrainFixture;
  const pulses = pulseTrain(Float32Array.from(fixture.f0), fixture.hopSamples, fixture.sampleRateHz);
  assert.equal(Math.ceil(pulses.length / fixture.everySample), fixture.pulses.length);
  for (const [index, expected] of fixture.pulses.entries()) {
    const n = index * fixture.everySample;
    // The fixture is rounded to six decimals, and sums of phases differ in their last bits.
    assert.ok(Math.abs(pulses[n]! - expected) < 1e-5, `sample ${n}: ${pulses[n]} instead of ${expected}`);
  }
});

test("any steady pitch has unit power", () => {
  fc.assert(
    fc.property(fc.double({ min: 60, max: 500, noNaN: true }), (frequencyHz) => {
      const frames = 120;
      const pulses = pulseTrain(new Float32Array(frames).fill(frequencyHz), HOP_SAMPLES, RATE_HZ);
      const periodSamples = RATE_HZ / frequencyHz;
      const wholePeriods = Math.floor(Math.floor(pulses.length / periodSamples) * periodSamples);
      let energy = 0;
      for (let n = 0; n < wholePeriods; n++) energy += pulses[n]! ** 2;
      // The last period may leave a fraction of a sample, and the peak of a pulse contains K / 2 of the
      // power.
      const tolerance = 1.5 / (wholePeriods / periodSamples);
      assert.ok(Math.abs(energy / wholePeriods - 1) < tolerance, `power ${energy / wholePeriods}`);
    }),
    { numRuns: 40 },
  );
});

test("pulses repeat at the rate of the pitch", () => {
  const frames = 94;
  const pulses = pulseTrain(new Float32Array(frames).fill(200), HOP_SAMPLES, RATE_HZ);
  const highest = Math.max(...pulses);
  const peaks = [...pulses.keys()].filter((n) => pulses[n]! > highest * 0.9);
  assert.deepEqual(
    peaks.slice(0, 4).map((n) => n + 1),
    [120, 240, 360, 480],
  );
  assert.equal(peaks.length, Math.floor((frames * HOP_SAMPLES) / 120));
});
