import assert from "node:assert/strict";
import { test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { USUAL_ROWS } from "../../../core/domain/placement/batch-rows.js";
import { BatchShapes, batchRows } from "../../../native/live/batch-shapes.js";
import { CHUNK_FRAMES, StepGroup, stepCapacity } from "../../../native/live/step-groups.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import type { StepBatch } from "../../../native/models/recognizer.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

/** Returns the smallest batch for `count` sessions. */
function batchFor(count: number, sizes: readonly number[]): number {
  return sizes.find((size) => size >= count)!;
}

test("batches on a core have few rows without a session", () => {
  const sizes = batchRows(64, false);
  assert.equal(sizes.at(-1), 64);
  for (let count = 1; count <= 64; count++) {
    const padding = batchFor(count, sizes) - count;
    assert.ok(count <= 16 ? padding === 0 : padding <= batchFor(count, sizes) / 10, `${count} sessions`);
  }
});

test("providers that prepare kernels for each shape get few shapes", () => {
  const sizes = batchRows(256, true);
  assert.ok(sizes.length <= 16);
  assert.deepEqual([sizes[0], sizes.at(-1)], [1, 256]);
});

/** Makes batches without buffers. */
const UNBUFFERED = {
  stepBatches: () => (rows: number, frames: number) =>
    ({
      ...{ rows, frames, pcm: new Float32Array(rows), encoded: new Float32Array(rows * frames) },
      state: { values: new Float32Array(rows), bytes: new Uint8Array(rows) },
    }) as StepBatch,
};

test("every batch of sessions with a backlog fits into the buffers, whatever their number", () => {
  for (const isPrepared of [false, true]) {
    for (let most = 1; most <= 256; most++) {
      const capacity = stepCapacity(most);
      const shapes = new BatchShapes(UNBUFFERED, capacity, batchRows(most, isPrepared));
      for (const frames of CHUNK_FRAMES) {
        const { maxRows } = new StepGroup(frames, capacity);
        for (let count = 1; count <= maxRows; count++) {
          const { rows } = shapes.forRows(count, frames);
          const where = `${count} of ${most} sessions with ${frames} frames`;
          assert.ok(rows >= count && rows <= most && rows * frames <= capacity.frames, where);
        }
        assert.throws(() => shapes.forRows(Math.floor(capacity.frames / frames) + 1, frames), RangeError);
      }
    }
  }
});

test("any number of sessions can have the same backlog", async () => {
  const { model, utterances } = await recognizerIn(RECOGNIZER_FOLDER);
  try {
    const stepper = new LiveStepper({ model, utterances, post: () => {}, onStep: () => {} });
    const rings: PcmRing[] = [];
    for (let sessions = 1; sessions <= USUAL_ROWS.liveRows; sessions++) {
      const ring = PcmRing.create(2 ** 17);
      stepper.onMessage(liveOpen(sessions, ring.buffer));
      rings.push(ring);
      const chunk = new Int16Array(CHUNK_FRAMES[2] * model.manifest.frameSamples);
      for (const each of rings) each.write(chunk);
      while (await stepper.step());
    }
  } finally {
    await model.release();
  }
});
