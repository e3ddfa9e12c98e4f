import assert from "node:assert/strict";
import { test } from "node:test";
import { alignFrames } from "../../../core/domain/synthesis/alignment.js";
import * as fc from "../../support/properties.js";

/** Durations from the encoder, which may be negative. */
const anyLogDurations = fc
  .array(fc.double({ min: -1, max: 4, noNaN: true }), { minLength: 1, maxLength: 60 })
  .map((values) => Float32Array.from(values));

function framesOf(logDuration: number): number {
  return Math.max(0, Math.exp(logDuration) - 1);
}

test("every frame belongs to one token, in order, with an even number of frames", () => {
  fc.assert(
    fc.property(anyLogDurations, (logDurations) => {
      const { frames, frameToToken, durations } = alignFrames(logDurations);
      assert.ok(frames >= 2 && frames % 2 === 0, `${frames} frames`);
      assert.equal(
        durations.reduce((total, duration) => total + duration, 0),
        frames,
      );
      assert.ok(durations.every((duration) => duration >= 0));
      const expected = [...durations].flatMap((duration, token) =>
        Array<bigint>(duration).fill(BigInt(token)),
      );
      assert.deepEqual([...frameToToken], expected);
    }),
  );
});

test("rounding errors do not accumulate: each boundary is within half a frame", () => {
  fc.assert(
    fc.property(anyLogDurations, (logDurations) => {
      const { durations } = alignFrames(logDurations);
      let exact = 0;
      let placed = 0;
      // The last token may take one more frame, so that the number of frames is even.
      for (let token = 0; token < logDurations.length - 1; token++) {
        exact += framesOf(logDurations[token]!);
        placed += durations[token]!;
        assert.ok(Math.abs(placed - exact) <= 0.5 + 1e-9, `token ${token}: ${placed} for ${exact}`);
      }
    }),
  );
});

test("only the last token is stretched, by at most one frame", () => {
  fc.assert(
    fc.property(anyLogDurations, (logDurations) => {
      const { frames } = alignFrames(logDurations);
      const exact = logDurations.reduce((total, value) => total + framesOf(value), 0);
      assert.ok(frames <= Math.max(2, Math.round(exact) + 1));
      assert.ok(frames >= Math.round(exact) - 1e-9);
    }),
  );
});

test("position holds the token's elapsed and remaining parts and its length", () => {
  fc.assert(
    fc.property(anyLogDurations, (logDurations) => {
      const { frames, frameToToken, durations, position } = alignFrames(logDurations);
      assert.equal(position.length, frames * 3);
      for (let frame = 0; frame < frames; frame++) {
        const token = Number(frameToToken[frame]);
        const first = frameToToken.indexOf(BigInt(token));
        const [passed, left, length] = position.subarray(frame * 3, frame * 3 + 3);
        // Compare in single precision.
        assert.ok(Math.abs(passed! - (frame - first + 0.5) / durations[token]!) < 1e-6);
        assert.ok(Math.abs(passed! + left! - 1) < 1e-6);
        assert.ok(Math.abs(length! - Math.log(1 + durations[token]!) / 2) < 1e-6);
      }
    }),
  );
});

test("a text without duration still gets two frames", () => {
  const { frames, durations } = alignFrames(Float32Array.of(0, 0, 0));
  assert.equal(frames, 2);
  assert.deepEqual([...durations], [0, 0, 2]);
});
