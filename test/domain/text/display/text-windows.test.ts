import assert from "node:assert/strict";
import { test } from "node:test";
import {
  certainWindow,
  OVERLAP_WORDS,
  WINDOW_WORDS,
  windowsOf,
} from "../../../../core/domain/text/display/text-windows.js";
import * as fc from "../../../support/properties.js";

test("windows cover a text from its first word to its last, and overlap", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000 }), (words) => {
      const windows = windowsOf(words);
      assert.equal(windows[0]![0], 0);
      assert.equal(windows.at(-1)![1], words);
      for (const [nth, [first, end]] of windows.entries()) {
        assert.equal(end - first, Math.min(words, WINDOW_WORDS));
        if (nth === 0) continue;
        const [firstBefore, endBefore] = windows[nth - 1]!;
        assert.ok(first > firstBefore && first <= endBefore - OVERLAP_WORDS);
      }
    }),
  );
});

test("a certain window is the same in the whole text, and the last window is never certain", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 600 }), fc.nat({ max: 600 }), (known, more) => {
      const windows = windowsOf(known + more);
      let nth = 0;
      for (let span = certainWindow(nth, known); span !== null; span = certainWindow(++nth, known))
        assert.deepEqual(windows[nth], span);
      assert.ok(nth < windows.length);
      if (more === 0) assert.equal(nth, windows.length - 1, "all but the last");
    }),
  );
});
