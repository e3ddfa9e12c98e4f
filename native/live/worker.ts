import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, threadId, workerData } from "node:worker_threads";
import { preparesShapes } from "../../core/domain/placement/provider.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import type { RecognizerManifest } from "../models/manifest.js";
import type { RecognizerModel } from "../models/recognizer.js";
import { loadRecognizer } from "../recognition/load-recognizer.js";
import { failureOf } from "../threads/failures.js";
import { NICENESS, takeNiceness } from "../threads/niceness.js";
import { PaceMeter } from "../threads/pace-meter.js";
import {
  type FromLiveWorker,
  LIVE_CELL,
  type LiveWorkerAnswer,
  PROTOCOL_VERSION,
  type ToLiveWorker,
  type WorkerData,
} from "../threads/protocol.js";
import { LiveStepper } from "./stepper.js";

/**
 * Rounds of sessions that keep up begin at least so far apart. Without it a worker that is not busy runs batches of one or two
 * rows all the time, which cost several times as much a row.
 */
const ROUND_MS = 10;
/** With so many sessions twice as far: half as many batches take a tenth less of the processor, and finals come 5 ms later. */
const BUSY_SESSIONS = 16;
const BUSY_ROUND_MS = 20;

const port = parentPort!;
const data = workerData as WorkerData<RecognizerManifest>;
const cells = new Int32Array(data.cells);
const isOnDevice = data.placement.provider !== "cpu";
let isStopping = false;

/** Answers of this turn that are not posted yet. */
let answers: LiveWorkerAnswer[] = [];

function post(message: FromLiveWorker): void {
  port.postMessage(message);
}

/** All that is said before the worker waits for anything again leaves as one message. */
function say(answer: LiveWorkerAnswer): void {
  if (answers.length === 0) queueMicrotask(postAnswers);
  answers.push(answer);
}

function postAnswers(): void {
  post({ type: "answers", answers });
  answers = [];
}

/** A message may change what there is to do, so it rings like audio does. */
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
  const stepper = new LiveStepper({
    ...{ model, utterances, rows: data.rows, post: say },
    onStep: (stepMs) => pace.step(stepMs),
  });
  await stepper.warmUp(preparesShapes(data.placement.provider) ? "every shape" : "usual shapes");
  post({ type: "ready", protocolVersion: PROTOCOL_VERSION, warmupMs: performance.now() - startedAtMs });
  return { model, stepper, pace };
}

function roundMs({ sessionCount }: LiveStepper): number {
  return sessionCount < BUSY_SESSIONS ? ROUND_MS : BUSY_ROUND_MS;
}

/** Keeps its own pace: works while there is audio, sleeps on the bell when there is none. */
async function serve({ stepper, pace }: Started): Promise<void> {
  while (!isStopping) {
    const rung = Atomics.load(cells, LIVE_CELL.bell);
    const startedAtMs = performance.now();
    pace.wake();
    const hasWorked = await stepper.step();
    if (hasWorked) {
      const leftMs = stepper.isBehind ? 0 : roundMs(stepper) - (performance.now() - startedAtMs);
      if (leftMs >= 1) pace.sleep();
      await (leftMs >= 1 ? sleep(leftMs) : new Promise((resolve) => setImmediate(resolve)));
      continue;
    }
    pace.sleep();
    await Atomics.waitAsync(cells, LIVE_CELL.bell, rung, stepper.waitMs).value;
  }
}

/**
 * Serves until it is told to stop, or what the graphs run on is lost. Graphs that are not on the CPU end before their thread
 * does: its end would release them beside runs of other threads.
 */
async function serveToTheEnd(started: Started): Promise<void> {
  try {
    await serve(started);
  } catch (error) {
    // Nobody else's is caught: the thread ends with it and its owner replays the sessions on another.
    if (!(error instanceof ProviderError)) throw error;
    const { message, provider, kind } = error;
    post({ type: "lost", message, provider: { provider, kind } });
  }
  if (isOnDevice) await started.model.release().catch(() => {});
  port.close();
}

takeNiceness(NICENESS.live);

/** Messages that came before the models were loaded wait here. */
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
