import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { RecordRing } from "../../../native/ring/record-ring.js";
import * as fc from "../../support/properties.js";

type Action = { readonly type: "write"; readonly bytes: Uint8Array } | { readonly type: "drain" };

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("write" as const), bytes: fc.uint8Array({ maxLength: 100 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("drain" as const) }) },
);

/** A ring whose counts start at `position` instead of 0, so that a test can reach the 32-bit wraparound. */
function ringAt(position: number): RecordRing {
  const ring = RecordRing.create(256);
  new Int32Array(ring.buffer, 0, 2).fill(position | 0);
  return ring;
}

test("a record ring behaves like a bounded queue", () => {
  const positions = fc.constantFrom(0, 16, 240, 2 ** 32 - 256, 2 ** 32 - 16, 2 ** 31 - 16);
  fc.assert(
    fc.property(positions, fc.array(anyAction, { maxLength: 80 }), (position, actions) => {
      const ring = ringAt(position);
      const queue: [number, number, Uint8Array][] = [];
      let count = 0;
      for (const action of actions) {
        if (action.type === "write") {
          const record: [number, number, Uint8Array] = [count % 5, count * 7 - 9, action.bytes];
          // An empty ring always accepts a record.
          const isWritten = ring.write(...record);
          assert.ok(isWritten || queue.length > 0, "an empty ring takes every record");
          if (isWritten) queue.push(record);
          count++;
        } else {
          ring.drain((kind, channel, bytes) => {
            assert.deepEqual([kind, channel, new Uint8Array(bytes)], queue.shift());
          });
          assert.equal(queue.length, 0);
        }
      }
    }),
  );
});

test("a visitor that throws loses only its own record", () => {
  const ring = RecordRing.create(256);
  for (let kind = 0; kind < 3; kind++) assert.ok(ring.write(kind, 0, new Uint8Array(1)));
  const seen: number[] = [];
  const visit = (kind: number) => {
    seen.push(kind);
    if (kind === 0) throw new Error("no");
  };
  assert.throws(() => ring.drain(visit), /no/);
  ring.drain(visit);
  assert.deepEqual(seen, [0, 1, 2]);
});

test("the reader needs one wake-up between two drains", () => {
  const ring = RecordRing.create(256);
  assert.deepEqual([ring.needsBell(), ring.needsBell()], [true, false]);
  ring.drain(() => {});
  assert.equal(ring.needsBell(), true);
});

test("a record larger than half of the ring throws, as does an odd capacity", () => {
  assert.throws(() => RecordRing.create(256).write(0, 0, new Uint8Array(113)), /takes 144 bytes of 256/);
  assert.throws(() => RecordRing.create(100), /power of two, received 100/);
});

test("records pass between two threads once and in order, although the writer must wait", async () => {
  const ring = RecordRing.create(4_096);
  const count = 20_000;
  const worker = new Worker(new URL("../../support/record-writer.js", import.meta.url), {
    workerData: { buffer: ring.buffer, count },
  });
  const ended = once(worker, "exit");
  let next = 0;
  const drain = () =>
    ring.drain((kind, channel, bytes) => {
      assert.deepEqual([kind, channel, bytes.length], [next % 7, next, next % 300]);
      assert.ok(bytes.every((byte) => byte === next % 256));
      next++;
    });
  worker.on("message", drain);
  await ended;
  drain();
  assert.equal(next, count);
});
