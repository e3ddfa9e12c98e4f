import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { PcmQueue } from "../../../native/ring/pcm-queue.js";
import { sampleAt } from "../../support/pcm-signal.js";
import * as fc from "../../support/properties.js";
import type { QueueWriterData } from "../../support/queue-writer.js";

const anyAction = fc.oneof(
  fc.record({
    type: fc.constant("write" as const),
    samples: fc.array(fc.integer({ min: -32_768, max: 32_767 }), { maxLength: 40 }),
  }),
  fc.record({ type: fc.constant("read" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
);

test("a PCM queue behaves like a plain array, wherever it wraps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 40, max: 100 }),
      fc.array(anyAction, { maxLength: 80 }),
      (capacitySamples, actions) => {
        const writer = PcmQueue.create(capacitySamples);
        const reader = PcmQueue.attach(writer.buffer);
        assert.equal(reader.capacitySamples, capacitySamples);
        const waiting: number[] = [];
        for (const action of actions) {
          if (action.type === "write") {
            const fits = waiting.length + action.samples.length <= capacitySamples;
            assert.equal(writer.write(Int16Array.from(action.samples)), fits);
            if (fits) waiting.push(...action.samples);
          } else {
            const count = Math.floor(action.share * waiting.length);
            assert.deepEqual([...reader.read(count)], waiting.splice(0, count));
          }
        }
        assert.deepEqual([...reader.read(waiting.length)], waiting);
      },
    ),
    { numRuns: 300 },
  );
});

test("a part is written as a whole or, if it can never fit, rejected", () => {
  const queue = PcmQueue.create(4);
  assert.equal(queue.write(Int16Array.of(1, 2, 3)), true);
  assert.equal(queue.write(Int16Array.of(4, 5)), false);
  assert.equal(queue.write(Int16Array.of(4)), true);
  assert.throws(() => queue.write(new Int16Array(5)), /capacity is 4 samples, received 5/);
  assert.deepEqual([...queue.read(4)], [1, 2, 3, 4]);
});

test("samples that were never written cannot be read", () => {
  const queue = PcmQueue.create(4);
  queue.write(Int16Array.of(1));
  assert.throws(() => queue.read(2), /1 of 2 samples/);
  assert.throws(() => queue.read(1), /0 of 1 samples/);
});

test("a capacity below one sample is rejected", () => {
  for (const capacity of [0, -1, 2.5, Number.NaN]) {
    assert.throws(() => PcmQueue.create(capacity), /capacity must be a positive integer, received/);
  }
});

test("a million samples pass between two threads in order, without loss", async () => {
  const sampleCount = 1_000_000;
  const queue = PcmQueue.create(5_000);
  const data: QueueWriterData = { queue: queue.buffer, sampleCount };
  const writer = new Worker(new URL("../../support/queue-writer.js", import.meta.url), { workerData: data });
  const exited = once(writer, "exit");
  let readSamples = 0;
  writer.on("message", (count: number) => {
    const wrong = queue.read(count).findIndex((sample, index) => sample !== sampleAt(readSamples + index));
    assert.equal(wrong, -1, `sample ${readSamples + wrong}`);
    readSamples += count;
    writer.postMessage("room");
  });
  assert.deepEqual(await exited, [0]);
  assert.equal(readSamples, sampleCount);
});
