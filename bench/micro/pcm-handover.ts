import assert from "node:assert/strict";
import { Bench } from "tinybench";
import { PcmQueue } from "../../native/ring/pcm-queue.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult, taskFigures } from "../save-result.js";

const RATE_HZ = 24_000;
/** Capacity of the synthesis engine's queue. */
const CAPACITY_SAMPLES = 2 ** 21;
/** Samples of a vocoder window of 256 frames. */
const PART_SAMPLES = 256 * 256;

/**
 * Passes a vocoder window's samples from writer to reader: the plain queue of ringbuf.js compared with the
 * ring that can replay.
 */
export async function run(options: BenchOptions): Promise<void> {
  const part = Int16Array.from({ length: PART_SAMPLES }, (_, index) => (index * 7_919) % 32_768);
  const queue = PcmQueue.create(CAPACITY_SAMPLES);
  const ring = PcmRing.create(CAPACITY_SAMPLES);
  const throughQueue = () => {
    queue.write(part);
    return queue.read(part.length);
  };
  const throughRing = () => {
    ring.write(part);
    const samples = new Int16Array(part.length);
    ring.copyOut(ring.released, samples);
    ring.release(ring.released + part.length);
    return samples;
  };
  assert.deepEqual(throughQueue(), part);
  assert.deepEqual(throughRing(), part);
  const bench = new Bench({ time: options.smoke ? 20 : 2_000, retainSamples: true });
  bench.add("queue", () => void throughQueue()).add("ring", () => void throughRing());
  await bench.run();
  const figures = taskFigures(bench);
  const [queueMs = 0, ringMs = 0] = figures.map(({ p50Ms }) => p50Ms);
  const audioMs = (PART_SAMPLES / RATE_HZ) * 1_000;
  const ratio = queueMs / ringMs;
  console.log(`pcm-handover: ${(queueMs * 1_000).toFixed(0)} µs for ${audioMs.toFixed(0)} ms of audio`);
  console.log(`pcm-handover: ${ratio.toFixed(2)} of the time through the live ring`);
  if (options.smoke) return;
  await saveResult("pcm-handover", { parameters: { partSamples: PART_SAMPLES }, ratio, figures });
}
