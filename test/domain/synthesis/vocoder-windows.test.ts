import assert from "node:assert/strict";
import { test } from "node:test";
import { type VocoderWindow, vocoderWindow } from "../../../src/domain/synthesis/vocoder-windows.js";
import * as fc from "../../support/properties.js";

const REACH = 10;

test("windows follow each other to the end, each with its reach or the end of the piece on both sides", () => {
  const sizes = new Set<number>();
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 2_000 }),
      fc.nat({ max: 30 }),
      fc.nat({ max: 30 }),
      fc.boolean(),
      (frames, head, tail, isAwaited) => {
        const from = Math.min(head, frames - 1);
        const stop = Math.max(from + 1, frames - tail);
        for (let start = from; start < stop; ) {
          const window: VocoderWindow = vocoderWindow({
            frames,
            start,
            stop,
            reach: REACH,
            isAwaited: isAwaited && start === from,
          });
          assert.equal(window.start, start);
          assert.ok(window.end > start && window.end <= stop);
          assert.ok(window.contextStart >= 0 && window.contextEnd <= frames);
          assert.ok(window.contextStart === 0 || window.contextStart <= start - REACH);
          assert.ok(window.contextEnd === frames || window.contextEnd >= window.end + REACH);
          const size = window.contextEnd - window.contextStart;
          if (frames >= 64) sizes.add(size);
          else assert.equal(size, frames);
          start = window.end;
        }
      },
    ),
    { numRuns: 1_000 },
  );
  assert.deepEqual(
    [...sizes].sort((a, b) => a - b),
    [64, 128, 256],
  );
});

test("the first window of a piece that somebody waits for is the smallest", () => {
  const options = { frames: 300, start: 2, stop: 296, reach: REACH };
  assert.equal(vocoderWindow({ ...options, isAwaited: true }).end, 54);
  assert.equal(vocoderWindow({ ...options, isAwaited: false }).end, 246);
});
