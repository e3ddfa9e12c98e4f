import assert from "node:assert/strict";
import { test } from "node:test";
import type { SynthesisWorkerAnswer } from "../../actors/synthesis/engine.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { PcmQueue } from "../../native/ring/pcm-queue.js";
import { startSynthesisWorker } from "../../native/start-workers.js";
import type { ToSynthesisWorker } from "../../native/threads/protocol.js";
import { settled } from "../support/deferred.js";
import { SYNTHESIZER, synthesisEngine } from "../support/engines.js";
import { FakeChild } from "../support/fake-child.js";
import { FaultOrders } from "../support/faulty/orders.js";

const JOB: SynthesisJob = {
  modelId: "svc-kk-v1",
  voice: "aigul",
  spokenText: "қайырлы күн.",
  speed: 1,
  nfe: 4,
  seed: 1,
};
const orders = new FaultOrders();
const NEVER = new AbortController().signal;

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("pieces whose worker dies are synthesized again, equal to undisturbed ones", async () => {
  const engine = await synthesisEngine();
  await engine.start();
  const undisturbed = await engine.speak(JOB, NEVER);
  const disturbed = engine.speak(JOB, NEVER);
  const company = [2, 3, 4].map((seed) => engine.speak({ ...JOB, seed }, NEVER));
  orders.failAll("synthesis");
  assert.deepEqual(await disturbed, undisturbed);
  for (const piece of await Promise.all(company)) assert.ok(piece.pcm.length > 0);
  assert.equal(engine.jobCount, 0);
  await engine.stop();
});

test("a worker that received a message while idle still ends on request", async () => {
  let ended: Promise<Error | null> | null = null;
  const engine = await synthesisEngine({
    startWorker: async (shared, onMessage) => {
      const worker = await startSynthesisWorker(SYNTHESIZER, shared, onMessage);
      ended = worker.ended;
      return worker;
    },
  });
  await engine.start();
  orders.failAll("synthesis");
  await engine.stop();
  assert.equal(await Promise.race([ended, settled().then(() => "it goes on")]), null);
});

/** A fake worker whose messages the test sends. */
class ScriptedWorker extends FakeChild {
  readonly posted: ToSynthesisWorker[] = [];
  readonly queue: PcmQueue;
  readonly say: (answer: SynthesisWorkerAnswer) => void;

  constructor(pcm: SharedArrayBuffer, say: (answer: SynthesisWorkerAnswer) => void) {
    super();
    this.queue = PcmQueue.attach(pcm);
    this.say = say;
  }

  post(message: ToSynthesisWorker): void {
    this.posted.push(message);
  }
}

/** A started engine over fake workers, and the workers in order of their start. */
async function scriptedEngine() {
  const workers: ScriptedWorker[] = [];
  const scripted = await synthesisEngine({
    startWorker: async ({ pcm }, onMessage) => {
      const worker = new ScriptedWorker(pcm, onMessage);
      workers.push(worker);
      return worker;
    },
  });
  await scripted.start();
  return { scripted, workers };
}

test("a piece cancelled while its worker dies is cancelled", async () => {
  const { scripted, workers } = await scriptedEngine();
  const abort = new AbortController();
  const cancelled = scripted.speak(JOB, abort.signal);
  abort.abort();
  workers[0]!.fail(new Error("heap"));
  await assert.rejects(cancelled, hasCode("CANCELLED"));
  assert.equal(scripted.jobCount, 0);
  await scripted.stop();
});

/** The IDs of the jobs in the messages that a worker received. */
function jobsOf(worker: ScriptedWorker | undefined): number[] {
  return (worker?.posted ?? []).flatMap((message) => (message.type === "speak" ? [message.jobId] : []));
}

