import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, threadId, workerData } from "node:worker_threads";
import { preparesShapes } from "../../core/domain/placement/provider.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import type { RecognizerManifest } from "../models/manifest.js";
import type { RecognizerModel } from "../models/recognizer.js";
import { loadRecognizer } from "../recognition/load-recognizer.js";

import { NICENESS, takeNiceness } from "../threads/niceness.js";
import { PaceMeter } from "../threads/pace-meter.js";
import {
  type FromLiveWorker,
  failureOf,
  LIVE_CELL,
  type LiveWorkerAnswer,
  PROTOCOL_VERSION,
  type ToLiveWorker,
  type WorkerData,
} from "../threads/protocol.js";
import { endAfterMicrotasks } from "../threads/uncaught-errors.js";
import { LiveStepper } from "./stepper.js";

/**
 * Minimum interval between two rounds of sessions that keep up. Without it, a lightly loaded worker would run
 * batches of one or two rows, at several times the cost per row.
 */
const ROUND_MS = 10;
/** From this number of sessions on, rounds are longer: 15 to 20 % less CPU time, partials 5 ms later. */
const BUSY_SESSIONS = 16;
const BUSY_ROUND_MS = 20;
/**
 * Minimum interval if audio is expected sooner that may end an utterance: a final should not wait for other
 * sessions.
 */
const SHORTEST_ROUND_MS = 4;

const port = parentPort!;
const data = workerData as WorkerData<RecognizerManifest>;
const cells = new Int32Array(data.cells);
const isOnDevice = data.placement.provider !== "cpu";
let isStopping = false;

/** Answers to post at the end of this microtask queue. */
let answers: LiveWorkerAnswer[] = [];

function post(message: FromLiveWorker): void {
  port.postMessage(message);
}

/** Collects answers: all that arise before the next wait are posted as one message. */
function postLater(answer: LiveWorkerAnswer): void {
  if (answers.length === 0) queueMicrotask(postAnswers);
  answers.push(answer);
}

function postAnswers(): void {
  post({ type: "answers", answers });
  answers = [];
}

/** Wakes the worker: a message may bring new work, as audio does. */
function ring(): void {
  Atomics.add(cells, LIVE_CELL.bell, 1);
  Atomics.notify(cells, LIVE_CELL.bell);
}

interface Started {
  readonly model: RecognizerModel;
  readonly stepper: LiveStepper;
  readonly pace: PaceMeter;
}

async function start(): Promise<Started> {
  const startedAtMs = performance.now();
  const { model, utterances } = await loadRecognizer({
    ...data,
    placement: { ...data.placement, thread: threadId },
  });
  const pace = new PaceMeter(() => model.runMs, post);
  const isPrepared = preparesShapes(data.placement.provider);
  const stepper = new LiveStepper({
    ...{ model, utterances, rows: data.rows, preparesShapes: isPrepared, post: postLater },
    onStep: (stepMs) => pace.step(stepMs),
  });
  await stepper.warmUp(isPrepared ? "every shape" : "usual shapes");
  post({ type: "ready", protocolVersion: PROTOCOL_VERSION, warmupMs: performance.now() - startedAtMs });
  return { model, stepper, pace };
}

/** Returns when the round after the one of `startedAtMs` should start. */
function nextRoundMs(stepper: LiveStepper, startedAtMs: number): number {
  if (stepper.isBehind) return startedAtMs;
  const roundMs = stepper.sessionCount < BUSY_SESSIONS ? ROUND_MS : BUSY_ROUND_MS;
  const endingMs = Math.max(startedAtMs + SHORTEST_ROUND_MS, stepper.nextEndingMs(performance.now()));
  return Math.min(startedAtMs + roundMs, endingMs);
}

/** Runs rounds while there is work, else sleeps on the bell. */
async function serve({ stepper, pace }: Started): Promise<void> {
  while (!isStopping) {
    const rung = Atomics.load(cells, LIVE_CELL.bell);
    const startedAtMs = performance.now();
    pace.wake();
    const hasWorked = await stepper.step();
    if (hasWorked) {
      const leftMs = nextRoundMs(stepper, startedAtMs) - performance.now();
      if (leftMs >= 1) pace.sleep();
      await (leftMs >= 1 ? sleep(leftMs) : new Promise((resolve) => setImmediate(resolve)));
      continue;
    }
    pace.sleep();
    await Atomics.waitAsync(cells, LIVE_CELL.bell, rung, stepper.waitMs).value;
  }
}

/**
 * Serves until the thread is asked to stop or the provider fails. Graphs off the CPU are released before the
 * thread ends: its end would release them concurrently with runs of other threads.
 */
async function serveToTheEnd(started: Started): Promise<void> {
  try {
    await serve(started);
  } catch (error) {
    // Any other error ends the thread; its owner replays the sessions on another.
    if (!(error instanceof ProviderError)) throw error;
    const { message, provider, kind } = error;
    post({ type: "lost", message, provider: { provider, kind } });
  }
  if (isOnDevice) await started.model.release().catch(() => {});
  port.close();
}

endAfterMicrotasks();
takeNiceness(NICENESS.live);

/** Messages that arrived before the models were loaded. */
const early: Exclude<ToLiveWorker, { type: "stop" }>[] = [];
let deliver = (message: Exclude<ToLiveWorker, { type: "stop" }>): void => {
  early.push(message);
};

port.on("message", (message: ToLiveWorker) => {
  if (message.type === "stop") isStopping = true;
  else deliver(message);
  ring();
});

start().then(
  (started) => {
    deliver = (message) => started.stepper.onMessage(message);
    for (const message of early.splice(0)) deliver(message);
    return serveToTheEnd(started);
  },
  (error: unknown) => {
    post({ type: "failed", ...failureOf(error) });
    port.close();
  },
);
