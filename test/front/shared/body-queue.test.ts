import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import { BodyQueue } from "../../../src/front/shared/body-queue.js";
import { TokenBucket } from "../../../src/front/shared/rate-limits.js";

const BLOCK_BYTES = 64 * 1024;
const STALL_MS = 30_000;

/** A source that records its calls. */
class Source {
  readonly told: string[] = [];

  pause(): void {
    this.told.push("pause");
  }

  resume(): void {
    this.told.push("resume");
  }
}

/** Pushes a body so slowly that it obeys the rule about small chunks. */
function pushOneByOne(queue: BodyQueue, count: number, from = 0): void {
  for (let i = 0; i < count; i++) queue.push(Uint8Array.of((from + i) & 255), true);
}

async function read(queue: BodyQueue): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of queue) chunks.push(Buffer.from(chunk));
  return chunks;
}

test("chunks of one byte wait in a few blocks, whose memory counts towards the limit", () => {
  const source = new Source();
  const queue = new BodyQueue(source, STALL_MS);
  pushOneByOne(queue, 2_000);
  assert.equal(queue.blockCount, 1);
  assert.ok(queue.queuedBytes <= BLOCK_BYTES / 2, `${queue.queuedBytes} bytes for 2,000`);
  assert.deepEqual(source.told, []);
});

test("a million bytes in any chunking arrive unchanged, in blocks", async () => {
  const clock = mock.method(performance, "now", () => clockMs);
  let clockMs = 0;
  const sent = Buffer.from(Uint8Array.from({ length: 1_000_000 }, (_, i) => (i * 7) & 255));
  for (const sizes of [[1], [1, 40_000, 3], [200, 65_536], [255, 256, 257]]) {
    const queue = new BodyQueue(new Source(), STALL_MS);
    let blocks = 0;
    const reading = read(queue);
    for (let at = 0, i = 0; at < sent.length; i++) {
      const size = sizes[i % sizes.length]!;
      // The memory is borrowed, so a later change of its content must not matter.
      const lent = new Uint8Array(sent.subarray(at, at + size));
      queue.push(lent, true);
      lent.fill(0);
      at += size;
      clockMs += 0.2;
      blocks = Math.max(blocks, queue.blockCount);
      if (i % 5_000 === 4_999) await new Promise((resolve) => setImmediate(resolve));
    }
    queue.complete();
    const chunks = await reading;
    assert.ok(sent.equals(Buffer.concat(chunks)), `cut into ${sizes}`);
    if (sizes[0] === 1 && sizes.length === 1) assert.ok(chunks.length < 1_000, `${chunks.length} chunks`);
    assert.ok(blocks <= 40, `${blocks} blocks`);
  }
  clock.mock.restore();
});

test("a short body takes little more memory than its length", () => {
  const queue = new BodyQueue(new Source(), STALL_MS);
  queue.push(new Uint8Array(100), true);
  assert.equal(queue.queuedBytes, 100);
  queue.push(new Uint8Array(100), true);
  assert.equal(queue.queuedBytes, 4_096);
});

test("a small chunk does not keep its whole read buffer alive", () => {
  const queue = new BodyQueue(new Source(), STALL_MS);
  const whole = new Uint8Array(65_536);
  queue.push(whole.subarray(0, 300));
  assert.equal(queue.queuedBytes, 300);
});

test("a slow reader pauses the source without losing data", async () => {
  const source = new Source();
  const queue = new BodyQueue(source, STALL_MS);
  for (let i = 0; i < 8; i++) queue.push(new Uint8Array(BLOCK_BYTES).fill(i), true);
  assert.deepEqual(source.told, ["pause"]);
  queue.complete();
  const chunks = await read(queue);
  assert.equal(Buffer.concat(chunks).length, 8 * BLOCK_BYTES);
  assert.deepEqual(source.told, ["pause", "resume"]);
});

test("a failure while the source is paused drops the queue and reaches the reader immediately", async () => {
  const source = new Source();
  const queue = new BodyQueue(source, STALL_MS);
  for (let i = 0; i < 8; i++) queue.push(new Uint8Array(BLOCK_BYTES), true);
  assert.equal(queue.isPaused, true);
  queue.fail("the client left before its request was complete");
  assert.deepEqual([queue.queuedBytes, queue.blockCount], [0, 0]);
  await assert.rejects(read(queue), { code: "CANCELLED" });
  queue.push(new Uint8Array(10), true);
  assert.deepEqual([queue.queuedBytes, queue.blockCount], [0, 0], "what is late is dropped");
  assert.deepEqual(source.told, ["pause"], "an ended request is not resumed");
});

test("a paused source reads periodically, to notice that its client has left", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const source = new Source();
  const queue = new BodyQueue(source, STALL_MS);
  for (let i = 0; i < 4; i++) queue.push(new Uint8Array(BLOCK_BYTES), true);
  t.mock.timers.tick(1_000);
  assert.deepEqual(source.told, ["pause", "resume"]);
  queue.push(new Uint8Array(BLOCK_BYTES), true);
  assert.deepEqual(source.told, ["pause", "resume", "pause"], "a client that is there waits on");
  for (let i = 0; i < 200; i++) {
    t.mock.timers.tick(1_000);
    if (!queue.isPaused) queue.push(new Uint8Array(8 * BLOCK_BYTES), true);
  }
  assert.ok(queue.queuedBytes < 9 * 2 ** 20, `${queue.queuedBytes} bytes`);
});

test("a body of too many small chunks is dropped and rejected with the rule", async () => {
  const source = new Source();
  const queue = new BodyQueue(source, STALL_MS);
  pushOneByOne(queue, 300_000);
  assert.equal(queue.isRefused, true);
  assert.deepEqual([queue.queuedBytes, queue.blockCount], [0, 0]);
  assert.equal(source.told.at(-1), "pause");
  await assert.rejects(read(queue), (thrown: unknown) => {
    assert.ok(thrown instanceof ServiceError);
    assert.equal(thrown.code, "INVALID_REQUEST");
    assert.match(thrown.message, /more than 5000 chunks of less than 256 bytes a second/);
    return true;
  });
});

test("a bucket grants its burst immediately and refills over time", () => {
  let nowMs = 0;
  const bucket = new TokenBucket({ burst: 10, perSecond: 100 }, () => nowMs);
  assert.equal(bucket.take(10), true);
  assert.equal(bucket.take(0.5), false);
  nowMs = 5;
  assert.equal(bucket.take(0.5), true);
  assert.equal(bucket.take(0.5), false);
  nowMs = 60_000;
  assert.equal(bucket.take(10), true, "full again, and not fuller");
  assert.equal(bucket.take(1), false);
});
