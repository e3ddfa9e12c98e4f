import assert from "node:assert/strict";
import test from "node:test";
import { decodeGreedily } from "../../../bench/evaluate/decode-greedily.js";
import { GreedyDecoder } from "../../../core/domain/decoding/greedy.js";
import { textOf } from "../../../core/domain/decoding/words.js";
import * as fc from "../../support/properties.js";
import { collapse, logProbsOf, SMALL_VOCABULARY } from "./reference.js";

const WIDTH = SMALL_VOCABULARY.length;
const weight = fc.double({ min: 0.01, max: 1, noNaN: true });
const audio = fc
  .integer({ min: 0, max: 40 })
  .chain((frames) => fc.array(weight, { minLength: frames * WIDTH, maxLength: frames * WIDTH }));

test("text is the best path with repeats and blanks folded", () => {
  fc.assert(
    fc.property(audio, (weights) => {
      const logProbs = logProbsOf(weights, WIDTH);
      const frames = weights.length / WIDTH;
      const path = Array.from({ length: frames }, (_, frame) => {
        const row = logProbs.subarray(frame * WIDTH, (frame + 1) * WIDTH);
        return row.indexOf(Math.max(...row));
      });
      const found = decodeGreedily(logProbs, frames, SMALL_VOCABULARY);
      assert.equal(found.text, textOf(collapse(path), SMALL_VOCABULARY));
      assert.equal(found.words.map((word) => word.word).join(" "), found.text);
    }),
  );
});

test("text, words and confidence do not depend on chunking", () => {
  fc.assert(
    fc.property(audio, fc.array(fc.integer({ min: 1, max: 7 })), (weights, cuts) => {
      const logProbs = logProbsOf(weights, WIDTH);
      const frames = weights.length / WIDTH;
      const decoder = new GreedyDecoder(SMALL_VOCABULARY);
      let at = 0;
      for (const cut of [...cuts, frames]) {
        const count = Math.min(cut, frames - at);
        decoder.push(logProbs.subarray(at * WIDTH), count);
        at += count;
      }
      const whole = decodeGreedily(logProbs, frames, SMALL_VOCABULARY);
      assert.equal(decoder.frameCount, frames);
      assert.equal(decoder.text, whole.text);
      assert.deepEqual(decoder.words(), whole.words);
      assert.equal(decoder.confidence, whole.confidence);
    }),
  );
});

test("skipped frames and runs that continue from them give no letters", () => {
  const letters = [2, 3] as const;
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0, ...letters), { maxLength: 12 }),
      fc.nat(12),
      (path, passedCount) => {
        const decoder = new GreedyDecoder(SMALL_VOCABULARY);
        for (const [frame, best] of path.entries()) {
          if (frame < passedCount) decoder.pass(best);
          else decoder.take(best, 0);
        }
        const isStart = (best: number, frame: number) => best !== 0 && best !== path[frame - 1];
        const starts = path.flatMap((best, frame) =>
          frame >= passedCount && isStart(best, frame) ? [{ best, frame }] : [],
        );
        assert.equal(
          decoder.text,
          textOf(
            starts.map(({ best }) => best),
            SMALL_VOCABULARY,
          ),
        );
        assert.deepEqual(
          decoder.tokens.firstFrames,
          starts.map(({ frame }) => frame),
        );
      },
    ),
  );
});

test("a reset clears the old text and counts frames from zero again", () => {
  const decoder = new GreedyDecoder(SMALL_VOCABULARY);
  const letter = logProbsOf([0.01, 0.01, 1, 0.01], WIDTH);
  decoder.push(letter, 1);
  decoder.reset();
  assert.equal(decoder.text, "");
  decoder.push(letter, 1);
  assert.equal(decoder.text, "а");
  assert.deepEqual(decoder.words(), [{ word: "а", start: 0, end: 0.04 }]);
});