test("a piece whose worker dies twice fails without affecting others in its batch", async () => {
  const { scripted, workers } = await scriptedEngine();
  const lost = assert.rejects(scripted.speak(JOB, NEVER), hasCode("WORKER_LOST"));
  const company = [scripted.speak(JOB, NEVER), scripted.speak(JOB, NEVER)];
  assert.deepEqual(jobsOf(workers[0]), [0, 1, 2]);
  for (const attempt of [0, 1]) {
    workers[attempt]!.fail(new Error("heap"));
    await settled();
  }
  await lost;
  assert.deepEqual(jobsOf(workers[1]), [0], "the second time each is synthesized alone");
  assert.deepEqual(jobsOf(workers[2]), [1]);
  const newcomer = scripted.speak(JOB, NEVER, { urgency: { kind: "first" } });
  assert.deepEqual(jobsOf(workers[2]), [1], "whoever comes now waits for room");
  workers[2]!.say({ type: "spoken", jobId: 1, characterBounds: null });
  for (const jobId of [3, 2]) {
    assert.equal(jobsOf(workers[2]).at(-1), jobId);
    workers[2]!.say({ type: "spoken", jobId, characterBounds: null });
  }
  for (const piece of [...company, newcomer]) assert.equal((await piece).pcm.length, 0);
  assert.equal(scripted.jobCount, 0);
  await scripted.stop();
});

test("a listener gets each sample once if the worker dies midway", async () => {
  const { scripted, workers } = await scriptedEngine();
  const heard: number[] = [];
  const piece = scripted.speak(JOB, NEVER, { onPcm: (pcm) => heard.push(...pcm) });
  const say = (worker: ScriptedWorker, ...samples: number[]) => {
    worker.queue.write(Int16Array.from(samples));
    worker.say({ type: "pcm", jobId: 0, sampleCount: samples.length });
  };
  say(workers[0]!, 1, 2, 3);
  workers[0]!.fail(new Error("heap"));
  await settled();
  for (const part of [[1, 2], [3, 4], [5]]) say(workers[1]!, ...part);
  workers[1]!.say({ type: "spoken", jobId: 0, characterBounds: null });
  assert.deepEqual([...(await piece).pcm], [1, 2, 3, 4, 5]);
  assert.deepEqual(heard, [1, 2, 3, 4, 5]);
  await scripted.stop();
});

test("a dead worker's last output does not leak into the repeated piece", async () => {
  const { scripted, workers } = await scriptedEngine();
  const piece = scripted.speak(JOB, NEVER);
  const [first] = workers;
  first!.queue.write(Int16Array.of(7, 7, 7));
  first!.fail(new Error("heap"));
  await settled();
  // A worker's error may overtake a message that is still in flight between threads.
  first!.say({ type: "pcm", jobId: 0, sampleCount: 3 });
  const second = workers[1]!;
  assert.equal(second.posted.length, 1);
  second.queue.write(Int16Array.of(1, 2, 3, 4));
  second.say({ type: "pcm", jobId: 0, sampleCount: 4 });
  first!.say({ type: "spoken", jobId: 0, characterBounds: null });
  second.say({ type: "spoken", jobId: 0, characterBounds: null });
  assert.deepEqual([...(await piece).pcm], [1, 2, 3, 4]);
  await scripted.stop();
});

test("workers that do not restart leave no piece waiting", async () => {
  let starts = 0;
  const lost = await synthesisEngine({
    startWorker: async ({ pcm }, onMessage) => {
      if (starts++ > 0) throw new ServiceError("MODEL_BROKEN", "the file was replaced");
      const worker = new ScriptedWorker(pcm, onMessage);
      setImmediate(() => worker.fail(new Error("heap")));
      return worker;
    },
  });
  await lost.start();
  const pieces = [lost.speak(JOB, NEVER), lost.speak(JOB, NEVER)];
  await Promise.all(pieces.map((piece) => assert.rejects(piece, hasCode("WORKER_LOST"))));
  await assert.rejects(lost.speak(JOB, NEVER), hasCode("ENGINE_BUSY"));
  assert.equal(lost.jobCount, 0);
  await lost.stop();
});

test("stop settles running and waiting pieces, even if the worker dies meanwhile", async () => {
  const { scripted, workers } = await scriptedEngine();
  const running = assert.rejects(scripted.speak(JOB, NEVER), hasCode("SHUTTING_DOWN"));
  const waiting = assert.rejects(scripted.speak(JOB, NEVER), hasCode("SHUTTING_DOWN"));
  const stopping = scripted.stop();
  workers[0]!.fail(new Error("on the way out"));
  await Promise.all([running, waiting, stopping]);
  assert.equal(scripted.jobCount, 0);
});

test("a piece requested after the stop is rejected", async () => {
  const { scripted } = await scriptedEngine();
  await scripted.stop();
  await assert.rejects(scripted.speak(JOB, NEVER), hasCode("SHUTTING_DOWN"));
  assert.equal(scripted.jobCount, 0);
});
