import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FRONT_ENDS, type FrontEnd } from "../../../core/domain/audio/front-ends.js";
import { binsFirst, LogMel, normalizeBins } from "../../../core/domain/audio/log-mel.js";

/**
 * Written by models/recipes/adapters/feature_reference.py with torch and NumPy, which share no code with
 * ours.
 */
const REFERENCE = JSON.parse(readFileSync("test/fixtures/adapters/log-mel-reference.json", "utf8")) as {
  readonly samples: number;
  readonly frontEnds: Readonly<
    Record<FrontEnd, { bins: number; frames: number; rows: Record<string, number[]> }>
  >;
};

function signalOf(samples: number): Float32Array {
  return Float32Array.from(
    { length: samples },
    (_, i) => 0.3 * Math.sin(i * i * 0.0007) + 0.1 * Math.sin(i * 0.05) + 0.02,
  );
}

for (const [name, expected] of Object.entries(REFERENCE.frontEnds)) {
  test(`${name} computes the same features as the original`, () => {
    const logMel = new LogMel(FRONT_ENDS[name as FrontEnd](expected.bins));
    const features = logMel.compute(signalOf(REFERENCE.samples));
    assert.equal(features.length, expected.frames * expected.bins);
    for (const [frame, row] of Object.entries(expected.rows)) {
      for (const [bin, value] of row.entries()) {
        const found = features[Number(frame) * expected.bins + bin]!;
        // The reference is rounded to 1e-4, and a few values of torch's windows differ from ours in the last
        // bit.
        assert.ok(Math.abs(found - value) < 3e-3, `frame ${frame}, bin ${bin}: ${found} for ${value}`);
      }
    }
  });

  test(`${name} computes the same frames for a stream and for the whole`, () => {
    const logMel = new LogMel(FRONT_ENDS[name as FrontEnd](expected.bins));
    const pcm = signalOf(REFERENCE.samples);
    const whole = logMel.compute(pcm);
    const { firstSample, hopSamples } = logMel.options;
    const row = new Float32Array(expected.bins);
    for (const frame of [3, 4, 5]) {
      logMel.computeFrame(pcm, firstSample + frame * hopSamples, row, 0);
      assert.deepEqual(row, whole.slice(frame * expected.bins, (frame + 1) * expected.bins));
    }
  });

  test(`${name} accepts audio shorter than a window`, () => {
    const logMel = new LogMel(FRONT_ENDS[name as FrontEnd](expected.bins));
    for (const samples of [0, 1, 2, 159, 161]) {
      const features = logMel.compute(signalOf(samples));
      assert.equal(features.length % expected.bins, 0);
      assert.ok(features.every(Number.isFinite), `${samples} samples`);
    }
  });
}

test("normalized bins have mean 0 and standard deviation 1", () => {
  const bins = 3;
  const features = Float32Array.from({ length: 3 * 40 }, (_, i) => Math.sin(i * 1.7) * (1 + (i % bins)) + i);
  normalizeBins(features, bins);
  for (let bin = 0; bin < bins; bin++) {
    const values = features.filter((_, i) => i % bins === bin);
    const mean = values.reduce((sum, value) => sum + value) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    assert.ok(Math.abs(mean) < 1e-5);
    assert.ok(Math.abs(Math.sqrt(squares / (values.length - 1)) - 1) < 1e-4);
  }
});

test("one frame is normalized to zeros", () => {
  const features = Float32Array.of(3, -2);
  normalizeBins(features, 2);
  assert.deepEqual(features, Float32Array.of(0, 0));
});

test("binsFirst transposes features", () => {
  assert.deepEqual(binsFirst(Float32Array.of(1, 2, 3, 4, 5, 6), 2), Float32Array.of(1, 3, 5, 2, 4, 6));
});
