import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SynthesisEngine } from "../../../actors/synthesis/engine.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { synthesisEngine } from "../../support/engines.js";
import { eventually } from "../../support/eventually.js";
import { momentOfFault } from "../../support/pace.js";

const JOB: SynthesisJob = {
  modelId: "svc-kk-v1",
  voice: "aigul",
  spokenText: "сәлем, қалың қалай?",
  speed: 1,
  nfe: 4,
  seed: 1,
};
/** Enough steps that a job is still running when it is cancelled. */
const LONG_JOB: SynthesisJob = { ...JOB, nfe: 64 };
const RATE_HZ = 24_000;
const PIECES_PER_WORKER = 32;
const QUEUE_CAPACITY = 256;

let engine: SynthesisEngine;

before(async () => {
  engine = await synthesisEngine();
  await engine.start();
});

after(async () => {
  assert.equal(engine.jobCount, 0, "every job was settled");
  await engine.stop();
});

function speak(job: SynthesisJob, signal = new AbortController().signal): Promise<Int16Array> {
  return engine.speak(job, signal).then(({ pcm }) => pcm);
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

/** Waits long enough for a job to reach the worker, but much less than a long job takes. */
function whileRunning(): Promise<void> {
  return momentOfFault(30);
}

test("a sentence has a length and a loudness like speech", async () => {
  const { pcm, sampleRateHz } = await engine.speak(JOB, new AbortController().signal);
  assert.equal(sampleRateHz, RATE_HZ);
  const seconds = pcm.length / RATE_HZ;
  assert.ok(seconds > 0.4 && seconds < 5, `${seconds} s`);
  const level = Math.sqrt(pcm.reduce((sum, sample) => sum + sample * sample, 0) / pcm.length) / 32_768;
  assert.ok(level > 0.005 && level < 0.5, `level ${level}`);
});

test("the same job gives the same samples; another seed gives different ones", async () => {
  const first = await speak(JOB);
  assert.deepEqual(await speak(JOB), first);
  assert.notDeepEqual(await speak({ ...JOB, seed: 2 }), first);
});

test("jobs that wait do not change each other's samples", async () => {
  const other: SynthesisJob = { ...JOB, spokenText: "қайырлы күн.", voice: "dauren" };
  const alone = [await speak(JOB), await speak(other)];
  const queued = Promise.all([speak(JOB), speak(other)]);
  assert.equal(engine.jobCount, 2);
  assert.deepEqual(await queued, alone);
});

test("the pace changes the duration, the voice changes the sound", async () => {
  const [normal, fast, other] = await Promise.all([
    speak(JOB),
    speak({ ...JOB, speed: 2 }),
    speak({ ...JOB, voice: "dauren" }),
  ]);
  assert.ok(fast.length < 0.75 * normal.length, `${fast.length} instead of ${normal.length} samples`);
  assert.notDeepEqual(other, normal);
});

test("a cancelled job ends within a step, and the worker is free for the next one", async () => {
  const before = engine.modelRuns;
  await speak(JOB);
  const runsOfNext = engine.modelRuns - before;
  const abort = new AbortController();
  const cancelled = assert.rejects(speak(LONG_JOB, abort.signal), hasCode("CANCELLED"));
  await eventually("the model runs", () => engine.modelRuns > before + runsOfNext);
  abort.abort();
  const runsOfCancelled = engine.modelRuns;
  const next = speak(JOB);
  await cancelled;
  assert.ok((await next).length > 0);
  const runs = engine.modelRuns - runsOfCancelled;
  assert.ok(
    runs <= runsOfNext + 1,
    `${runs} runs after the cancel, of which ${runsOfNext} are the next job's`,
  );
  assert.equal(engine.jobCount, 0);
});

test("a job cancelled while it waits never reaches the worker", async () => {
  const [running, waiting] = [new AbortController(), new AbortController()];
  const onWorker = Array.from({ length: PIECES_PER_WORKER }, () =>
    assert.rejects(speak(LONG_JOB, running.signal), hasCode("CANCELLED")),
  );
  const oneMore = assert.rejects(speak(LONG_JOB, waiting.signal), hasCode("CANCELLED"));
  waiting.abort();
  assert.equal(engine.jobCount, PIECES_PER_WORKER);
  await oneMore;
  running.abort();
  await Promise.all(onWorker);
});

test("after a cancellation the model runs at most once", async () => {
  for (const waitMs of [1, 5, 20, 40, 80]) {
    const abort = new AbortController();
    const cancelled = assert.rejects(speak(LONG_JOB, abort.signal), hasCode("CANCELLED"));
    await momentOfFault(waitMs);
    abort.abort();
    // Read this afterwards: on a busy machine, the worker may continue while this thread is suspended before
    // the cancel.
    const runsBefore = engine.modelRuns;
    await cancelled;
    await whileRunning();
    const runs = engine.modelRuns - runsBefore;
    assert.ok(runs <= 1, `${runs} runs were begun after a cancel at ${waitMs} ms`);
  }
});

test("parts that arrive during synthesis add up to the whole piece", async () => {
  const parts: number[] = [];
  let partCount = 0;
  const job = { ...JOB, spokenText: "қазақ тілі түркі тілдерінің қыпшақ тобына жатады." };
  const growing = { ...job, chunking: "growing" } as const;
  const { pcm } = await engine.speak(growing, new AbortController().signal, {
    urgency: { kind: "first" },
    onPcm: (part) => {
      partCount++;
      parts.push(...part);
    },
  });
  assert.deepEqual(parts, [...pcm]);
  assert.ok(partCount > 2, `${partCount} parts`);
  assert.deepEqual(await speak(growing), pcm, "whoever listens, the samples are the same");
  const whole = await speak(job);
  assert.equal(whole.length, pcm.length);
});

test("pieces synthesized together need no more model runs than one after another", async () => {
  const { signal } = new AbortController();
  const jobs = [
    "сәлем",
    "қазақ тілі түркі тілдерінің бірі.",
    "біз көлге барамыз, достар!",
    "жаңбыр жауады",
  ].map((spokenText) => ({ ...JOB, spokenText }));
  const runsOf = async (work: () => Promise<unknown>) => {
    const before = engine.modelRuns;
    await work();
    return engine.modelRuns - before;
  };
  const apart = await runsOf(async () => {
    for (const job of jobs) await engine.speak(job, signal, { urgency: { kind: "first" } });
  });
  const together = await runsOf(() =>
    Promise.all(jobs.map((job) => engine.speak(job, signal, { urgency: { kind: "first" } }))),
  );
  assert.ok(apart >= jobs.length * (JOB.nfe + 2), `${apart} runs`);
  assert.ok(together <= apart, `${together} runs together, ${apart} apart`);
});

test("simultaneous first chunks share steps without changing their samples", async () => {
  const jobs = ["сәлем, қалың қалай?", "қазақ тілі түркі тілдерінің бірі.", "біз көлге барамыз!"].map(
    (spokenText, seed) => ({ ...JOB, spokenText, seed, chunking: "growing" as const }),
  );
  const speakFirst = (job: SynthesisJob) =>
    engine.speak(job, new AbortController().signal, { urgency: { kind: "first" } }).then(({ pcm }) => pcm);
  const alone: Int16Array[] = [];
  const before = engine.modelRuns;
  for (const job of jobs) alone.push(await speakFirst(job));
  const apart = engine.modelRuns - before;
  const together = await Promise.all(jobs.map(speakFirst));
  const shared = engine.modelRuns - before - apart;
  assert.deepEqual(together, alone);
  // At most one of them starts before the others arrive.
  assert.ok(shared <= apart - JOB.nfe, `${shared} runs together, ${apart} apart`);
});

test("a new listener is served first without starving the others", async () => {
  const order: string[] = [];
  const note = (name: string) => () => order.push(name);
  const { signal } = new AbortController();
  const rest = engine.speak({ ...JOB, nfe: 32 }, signal).then(note("rest"));
  await whileRunning();
  const soonDry = { kind: "heard", runsDryAtMs: performance.now() + 1_500 } as const;
  await Promise.all([
    rest,
    engine.speak({ ...JOB, nfe: 16 }, signal, { urgency: soonDry }).then(note("heard")),
    engine.speak(JOB, signal, { urgency: { kind: "first" } }).then(note("first")),
  ]);
  assert.deepEqual(order, ["first", "heard", "rest"]);
});

test("a job cancelled in advance is rejected", async () => {
  await assert.rejects(speak(JOB, AbortSignal.abort()), hasCode("CANCELLED"));
});

test("aborting after the end has no effect", async () => {
  const abort = new AbortController();
  await speak(JOB, abort.signal);
  const next = speak(JOB);
  abort.abort();
  assert.ok((await next).length > 0);
});

test("a job that the model cannot speak fails alone", async () => {
  await assert.rejects(speak({ ...JOB, voice: "nobody" }), hasCode("UNKNOWN_VOICE"));
  await assert.rejects(speak({ ...JOB, spokenText: "日本" }), hasCode("INTERNAL"));
  assert.ok((await speak(JOB)).length > 0);
});

test("a full queue rejects jobs; waiting ones can still be cancelled", async () => {
  const aborts = Array.from({ length: PIECES_PER_WORKER + QUEUE_CAPACITY }, () => new AbortController());
  const accepted = aborts.map(({ signal }) => speak(LONG_JOB, signal));
  const outcomes = Promise.allSettled(accepted);
  await assert.rejects(speak(JOB), hasCode("ENGINE_BUSY"));
  for (const abort of aborts) abort.abort();
  for (const outcome of await outcomes) {
    assert.ok(outcome.status === "rejected" && hasCode("CANCELLED")(outcome.reason));
  }
  assert.equal(engine.jobCount, 0);
});
