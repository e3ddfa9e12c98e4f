import assert from "node:assert/strict";
import { test } from "node:test";
import { BLOCK_FRAMES, FrameRows, RowPool, StatePool } from "../../../native/live/encoder-memory.js";
import * as fc from "../../support/properties.js";

const WIDTH = 3;

/** The row of a frame. All rows are different. */
function rowOf(frame: number): number[] {
  return [frame, frame + 0.25, -frame];
}

test("rows behave like a plain list of the rows that were not discarded", () => {
  fc.assert(
    fc.property(
      fc.nat(100),
      fc.array(fc.record({ push: fc.nat(90), forget: fc.double({ min: 0, max: 1, noNaN: true }) }), {
        maxLength: 20,
      }),
      (firstFrame, actions) => {
        const pool = new RowPool(BLOCK_FRAMES * WIDTH);
        const rows = new FrameRows(pool, WIDTH, firstFrame);
        let kept = firstFrame;
        let end = firstFrame;
        for (const { push, forget } of actions) {
          for (let count = 0; count < push; count++) rows.push(Float32Array.from(rowOf(end++)));
          kept += Math.floor(forget * (end - kept));
          rows.discardBefore(kept);
          assert.equal(rows.endFrame, end);
          const copied = new Float32Array((end - kept) * WIDTH);
          rows.copy(kept, end, copied);
          const expected = Array.from({ length: end - kept }, (_, index) => rowOf(kept + index)).flat();
          assert.deepEqual([...copied], expected);
        }
      },
    ),
  );
});

test("released blocks are reused", () => {
  const pool = new RowPool(BLOCK_FRAMES * WIDTH);
  const first = new FrameRows(pool, WIDTH, 0);
  const row = new Float32Array(WIDTH);
  for (let frame = 0; frame < 40 * BLOCK_FRAMES; frame++) {
    first.push(row);
    first.discardBefore(frame);
  }
  first.release();
  const seen = new Set(Array.from({ length: 32 }, () => pool.acquire().buffer));
  assert.equal(seen.size, 1, "forty blocks went through the first slab");
});

test("a discarded frame cannot be copied", () => {
  const rows = new FrameRows(new RowPool(BLOCK_FRAMES * WIDTH), WIDTH, 0);
  for (let frame = 0; frame < 3 * BLOCK_FRAMES; frame++) rows.push(new Float32Array(WIDTH));
  rows.discardBefore(2 * BLOCK_FRAMES);
  assert.throws(() => rows.copy(0, 1, new Float32Array(WIDTH)), /frame 0 is no longer held/);
});

test("an acquired state contains zeros, regardless of its last use", () => {
  const pool = new StatePool({ stateSize: 4, stateBytes: 2 });
  const state = pool.acquire();
  state.values.fill(7);
  state.bytes.fill(7);
  pool.release(state);
  const again = pool.acquire();
  assert.equal(again, state);
  assert.deepEqual([...again.values, ...again.bytes], [0, 0, 0, 0, 0, 0]);
});
