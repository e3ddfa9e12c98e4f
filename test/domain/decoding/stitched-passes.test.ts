import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeGreedily } from "../../../bench/evaluate/decode-greedily.js";
import { type PassRows, passesOver, stitchPasses } from "../../../core/domain/decoding/stitched-passes.js";
import * as fc from "../../support/properties.js";

const VOCABULARY = ["", " ", "а", "б", "в"];
const WIDTH = VOCABULARY.length;
const LIMITS = { longestSamples: 400_000, overlapSamples: 64_000, rowSamples: 640 };

test("short audio is one pass", () => {
  assert.deepEqual(passesOver(400_000, LIMITS), [{ startSample: 0, endSample: 400_000 }]);
});

test("passes cover all audio with enough overlap, within the longest length, from row to row", () => {
  fc.assert(
    fc.property(fc.integer({ min: 400_001, max: 5_000_000 }), (sampleCount) => {
      const passes = passesOver(sampleCount, LIMITS);
      assert.equal(passes[0]?.startSample, 0);
      assert.equal(passes.at(-1)?.endSample, sampleCount);
      for (const [i, { startSample, endSample }] of passes.entries()) {
        assert.ok(endSample - startSample <= LIMITS.longestSamples, `${endSample - startSample} samples`);
        assert.equal(startSample % LIMITS.rowSamples, 0);
        const next = passes[i + 1];
        if (next === undefined) continue;
        assert.ok(endSample - next.startSample >= LIMITS.overlapSamples, `${endSample - next.startSample}`);
      }
      assert.ok(passes.length <= Math.ceil(sampleCount / (LIMITS.longestSamples - 65_000)));
    }),
  );
});

/** Returns rows with these best outputs, one per row, each with confidence `sure`. */
function rowsOf(startRow: number, best: readonly number[], sure = 0.9): PassRows {
  const logProbs = new Float32Array(best.length * WIDTH).fill(Math.log((1 - sure) / (WIDTH - 1)));
  for (const [row, token] of best.entries()) logProbs[row * WIDTH + token] = Math.log(sure);
  return { startRow, logProbs, rows: best.length };
}

function textOf(parts: readonly PassRows[]): string {
  const { logProbs, rows } = stitchPasses(parts, WIDTH);
  return decodeGreedily(logProbs, rows, VOCABULARY).text;
}

test("the seam is in a pause", () => {
  const pause = [0, 0, 0, 0, 0, 0];
  const spoken = [2, 3, 4, 2, 3, 4, 2, 3];
  const first = rowsOf(0, [...spoken, ...pause, ...spoken, ...spoken]);
  // Outside the pause, the second pass outputs something else.
  const second = rowsOf(0, [...spoken.map(() => 4), ...pause, ...spoken.map(() => 3), ...spoken, 2]);
  const { logProbs, rows } = stitchPasses([first, second], WIDTH);
  assert.equal(rows, second.rows);
  assert.deepEqual(logProbs.slice(0, 9 * WIDTH), first.logProbs.slice(0, 9 * WIDTH));
  assert.deepEqual(logProbs.slice(13 * WIDTH), second.logProbs.slice(13 * WIDTH));
});

test("no letter is lost or repeated if the second pass is shifted by a row", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ letter: fc.integer({ min: 1, max: 4 }), gap: fc.integer({ min: 1, max: 3 }) }), {
        minLength: 60,
        maxLength: 60,
      }),
      fc.integer({ min: -1, max: 1 }),
      (letters, shift) => {
        const best = letters.flatMap(({ letter, gap }) => [letter, ...new Array<number>(gap).fill(0)]);
        const whole = decodeGreedily(rowsOf(0, best).logProbs, best.length, VOCABULARY).text;
        const from = Math.floor(best.length / 3);
        const until = Math.floor((2 * best.length) / 3);
        const moved = best.map((_, row) => best[row - shift] ?? 0);
        // At its edges, a pass lacks the audio beyond.
        const first = rowsOf(0, [...best.slice(0, until - 3), 4, 4, 4]);
        const second = rowsOf(from, [3, 3, 3, ...moved.slice(from + 3)]);
        assert.equal(textOf([first, second]), whole);
      },
    ),
  );
});
