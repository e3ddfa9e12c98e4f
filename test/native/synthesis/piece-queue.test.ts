import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { ProviderError } from "../../../core/domain/placement/provider-error.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import type { PieceModel, PieceTurn } from "../../../native/models/synthesizer.js";
import { PieceQueue } from "../../../native/synthesis/piece-queue.js";
import { SYNTHESIS_CELL } from "../../../native/threads/protocol.js";
import { deferred } from "../../support/deferred.js";

const JOB: SynthesisJob = { modelId: "m", voice: "v", spokenText: "а", speed: 1, nfe: 4, seed: 0 };

/** A model whose runs the test releases one by one. Each piece takes two runs. */
function gatedModel(samples = 20_000): { model: PieceModel; texts: string[]; run: () => Promise<void> } {
  const texts: string[] = [];
  let gate = deferred<void>();
  const model = {
    manifest: { sampleRateHz: 24_000 } as PieceModel["manifest"],
    async speak({ spokenText }: SynthesisJob, turn: PieceTurn) {
      texts.push(spokenText);
      if (spokenText === "broken") throw new ServiceError("MODEL_BROKEN", "Cannot run it");
      await gate.promise;
      gate = deferred();
      await turn.checkpoint();
      await turn.give(new Float32Array(samples).fill(0.5));
      return null;
    },
    release: () => Promise.resolve(),
  };
  const run = async () => {
    gate.resolve();
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { model, texts, run };
}

function queueOf(model: PieceModel): { queue: PieceQueue; events: string[]; cells: Int32Array } {
  const events: string[] = [];
  const cells = new Int32Array(SYNTHESIS_CELL.count);
  const sink = {
    begun: (jobId: number) => events.push(`${jobId} begun`),
    pcm: (jobId: number, samples: Int16Array) => {
      events.push(`${jobId} pcm ${samples.length}`);
      return Promise.resolve();
    },
    spoken: (jobId: number) => events.push(`${jobId} spoken`),
    gaveUp: (jobId: number, error: ServiceError) => events.push(`${jobId} ${error.code}`),
    lost: ({ kind }: ProviderError) => events.push(kind),
  };
  return { queue: new PieceQueue(model, { cells, sink }), events, cells };
}

function request(jobId: number, dueAtMs: number, spokenText = String(jobId)) {
  return { jobId, job: { ...JOB, spokenText }, dueAtMs, playsFromMs: null };
}

test("the piece that is due first is spoken first, in parts", async () => {
  const { model, texts, run } = gatedModel();
  const { queue, events, cells } = queueOf(model);
  for (const [jobId, dueAtMs] of [
    [1, 300],
    [2, 100],
    [3, 200],
  ] as const) {
    queue.speak(request(jobId, dueAtMs));
  }
  for (let i = 0; i < 4; i++) await run();
  await queue.idle();
  assert.deepEqual(texts, ["2", "3", "1"]);
  assert.deepEqual(events.slice(0, 3), ["2 pcm 16384", "2 pcm 3616", "2 spoken"]);
  assert.equal(events.at(-1), "1 spoken");
  assert.equal(cells[SYNTHESIS_CELL.runs], 3);
});

test("a cancelled piece only reports its cancellation; a waiting one is not started", async () => {
  const { model, texts, run } = gatedModel();
  const { queue, events } = queueOf(model);
  for (const jobId of [1, 2, 3]) queue.speak(request(jobId, jobId));
  await new Promise((resolve) => setImmediate(resolve));
  queue.cancel(1);
  queue.cancel(2);
  queue.cancel(99);
  assert.deepEqual(events, ["2 CANCELLED"]);
  for (let i = 0; i < 3; i++) await run();
  await queue.idle();
  assert.deepEqual(events, ["2 CANCELLED", "1 CANCELLED", "3 pcm 16384", "3 pcm 3616", "3 spoken"]);
  assert.deepEqual(texts, ["1", "3"]);
});

test("a failed piece reports its error without blocking the next one", async () => {
  const { model, run } = gatedModel(10);
  const { queue, events } = queueOf(model);
  queue.speak(request(1, 1, "broken"));
  queue.speak(request(2, 2));
  await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 2; i++) await run();
  await queue.idle();
  assert.deepEqual(events, ["1 MODEL_BROKEN", "2 pcm 10", "2 spoken"]);
});
