import assert from "node:assert/strict";
import { test } from "node:test";
import { fadeEnds } from "../../../core/domain/audio/fade.js";
import { pauseAfterMs } from "../../../core/domain/synthesis/pauses.js";
import {
  LEADING_FRAMES,
  type PieceTrim,
  TRAILING_FRAMES,
  trimSoFar,
} from "../../../core/domain/synthesis/silence.js";
import * as fc from "../../support/properties.js";

const BINS = 2;

/** Returns frames with the given means. */
function melOf(...means: readonly number[]): Float32Array {
  return Float32Array.from(means.flatMap((mean) => [mean - 0.5, mean + 0.5]));
}

/** Trims a whole piece. */
function trimmed(mel: Float32Array): PieceTrim {
  return trimSoFar(mel, { melBins: BINS, silenceBelow: -1, frames: mel.length / BINS })!;
}

test("silence at both ends is cut or padded to fixed lengths", () => {
  const silence = (frames: number) => Array<number>(frames).fill(-1.8);
  for (const [before, after] of [
    [9, 12],
    [2, 4],
    [1, 2],
    [0, 0],
  ] as const) {
    const mel = melOf(...silence(before), 0.4, -1.5, 0.2, ...silence(after));
    const trim = trimmed(mel);
    assert.equal(trim.silentFramesBefore + before - trim.start, LEADING_FRAMES);
    assert.equal(trim.silentFramesAfter + trim.stop - (before + 3), TRAILING_FRAMES);
    assert.ok(trim.start >= 0 && trim.stop <= before + 3 + after);
  }
});

test("a silent piece keeps its length", () => {
  const trim = trimmed(melOf(-1.8, -1.8, -1.8));
  assert.deepEqual([trim.start, trim.stop], [0, 3]);
});

test("fades reach zero at both ends of a piece, regardless of its windows", () => {
  const pieceSamples = 50;
  const whole = new Float32Array(pieceSamples).fill(1);
  fadeEnds(whole, { offset: 0, pieceSamples, samples: 8 });
  assert.ok(whole[0]! < 0.01 && whole[49]! < 0.01);
  assert.deepEqual(whole.subarray(8, 42), new Float32Array(34).fill(1));
  for (const cut of [3, 8, 25, 44, 49]) {
    const [head, tail] = [new Float32Array(cut).fill(1), new Float32Array(pieceSamples - cut).fill(1)];
    fadeEnds(head, { offset: 0, pieceSamples, samples: 8 });
    fadeEnds(tail, { offset: cut, pieceSamples, samples: 8 });
    assert.deepEqual([...head, ...tail], [...whole]);
  }
});

test("the final mark of a piece determines its pause", () => {
  const pauses = ["сөз.", "сөз,", "сөз —", "сөз:", "сөз;", "сөз!"].map((piece) => pauseAfterMs(piece, 1));
  assert.deepEqual(
    pauses,
    pauses.toSorted((a, b) => a - b),
  );
  assert.equal(pauses[0], 0);
  assert.equal(new Set(pauses).size, pauses.length);
});

const MEANS = fc.array(fc.constantFrom(-1.8, 0.4), { minLength: 1, maxLength: 60 });

test("the sendable part of an incomplete piece is a prefix of the whole one", () => {
  fc.assert(
    fc.property(MEANS, fc.nat({ max: 60 }), (means, cut) => {
      const piece = { melBins: BINS, silenceBelow: -1, frames: means.length };
      const whole = trimmed(melOf(...means));
      const known = means.slice(0, cut);
      const soFar = trimSoFar(melOf(...known), piece);
      if (known.length >= means.length) return assert.deepEqual(soFar, whole);
      if (soFar === null) return assert.ok(known.every((mean) => mean < -1));
      assert.equal(soFar.start, whole.start);
      assert.equal(soFar.silentFramesBefore, whole.silentFramesBefore);
      // One frame always remains: the one in which the piece fades out.
      assert.ok(soFar.stop > soFar.start && soFar.stop < whole.stop && soFar.stop <= known.length);
    }),
  );
});
