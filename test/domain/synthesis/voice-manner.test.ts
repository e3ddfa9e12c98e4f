import assert from "node:assert/strict";
import { test } from "node:test";
import { withBreath } from "../../../core/domain/synthesis/breath.js";
import { scaleMelody } from "../../../core/domain/synthesis/melody.js";
import { pauseAfterMs } from "../../../core/domain/synthesis/pauses.js";

const logOf = (frames: number) => Math.log1p(frames);

test("breath lengthens only the silence at punctuation", () => {
  const symbols = ["^", "а", ",", " ", "б", "-", "в", ".", "$"];
  const frames = [4, 9, 20, 3, 8, 2, 7, 30, 4];
  const calm = withBreath(Float32Array.from(frames, logOf), symbols, 1.5);
  const heard = [...calm].map((value) => Math.round(100 * Math.expm1(value)) / 100);
  assert.deepEqual(heard, [4, 9, 30, 3, 8, 2, 7, 45, 4]);
  // The model's value for a token without a frame may be slightly below zero.
  assert.deepEqual([...withBreath(Float32Array.of(-0.01), [","], 2)], [0]);
});

test("breath lengthens the pauses between pieces, but not a cut between two words", () => {
  assert.equal(pauseAfterMs("сөз,", 1.5), 1.5 * pauseAfterMs("сөз,", 1));
  assert.equal(pauseAfterMs("сөз", 1.5), 0);
});

const COLUMNS = [
  [1, 0, 2],
  [0, 1, -1],
];
const SCALE = { logHzPerUnit: 0.5, lowestHz: 60, highestHz: 480, columns: COLUMNS };

test("melody widens pitch around the voice's mean and adapts the condition", () => {
  const f0 = Float32Array.of(200, 100, 400, 200);
  const condition = new Float32Array(9).fill(5);
  scaleMelody({ f0, condition }, { range: 1.5, centreHz: 200 }, SCALE);
  const octave = Math.log(2) / 0.5;
  assert.deepEqual(
    [...f0].map((hz) => Math.round(hz * 10) / 10),
    // The range is half an octave wider on each side. 566 Hz is beyond the model's range.
    [200, 70.7, 480, 200],
  );
  const shifts = [...condition].map((value) => value - 5);
  const isNear = (index: number, value: number) =>
    assert.ok(Math.abs(shifts[index]! - value) < 1e-4, `${index}: ${shifts[index]}, expected ${value}`);
  const first = [0, -octave / 2, octave / 2];
  for (const [index, value] of first.entries()) isNear(index, value);
  const up = Math.log(480 / 400) / 0.5;
  for (const [index, value] of [up, 0, 2 * up].entries()) isNear(3 + index, value);
  assert.deepEqual(shifts.slice(6), [0, 0, 0], "padding stays padding");
});

test("melody of 1 changes nothing", () => {
  const f0 = Float32Array.of(123.4, 211.1);
  const condition = Float32Array.of(1, 2, 3);
  scaleMelody({ f0, condition }, { range: 1, centreHz: 180 }, SCALE);
  assert.deepEqual([...f0, ...condition], [...Float32Array.of(123.4, 211.1), 1, 2, 3]);
});
