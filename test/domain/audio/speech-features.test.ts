import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel, normalizeBins } from "../../../core/domain/audio/log-mel.js";
import { roundedTo16Bits, toFloat } from "../../../core/domain/audio/pcm.js";
import { speech } from "../../support/audio.js";

/**
 * Every `stride`-th value, computed by models/recipes/adapters/feature_reference.py with torch, which shares
 * no code with ours.
 */
interface Reference {
  readonly recording: string;
  readonly stride: number;
  readonly frontEnds: Readonly<
    Record<"gigaam-v3" | "nemo", { bins: number; frames: number; values: readonly number[] }>
  >;
}

const REFERENCE = JSON.parse(
  readFileSync("test/fixtures/adapters/speech-features-reference.json", "utf8"),
) as Reference;
const PCM = toFloat(speech(REFERENCE.recording));
/** The reference is rounded to 1e-5, and ours to single precision. */
const TOLERANCE = 1e-4;

for (const name of ["gigaam-v3", "nemo"] as const) {
  test(`${name} computes the same features of speech as torch`, () => {
    const { bins, frames, values } = REFERENCE.frontEnds[name];
    const features = new LogMel(FRONT_ENDS[name](bins)).compute(PCM);
    if (name === "nemo") normalizeBins(features, bins);
    assert.equal(features.length, frames * bins);
    for (const [i, expected] of values.entries()) {
      const at = i * REFERENCE.stride;
      const found = features[at]!;
      const where = `frame ${Math.floor(at / bins)}, bin ${at % bins}`;
      assert.ok(Math.abs(found - expected) < TOLERANCE, `${where}: ${found} for ${expected}`);
    }
  });
}

test("rounds samples to the nearest 16-bit value", () => {
  assert.deepEqual(roundedTo16Bits(PCM), PCM);
  const between = Float32Array.of(0.4 / 32_768, 0.6 / 32_768, -1.6 / 32_768, 2, -2);
  assert.deepEqual(
    [...roundedTo16Bits(between)].map((sample) => sample * 32_768),
    [0, 1, -2, 32_767, -32_768],
  );
});
