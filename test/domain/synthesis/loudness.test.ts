import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyGain,
  type GainCurve,
  gainSoFar,
  type LoudnessModel,
  melLevelDb,
  pieceGain,
  withGain,
} from "../../../core/domain/synthesis/loudness.js";
import * as fc from "../../support/properties.js";

const HOP_SECONDS = 256 / 24_000;
const MODEL: LoudnessModel = {
  targetLufs: -22,
  slopes: [2, 3],
  intercepts: [0, Math.log(2)],
  ceiling: 2,
  voiceLufs: { aigul: -40, saule: -41 },
};
const WHOLE = { silentFramesBefore: 0, silentFramesAfter: 0, start: 0 };

/** Returns frames with `value` in both bands. */
function melOf(...values: readonly number[]): Float32Array {
  return Float32Array.from(values.flatMap((value) => [value, value]));
}

function levelOf(mel: Float32Array, trim: object = {}): number {
  return melLevelDb(mel, { ...WHOLE, stop: mel.length / 2, ...trim }, MODEL, HOP_SECONDS);
}

function isNear(a: number, b: number): void {
  assert.ok(Math.abs(a - b) < 1e-6, `${a} and ${b}`);
}

test("the level is the power of all bands", () => {
  isNear(levelOf(melOf(...Array(100).fill(0))), 10 * Math.log10(1 + 2));
  isNear(levelOf(melOf(...Array(100).fill(1))), 10 * Math.log10(Math.E ** 2 + 2 * Math.E ** 3));
  isNear(levelOf(melOf(0, 0, 0)), 10 * Math.log10(3));
  isNear(levelOf(melOf(5, 9, 3)), levelOf(melOf(2, 2, 2)));
});

test("pauses and trimmed frames are not measured", () => {
  const speech = Array<number>(80).fill(0);
  const pause = Array<number>(600).fill(-9);
  const level = levelOf(melOf(...speech, ...pause, ...speech));
  // Only blocks that contain both are counted. Averaged over the whole time, the level would be 6.8 dB lower.
  assert.ok(level < 10 * Math.log10(3) && level > 10 * Math.log10(3) - 1.5, `${level} dB`);
  const loudEnd = melOf(...speech, 5, 5, 5);
  isNear(levelOf(loudEnd, { stop: 80 }), 10 * Math.log10(3));
  const short = melOf(0, 0, 0, 0);
  isNear(levelOf(short, { silentFramesBefore: 2, silentFramesAfter: 2 }), 10 * Math.log10(3 / 2));
});

test("the gain brings a piece within 3 dB of the common level of all voices", () => {
  isNear(pieceGain(18, "aigul", MODEL), 1);
  isNear(pieceGain(19, "aigul", MODEL), 10 ** (-1 / 20));
  isNear(pieceGain(18, "saule", MODEL), 10 ** (1 / 20));
  isNear(pieceGain(-50, "aigul", MODEL), 10 ** (3 / 20));
  isNear(pieceGain(50, "aigul", MODEL), 10 ** (-3 / 20));
  assert.equal(pieceGain(18, "somebody", MODEL), 1);
  assert.equal(pieceGain(Number.NEGATIVE_INFINITY, "aigul", MODEL), 1);
});

test("a changing gain glides without steps, however the piece is chunked", () => {
  const gains = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 300 }), fc.double({ min: 0.7, max: 1.4, noNaN: true })),
    {
      minLength: 1,
      maxLength: 5,
    },
  );
  fc.assert(
    fc.property(gains, fc.nat({ max: 400 }), (points, cut) => {
      const hop = 4;
      let curve: GainCurve = [];
      let frame = 0;
      for (const [frames, gain] of points) {
        curve = withGain(curve, frame, gain);
        frame += frames;
      }
      const whole = new Float32Array(400 * hop).fill(1);
      applyGain(whole, 0, hop, curve);
      isNear(whole[0]!, points[0]![1]);
      // 3 dB per second.
      for (let i = 1; i < whole.length; i++)
        assert.ok(Math.abs(whole[i]! - whole[i - 1]!) < 0.8 / (94 * hop));
      const [head, tail] = [new Float32Array(cut * hop).fill(1), new Float32Array((400 - cut) * hop).fill(1)];
      applyGain(head, 0, hop, curve);
      applyGain(tail, cut, hop, curve);
      assert.deepEqual([...head, ...tail], [...whole]);
    }),
  );
});

test("the gain moves halfway with the first measurement of a piece, and nearly all the way by the end", () => {
  isNear(gainSoFar(1.21, 120), 1.1);
  isNear(gainSoFar(1, 120), 1);
  assert.ok(gainSoFar(1.21, 2_000) > 1.2 && gainSoFar(1.21, 2_000) < 1.21);
});
