import assert from "node:assert/strict";
import { test } from "node:test";
import { GROWING_CHUNKS, layOver, solverChunks } from "../../../core/domain/synthesis/solver-chunks.js";
import * as fc from "../../support/properties.js";

const PATCHES = fc.integer({ min: 1, max: 2_000 });
const RULES = fc.record({
  first: fc.integer({ min: 1, max: 64 }),
  longest: fc.integer({ min: 64, max: 512 }),
  context: fc.integer({ min: 0, max: 48 }),
  overlap: fc.integer({ min: 0, max: 48 }),
});

test("chunks cover all patches in order, each with its context or an end of the piece", () => {
  fc.assert(
    fc.property(PATCHES, RULES, (patches, rules) => {
      let start = 0;
      const chunks = solverChunks(patches, "growing", rules);
      for (const [index, chunk] of chunks.entries()) {
        assert.equal(chunk.start, start);
        assert.ok(chunk.end > start && chunk.end <= patches);
        assert.equal(chunk.contextStart, Math.max(0, chunk.start - rules.context));
        assert.equal(chunk.contextEnd, Math.min(patches, chunk.end + rules.context));
        // Both chunks cover the frames of their crossfade.
        const before = chunks[index - 1];
        assert.equal(chunk.overlap, before ? Math.min(rules.overlap, before.contextEnd - start) : 0);
        start = chunk.end;
      }
      assert.equal(start, patches);
    }),
  );
});

test("the cost of the first chunk does not depend on the length of the piece", () => {
  const { first, context } = GROWING_CHUNKS;
  fc.assert(
    fc.property(PATCHES, (patches) => {
      const [chunk] = solverChunks(patches, "growing");
      assert.ok(chunk!.contextEnd <= first + context);
      if (patches > first + context) assert.equal(chunk!.end, first);
    }),
  );
});

test("chunks double up to the longest; only the last may be half as long again", () => {
  fc.assert(
    fc.property(PATCHES, (patches) => {
      const lengths = solverChunks(patches, "growing").map(({ start, end }) => end - start);
      const planned = lengths.map((_, index) => Math.min(16 * 2 ** index, 192));
      assert.deepEqual(lengths.slice(0, -1), planned.slice(0, -1));
      assert.ok(lengths.at(-1)! <= 1.5 * planned.at(-1)! + 4);
    }),
  );
  const lengths = solverChunks(600, "growing").map(({ start, end }) => end - start);
  assert.deepEqual(lengths, [16, 32, 64, 128, 192, 168]);
});

test("a piece sent as a whole is one chunk without context", () => {
  fc.assert(
    fc.property(PATCHES, (patches) => {
      const whole = { start: 0, end: patches, contextStart: 0, contextEnd: patches, overlap: 0 };
      assert.deepEqual(solverChunks(patches, "whole"), [whole]);
    }),
  );
});

test("the mel crosses the border of two chunks without a step", () => {
  const mel = new Float32Array(8).fill(1);
  layOver(mel, new Float32Array(6).fill(5), { frame: 1, overlapFrames: 2, melBins: 2 });
  assert.deepEqual([...mel.subarray(0, 6)], [1, 1, 2, 2, 4, 4]);
  assert.deepEqual([...mel.subarray(6)], [5, 5]);
});
