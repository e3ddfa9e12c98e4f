import assert from "node:assert/strict";
import { test } from "node:test";
import { inputSpan, Resampler, resample, resampleSpan } from "../../../core/domain/audio/resample.js";
import { ServiceError } from "../../../core/domain/errors.js";
import * as fc from "../../support/properties.js";

const PAIRS: readonly (readonly [number, number])[] = [
  [48_000, 16_000],
  [44_100, 16_000],
  [8_000, 16_000],
  [24_000, 16_000],
  [11_025, 16_000],
  [16_000, 24_000],
  // An irreducible ratio uses the interpolated filter.
  [44_101, 16_000],
];

function tone(rateHz: number, frequencyHz: number, seconds: number): Float32Array {
  const samples = new Float32Array(Math.round(rateHz * seconds));
  return samples.map((_, i) => Math.sin((2 * Math.PI * frequencyHz * i) / rateHz));
}

/** Returns the root mean square without the ends, where the filter reaches into the silence outside. */
function innerRms(samples: Float32Array, reference?: Float32Array): number {
  let sum = 0;
  const edge = Math.floor(samples.length * 0.2);
  for (let i = edge; i < samples.length - edge; i++) sum += (samples[i]! - (reference?.[i] ?? 0)) ** 2;
  return Math.sqrt(sum / (samples.length - 2 * edge));
}

const decibels = (ratio: number) => 20 * Math.log10(ratio);

test("a tone in the pass band keeps its frequency, phase and loudness", () => {
  for (const [fromHz, toHz] of PAIRS) {
    for (const share of [0.05, 0.3, 0.8]) {
      const frequencyHz = (Math.min(fromHz, toHz) / 2) * share;
      const expected = tone(toHz, frequencyHz, 0.2);
      const error =
        innerRms(resample(tone(fromHz, frequencyHz, 0.2), { fromHz, toHz }), expected) / innerRms(expected);
      assert.ok(decibels(error) < -70, `${fromHz} to ${toHz} at ${frequencyHz} Hz: ${decibels(error)} dB`);
    }
  }
});

test("tones above the new band disappear by 70 dB or more", () => {
  for (const [fromHz, toHz] of PAIRS.filter(([from, to]) => from > to)) {
    for (const share of [0, 0.3, 0.7, 0.95]) {
      const frequencyHz = toHz / 2 + (fromHz / 2 - toHz / 2) * share + 20;
      const input = tone(fromHz, frequencyHz, 0.2);
      const left = decibels(innerRms(resample(input, { fromHz, toHz })) / innerRms(input));
      assert.ok(left < -70, `${fromHz} to ${toHz} at ${frequencyHz} Hz: ${left} dB`);
    }
  }
});

test("a prompt stream holds nothing back, and equals the ordinary one delayed by half the filter", () => {
  for (const [fromHz, lateSamples] of [
    [24_000, 32],
    [48_000, 32],
    [8_000, 64],
  ] as const) {
    const input = tone(fromHz, 440, 0.1);
    const stream = new Resampler({ fromHz, toHz: 16_000, isPrompt: true });
    const pieces: number[] = [];
    for (let start = 0; start < input.length; start += 240) {
      pieces.push(...stream.push(input.subarray(start, start + 240)));
      assert.equal(pieces.length, Math.ceil((Math.min(start + 240, input.length) * 16_000) / fromHz));
    }
    assert.equal(stream.flush().length, 0);
    const whole = resample(input, { fromHz, toHz: 16_000 });
    assert.deepEqual(pieces.slice(2 * lateSamples), [...whole.subarray(lateSamples, -lateSamples)]);
  }
});

test("images of a tone stay 70 dB below it when the rate rises", () => {
  const output = resample(tone(8_000, 3_000, 0.2), { fromHz: 8_000, toHz: 16_000 });
  assert.ok(decibels(innerRms(output, tone(16_000, 3_000, 0.2)) / innerRms(output)) < -70);
});

test("an impulse stays where it was", () => {
  const input = new Float32Array(4_800);
  input[2_400] = 1;
  const output = resample(input, { fromHz: 48_000, toHz: 16_000 });
  assert.equal(output.indexOf(Math.max(...output)), 800);
});

test("a constant passes unchanged", () => {
  for (const [fromHz, toHz] of PAIRS) {
    const output = resample(new Float32Array(fromHz / 10).fill(0.5), { fromHz, toHz });
    const middle = output.subarray(output.length * 0.3, output.length * 0.7);
    assert.ok(
      middle.every((value) => Math.abs(value - 0.5) < 1e-5),
      `${fromHz} to ${toHz}`,
    );
  }
});

test("duration is kept within one sample", () => {
  fc.assert(
    fc.property(fc.constantFrom(...PAIRS), fc.nat(3_000), ([fromHz, toHz], count) => {
      const output = resample(new Float32Array(count), { fromHz, toHz });
      assert.ok(Math.abs(output.length - (count * toHz) / fromHz) < 1, `${count} gave ${output.length}`);
    }),
  );
});

test("output does not depend on how the input was chunked", () => {
  const input = Float32Array.from({ length: 2_500 }, (_, i) => Math.sin(i * i * 1e-3));
  fc.assert(
    fc.property(
      fc.constantFrom(...PAIRS),
      fc.array(fc.integer({ min: 0, max: 400 })),
      ([fromHz, toHz], sizes) => {
        const resampler = new Resampler({ fromHz, toHz });
        const output: number[] = [];
        let at = 0;
        for (const size of [...sizes, input.length]) {
          output.push(...resampler.push(input.subarray(at, at + size)));
          at = Math.min(input.length, at + size);
        }
        output.push(...resampler.flush());
        assert.deepEqual(output, [...resample(input, { fromHz, toHz })]);
      },
    ),
    { numRuns: 40 },
  );
});

test("equal rates copy the samples", () => {
  const input = Float32Array.of(0.1, 0.2);
  const output = resample(input, { fromHz: 16_000, toHz: 16_000 });
  assert.deepEqual(output, input);
  assert.notEqual(output.buffer, input.buffer);
});

test("rates outside the bounds are rejected by name", () => {
  for (const fromHz of [0, 3_999, 384_001, 16_000.5, Number.NaN]) {
    assert.throws(
      () => new Resampler({ fromHz, toHz: 16_000 }),
      (error) => error instanceof ServiceError && error.message.includes(`received ${fromHz}`),
    );
  }
});

test("any span of a recording equals the streamed output there, bit for bit", () => {
  const samples = tone(48_000, 700, 0.05);
  for (const [fromHz, toHz] of [...PAIRS, [16_000, 16_000] as const]) {
    const whole = resample(samples, { fromHz, toHz });
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(whole.length), (one, other) => {
        const span = { start: Math.min(one, other), end: Math.max(one, other) };
        const { start, end } = inputSpan(span, { fromHz, toHz });
        const inputs = Float32Array.from({ length: end - start }, (_, i) => samples[start + i] ?? 0);
        assert.deepEqual(
          resampleSpan(inputs, span, { fromHz, toHz }),
          whole.slice(span.start, span.end),
          `${fromHz} to ${toHz}, ${span.start} to ${span.end}`,
        );
      }),
      { numRuns: 10 },
    );
  }
});
