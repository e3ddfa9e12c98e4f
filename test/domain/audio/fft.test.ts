import assert from "node:assert/strict";
import { test } from "node:test";
import { Fft } from "../../../core/domain/audio/fft.js";
import * as fc from "../../support/properties.js";

const sample = fc.double({ min: -1, max: 1, noNaN: true });

/** Computes the transform by its definition, with one sum per output. */
function naiveTransform(real: Float64Array, imaginary: Float64Array): [number, number][] {
  const size = real.length;
  return Array.from(real, (_, k) => {
    let sumReal = 0;
    let sumImaginary = 0;
    for (let n = 0; n < size; n++) {
      const angle = (-2 * Math.PI * ((n * k) % size)) / size;
      sumReal += real[n]! * Math.cos(angle) - imaginary[n]! * Math.sin(angle);
      sumImaginary += real[n]! * Math.sin(angle) + imaginary[n]! * Math.cos(angle);
    }
    return [sumReal, sumImaginary];
  });
}

test("a transform of any length equals the sum of its definition", () => {
  const signals = fc
    .integer({ min: 1, max: 130 })
    .chain((size) =>
      fc.tuple(
        fc.array(sample, { minLength: size, maxLength: size }),
        fc.array(sample, { minLength: size, maxLength: size }),
      ),
    );
  fc.assert(
    fc.property(signals, ([realPart, imaginaryPart]) => {
      const real = Float64Array.from(realPart);
      const imaginary = Float64Array.from(imaginaryPart);
      const expected = naiveTransform(real, imaginary);
      new Fft(real.length).transform(real, imaginary);
      for (const [k, [re, im]] of expected.entries()) {
        // Double precision, over a hundred terms of magnitude one.
        assert.ok(Math.hypot(real[k]! - re, imaginary[k]! - im) < 1e-10, `output ${k} of ${real.length}`);
      }
    }),
    { numRuns: 60 },
  );
});

for (const size of [320, 400, 512]) {
  test(`a power spectrum of ${size} points equals that of the padded signal`, () => {
    const signal = Float64Array.from({ length: size - 7 }, (_, i) => Math.sin(i * i * 0.001));
    const power = new Float64Array((size >> 1) + 1);
    const fft = new Fft(size);
    // The second use must not see leftovers of the first.
    fft.powerSpectrum(new Float64Array(size).fill(3), power);
    fft.powerSpectrum(signal, power);
    const padded = new Float64Array(size);
    padded.set(signal);
    const expected = naiveTransform(padded, new Float64Array(size));
    for (const [bin, value] of power.entries()) {
      const [re, im] = expected[bin]!;
      assert.ok(Math.abs(value - (re ** 2 + im ** 2)) < 1e-8, `bin ${bin}: ${value}`);
    }
  });
}

test("a length that is not a positive integer is rejected with its value", () => {
  for (const size of [0, -4, 2.5, Number.NaN]) {
    assert.throws(
      () => new Fft(size),
      new RegExp(`size of a transform must be a positive integer, received ${size}`),
    );
  }
});
