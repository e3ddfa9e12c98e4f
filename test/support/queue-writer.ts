import { parentPort, workerData } from "node:worker_threads";
import { PcmQueue } from "../../native/ring/pcm-queue.js";
import { sampleAt } from "./pcm-signal.js";

/** The data of the thread that fills a queue. */
export interface QueueWriterData {
  readonly queue: SharedArrayBuffer;
  readonly sampleCount: number;
}

const LONGEST_PART_SAMPLES = 3_001;

/**
 * Writes the signal whenever there is room, and posts the length of each part. Each message from the reader
 * means that there may be room again.
 */
function fill({ queue: buffer, sampleCount }: QueueWriterData): void {
  const port = parentPort!;
  const queue = PcmQueue.attach(buffer);
  let written = 0;
  const goOn = () => {
    while (written < sampleCount) {
      const length = Math.min(1 + (written % LONGEST_PART_SAMPLES), sampleCount - written);
      const start = written;
      if (!queue.write(Int16Array.from({ length }, (_, index) => sampleAt(start + index)))) return;
      written += length;
      port.postMessage(length);
    }
    port.close();
  };
  port.on("message", goOn);
  goOn();
}

fill(workerData as QueueWriterData);
