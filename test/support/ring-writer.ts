import { workerData } from "node:worker_threads";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { sampleAt } from "./pcm-signal.js";

/** The data of the thread that fills a ring. */
export interface RingWriterData {
  readonly ring: SharedArrayBuffer;
  readonly sampleCount: number;
}

const CHUNK_SAMPLES = 3_001;

/** Writes the signal whenever there is room, and sleeps a little when the ring is full. */
function fill({ ring: buffer, sampleCount }: RingWriterData): void {
  const ring = PcmRing.attach(buffer);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let written = 0; written < sampleCount; ) {
    const length = Math.min(CHUNK_SAMPLES, sampleCount - written);
    const taken = ring.write(Int16Array.from({ length }, (_, index) => sampleAt(written + index)));
    if (taken < length) Atomics.wait(pause, 0, 0, 1);
    written += taken;
  }
}

fill(workerData as RingWriterData);
