import assert from "node:assert/strict";
import test from "node:test";
import { CtcAligner } from "../../../core/domain/decoding/ctc-alignment.js";
import * as fc from "../../support/properties.js";
import { collapse, logProbsOf, SMALL_VOCABULARY } from "./reference.js";

const WIDTH = SMALL_VOCABULARY.length;
const weight = fc.double({ min: 0.01, max: 1, noNaN: true });

test("alignment follows the best of all paths that give the text", () => {
  const example = fc.integer({ min: 1, max: 6 }).chain((frames) =>
    fc.record({
      weights: fc.array(weight, { minLength: frames * WIDTH, maxLength: frames * WIDTH }),
      path: fc.array(fc.integer({ min: 0, max: WIDTH - 1 }), { minLength: frames, maxLength: frames }),
    }),
  );
  const aligner = new CtcAligner(WIDTH);
  fc.assert(
    fc.property(example, ({ weights, path }) => {
      const frames = path.length;
      const logProbs = logProbsOf(weights, WIDTH);
      const tokens = collapse(path);
      const aligned = aligner.align(logProbs, frames, tokens);
      const found = new Array<number>(frames).fill(0);
      tokens.forEach((token, i) => {
        found.fill(token, aligned.firstFrames[i]!, aligned.lastFrames[i]! + 1);
      });
      assert.deepEqual(collapse(found), tokens);
      const best = bestPathScore(logProbs, frames, tokens);
      assert.ok(Math.abs(scoreOf(logProbs, found) - best) < 1e-9);
    }),
  );
});

function bestPathScore(logProbs: Float32Array, frames: number, tokens: readonly number[]): number {
  let best = Number.NEGATIVE_INFINITY;
  for (let code = 0; code < WIDTH ** frames; code++) {
    const path = Array.from({ length: frames }, (_, frame) => Math.floor(code / WIDTH ** frame) % WIDTH);
    if (collapse(path).join() === tokens.join()) best = Math.max(best, scoreOf(logProbs, path));
  }
  return best;
}

function scoreOf(logProbs: Float32Array, path: readonly number[]): number {
  return path.reduce((sum, output, frame) => sum + logProbs[frame * WIDTH + output]!, 0);
}
