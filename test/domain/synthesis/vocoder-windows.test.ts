import assert from "node:assert/strict";
import { test } from "node:test";
import { type VocoderWindow, vocoderWindow } from "../../../core/domain/synthesis/vocoder-windows.js";
import * as fc from "../../support/properties.js";

const REACH = 10;

test("windows cover the piece, each with its context or an end of the piece on both sides", () => {
  const sizes = new Set<number>();
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 2_000 }),
      fc.nat({ max: 30 }),
      fc.nat({ max: 30 }),
      fc.nat({ max: 400 }),
      (frames, head, tail, unknown) => {
        const from = Math.min(head, frames - 1);
        const known = Math.max(frames - unknown, Math.min(frames, from + 1 + REACH));
        const stop = Math.max(from + 1, Math.min(frames - tail, known === frames ? frames : known - REACH));
        for (let start = from; start < stop; ) {
          const window: VocoderWindow = vocoderWindow({ frames, known, start, stop, reach: REACH });
          assert.equal(window.start, start);
          assert.ok(window.end > start && window.end <= stop);
          assert.ok(window.contextStart >= 0 && window.contextEnd <= known);
          assert.ok(window.contextStart === 0 || window.contextStart <= start - REACH);
          assert.ok(window.contextEnd === frames || window.contextEnd >= window.end + REACH);
          const size = window.contextEnd - window.contextStart;
          if (known >= 64) sizes.add(size);
          else assert.equal(size, known);
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

test("the first chunk of a piece is one small window", () => {
  const options = { frames: 300, known: 80, start: 2, stop: 48, reach: REACH };
  assert.deepEqual(vocoderWindow(options), { start: 2, end: 48, contextStart: 0, contextEnd: 64 });
});
