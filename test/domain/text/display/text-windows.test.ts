import assert from "node:assert/strict";
import { test } from "node:test";
import {
  certainStretch,
  OVERLAP_WORDS,
  STRETCH_WORDS,
  stretchesOf,
  WINDOW_WORDS,
  type WordSpan,
  windowsOf,
} from "../../../../core/domain/text/display/text-windows.js";
import * as fc from "../../../support/properties.js";

function assertCovers(spans: readonly WordSpan[], words: number): void {
  assert.equal(spans[0]![0], 0);
  assert.equal(spans.at(-1)![1], words);
  for (const [nth, [first]] of spans.entries()) {
    if (nth === 0) continue;
    const [firstBefore, endBefore] = spans[nth - 1]!;
    assert.ok(first > firstBefore && first <= endBefore - OVERLAP_WORDS);
  }
}

test("stretches cover a text and overlap; none of a long text is shorter than a window", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000 }), (words) => {
      const stretches = stretchesOf(words);
      assertCovers(stretches, words);
      for (const [first, end] of stretches) {
        assert.ok(end - first >= Math.min(words, WINDOW_WORDS));
        assert.ok(end - first <= STRETCH_WORDS);
      }
    }),
  );
});

test("windows cover a stretch, overlap, and are equally long", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: STRETCH_WORDS }), (words) => {
      const windows = windowsOf(words);
      assertCovers(windows, words);
      for (const [first, end] of windows) assert.equal(end - first, Math.min(words, WINDOW_WORDS));
    }),
  );
});

test("a certain stretch is the same in the whole text, and only the last one is never certain", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.nat({ max: 1_000 }), (known, more) => {
      const stretches = stretchesOf(known + more);
      let nth = 0;
      for (let span = certainStretch(nth, known); span !== null; span = certainStretch(++nth, known))
        assert.deepEqual(stretches[nth], span);
      assert.ok(nth < stretches.length);
      if (more === 0) assert.equal(nth, stretches.length - 1);
    }),
  );
});
