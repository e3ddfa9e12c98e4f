import { setTimeout as delay } from "node:timers/promises";
import { parentPort, threadId, workerData } from "node:worker_threads";
import type { SynthesizerManifest } from "../models/manifest.js";
import { PcmQueue } from "../ring/pcm-queue.js";

import { NICENESS, takeNiceness } from "../threads/niceness.js";
import {
  type FromSynthesisWorker,
  failureOf,
  PROTOCOL_VERSION,
  type ToSynthesisWorker,
  type WorkerData,
} from "../threads/protocol.js";
import { endAfterMicrotasks } from "../threads/uncaught-errors.js";
import { loadSpeaker, type PieceSpeaker } from "./load-speaker.js";

/** Poll interval while the queue is full; the engine empties it at each message. */
const ROOM_POLL_MS = 2;

const port = parentPort!;
const data = workerData as WorkerData<SynthesizerManifest>;
const queue = PcmQueue.attach(data.pcm!);

/** Null until the model is loaded. */
let speaker: PieceSpeaker | null = null;

function post(message: FromSynthesisWorker): void {
  port.postMessage(message);
}

async function start(): Promise<void> {
  const startedAtMs = performance.now();
  speaker = await loadSpeaker(data.model, {
    intraOpThreads: data.intraOpThreads,
    placement: { ...data.placement, thread: threadId },
    runTimes: data.runTimes,
    rows: data.rows,
    cells: new Int32Array(data.cells),
    sink: {
      begun: (jobId, characterBounds) => post({ type: "begun", jobId, characterBounds }),
      pcm: sendPcm,
      spoken: (jobId, characterBounds) => post({ type: "spoken", jobId, characterBounds }),
      gaveUp: (jobId, { code, message }) => post({ type: "gave-up", jobId, code, message }),
      lost: ({ message, provider, kind }) => {
        post({ type: "lost", message, provider: { provider, kind } });
        void end();
      },
    },
  });
  post({ type: "ready", protocolVersion: PROTOCOL_VERSION, warmupMs: performance.now() - startedAtMs });
}

/**
 * Releases graphs off the CPU first, because the thread's end would release them during runs of other
 * threads.
 */
async function end(): Promise<void> {
  if (data.placement.provider !== "cpu") await speaker?.release().catch(() => {});
  port.close();
}

async function sendPcm(jobId: number, samples: Int16Array): Promise<void> {
  while (!queue.write(samples)) await delay(ROOM_POLL_MS);
  post({ type: "pcm", jobId, sampleCount: samples.length });
}

port.on("message", (message: ToSynthesisWorker) => {
  switch (message.type) {
    case "speak": {
      const { jobId, job, dueInMs, playsInMs } = message;
      const nowMs = performance.now();
      const playsFromMs = playsInMs === null ? null : nowMs + playsInMs;
      speaker?.speak({ jobId, job, dueAtMs: nowMs + dueInMs, playsFromMs });
      return;
    }
    case "cancel":
      speaker?.cancel(message.jobId);
      return;
    case "stop":
      void Promise.resolve(speaker?.idle()).then(end);
  }
});

endAfterMicrotasks();
takeNiceness(NICENESS.synthesis);
start().catch((error: unknown) => {
  post({ type: "failed", ...failureOf(error) });
  port.close();
});
