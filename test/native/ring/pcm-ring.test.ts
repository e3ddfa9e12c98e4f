import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import { pace } from "../../support/pace.js";
import { sampleAt } from "../../support/pcm-signal.js";
import * as fc from "../../support/properties.js";
import type { RingWriterData } from "../../support/ring-writer.js";

const HEADER_CELLS = 4;
const MODULUS = 2 ** 32;

type Action =
  | { readonly type: "write"; readonly samples: readonly number[] }
  | { readonly type: "copy"; readonly asFloat: boolean; readonly from: number; readonly length: number }
  | { readonly type: "release"; readonly share: number }
  | { readonly type: "release-again"; readonly back: number }
  | { readonly type: "cursor"; readonly share: number };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("write" as const),
      samples: fc.array(fc.integer({ min: -32_768, max: 32_767 }), { maxLength: 40 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("copy" as const),
      asFloat: fc.boolean(),
      from: share,
      length: share,
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("release" as const), share }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("release-again" as const),
      back: fc.integer({ min: 0, max: 99 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("cursor" as const), share }) },
);

/** A ring whose counts start at `position` instead of 0, so that a test can reach the 32-bit wraparound. */
function ringAt(capacitySamples: number, position: number): PcmRing {
  const ring = PcmRing.create(capacitySamples);
  new Int32Array(ring.buffer, 0, HEADER_CELLS).fill(position | 0);
  return ring;
}

test("a ring behaves like a plain array, even across the wrap of its indices", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 7 }),
      fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 200 }).map((before) => MODULUS - before),
      ),
      fc.array(anyAction, { maxLength: 60 }),
      (power, start, actions) => {
        const ring = ringAt(2 ** power, start);
        const otherEnd = PcmRing.attach(ring.buffer);
        /** The samples that were written but not released. The first of them is at position `released`. */
        const kept: number[] = [];
        let released = start;
        for (const action of actions) {
          if (action.type === "write") {
            const room = 2 ** power - kept.length;
            const taken = ring.write(Int16Array.from(action.samples));
            assert.equal(taken, Math.min(room, action.samples.length));
            kept.push(...action.samples.slice(0, taken));
          } else if (action.type === "copy") {
            const from = Math.floor(action.from * kept.length);
            const length = Math.floor(action.length * (kept.length - from));
            const expected = kept.slice(from, from + length);
            const position = (released + from) % MODULUS;
            if (action.asFloat) {
              const target = new Float32Array(length);
              otherEnd.copyOutFloat(position, target);
              // Division by a power of two is exact.
              assert.deepEqual(
                [...target],
                expected.map((sample) => sample / 32_768),
              );
            } else {
              const target = new Int16Array(length);
              otherEnd.copyOut(position, target);
              assert.deepEqual([...target], expected);
            }
          } else if (action.type === "release") {
            const count = Math.floor(action.share * kept.length);
            otherEnd.release((released + count) % MODULUS);
            kept.splice(0, count);
            released += count;
          } else if (action.type === "release-again") {
            otherEnd.release((released - action.back + MODULUS) % MODULUS);
          } else {
            const position = (released + Math.floor(action.share * kept.length)) % MODULUS;
            otherEnd.cursor = position;
            assert.equal(ring.cursor, position);
          }
          assert.equal(ring.released, released % MODULUS);
          assert.equal(ring.written, (released + kept.length) % MODULUS);
          assert.equal(ring.usedSamples, kept.length);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("resizing a ring keeps its positions and its unreleased audio", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.constant(0),
        fc.integer({ min: 1, max: 60 }).map((before) => MODULUS - before),
      ),
      fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 20 }),
      share,
      (start, writes, releasedShare) => {
        let ring = ringAt(16, start);
        let written = start;
        let released = start;
        for (const length of writes) {
          const needed = written - released + length;
          if (needed > ring.capacitySamples) ring = ring.moveTo(2 ** Math.ceil(Math.log2(needed)));
          assert.equal(ring.write(Int16Array.from({ length }, (_, i) => sampleAt(written + i))), length);
          written += length;
          released += Math.floor(releasedShare * (written - released));
          ring.release(released % MODULUS);
          const kept = new Int16Array(written - released);
          ring.copyOut(released % MODULUS, kept);
          assert.deepEqual(
            [...kept],
            Array.from(kept, (_, i) => sampleAt(released + i)),
          );
        }
        assert.throws(() => ringAt(16, 0).moveTo(3), RangeError);
      },
    ),
  );
});

test("a write that wraps inside the storage keeps order", () => {
  const ring = ringAt(8, 6);
  assert.equal(ring.write(Int16Array.of(1, 2, 3, 4, 5)), 5);
  const seen = new Int16Array(5);
  ring.copyOut(6, seen);
  assert.deepEqual([...seen], [1, 2, 3, 4, 5]);
});

test("a capacity that is not a power of two, or too large for the index, is rejected", () => {
  for (const capacity of [0, 1, 3, 100, 2.5, 2 ** 31, Number.NaN]) {
    assert.throws(() => PcmRing.create(capacity), /capacity must be a power of two, received/);
  }
});

test("a million samples pass between two threads without loss, across the wrap of the indices", async () => {
  const sampleCount = 1_000_000;
  const ring = ringAt(2 ** 14, MODULUS - sampleCount / 2);
  const data: RingWriterData = { ring: ring.buffer, sampleCount };
  const writer = new Worker(new URL("../../support/ring-writer.js", import.meta.url), { workerData: data });
  const exited = once(writer, "exit");
  let readSamples = 0;
  while (readSamples < sampleCount) {
    const part = new Int16Array(Math.min(ring.usedSamples, 1 + (readSamples % 5_000)));
    if (part.length === 0) await pace(1);
    ring.copyOut(ring.released, part);
    const wrong = part.findIndex((sample, index) => sample !== sampleAt(readSamples + index));
    assert.equal(wrong, -1, `sample ${readSamples + wrong}`);
    ring.release((ring.released + part.length) % MODULUS);
    readSamples += part.length;
  }
  assert.deepEqual(await exited, [0]);
  assert.equal(ring.usedSamples, 0);
});
