import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SynthesisEngine } from "../../../actors/synthesis/engine.js";
import { SentenceCache } from "../../../actors/synthesis/sentence-cache.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob, SynthesizedPiece } from "../../../core/ports/synthesizer.js";
import { synthesisEngine } from "../../support/engines.js";

const JOB: SynthesisJob = {
  modelId: "svc-kk-v1",
  voice: "aigul",
  spokenText: "сәлем, қалың қалай?",
  speed: 1,
  nfe: 4,
  seed: 1,
};
const NEVER = new AbortController().signal;
const RATE_HZ = 24_000;

let engine: SynthesisEngine;

before(async () => {
  engine = await synthesisEngine();
  await engine.start();
});

after(() => engine.stop());

function cacheOf(capacityBytes = 2 ** 20) {
  const told: string[] = [];
  const observer = {
    hit: () => void told.push("hit"),
    missed: () => void told.push("missed"),
    holds: (bytes: number) => void told.push(`${bytes}`),
  };
  return {
    cache: new SentenceCache({ weights: new Map([["svc-kk-v1", "w"]]), capacityBytes, observer }),
    told,
  };
}

function pieceOf(samples: number): SynthesizedPiece {
  return { pcm: new Int16Array(samples), sampleRateHz: RATE_HZ, characterBounds: null };
}

test("a cached piece equals a new one", async () => {
  const { cache, told } = cacheOf();
  const wanted = { scope: "org_1", job: JOB, signal: NEVER };
  const first = await cache.pieceOf(wanted, () => engine.speak(JOB, NEVER));
  const runsBefore = engine.modelRuns;
  const parts: Int16Array[] = [];
  const onPcm = (pcm: Int16Array) => parts.push(pcm);
  const again = await cache.pieceOf({ ...wanted, onPcm }, () => engine.speak(JOB, NEVER));
  assert.equal(engine.modelRuns, runsBefore, "the model did not run");
  assert.deepEqual(again, first);
  assert.deepEqual(
    parts.flatMap((part) => [...part]),
    [...first.pcm],
  );
  assert.deepEqual(await engine.speak(JOB, NEVER), first, "the engine gives the same samples and bounds");
  assert.deepEqual(told, ["missed", String(cache.bytes), "hit"]);
  assert.ok(cache.bytes > first.pcm.byteLength);
});

test("anything that changes samples, or another organization, misses the cache", () => {
  const { cache } = cacheOf();
  cache.put("org_1", JOB, pieceOf(4));
  assert.ok(cache.get("org_1", { ...JOB }));
  const reordered = Object.fromEntries(Object.entries(JOB).reverse()) as unknown as SynthesisJob;
  assert.ok(cache.get("org_1", reordered), "the order of members does not count");
  const others: readonly SynthesisJob[] = [
    { ...JOB, modelId: "m" },
    { ...JOB, voice: "dauren" },
    { ...JOB, spokenText: "сәлем, қалың қалай!" },
    { ...JOB, speed: 1.1 },
    { ...JOB, nfe: 5 },
    { ...JOB, seed: 2 },
    { ...JOB, anythingElse: 1 } as SynthesisJob,
  ];
  for (const other of others) assert.equal(cache.get("org_1", other), null, JSON.stringify(other));
  assert.equal(cache.get("org_2", JOB), null);
  const otherWeights = new SentenceCache({ weights: new Map([["svc-kk-v1", "v"]]), capacityBytes: 2 ** 20 });
  otherWeights.put("org_1", JOB, pieceOf(5));
  assert.equal(cache.get("org_1", JOB)?.pcm.length, 4);
});

test("the cache stays within its limit by evicting the least recently used pieces", () => {
  const capacityBytes = 10_000;
  const { cache } = cacheOf(capacityBytes);
  const jobs = [0, 1, 2, 3].map((seed) => ({ ...JOB, seed }));
  for (const job of jobs.slice(0, 3)) cache.put("o", job, pieceOf(1_000));
  assert.ok(cache.get("o", jobs[0]!));
  cache.put("o", jobs[3]!, pieceOf(1_500));
  assert.ok(cache.bytes <= capacityBytes, `${cache.bytes} bytes`);
  assert.deepEqual(
    jobs.map((job) => cache.get("o", job) !== null),
    [true, false, true, true],
  );
  cache.put("o", { ...JOB, seed: 9 }, pieceOf(capacityBytes));
  assert.equal(cache.get("o", { ...JOB, seed: 9 }), null, "what does not fit at all is not kept");
  assert.ok(cache.bytes <= capacityBytes);
});

test("failed and cancelled pieces are not cached", async () => {
  const { cache } = cacheOf();
  let isBroken = true;
  const make = async () => {
    if (isBroken) throw new ServiceError("WORKER_LOST", "synthesis failed, try again");
    return pieceOf(4);
  };
  const ask = (signal = NEVER) => cache.pieceOf({ scope: "o", job: JOB, signal }, make);
  await assert.rejects(ask(), /try again/);
  assert.equal(cache.bytes, 0);
  isBroken = false;
  assert.equal((await ask()).pcm.length, 4);
  isBroken = true;
  assert.equal((await ask()).pcm.length, 4);
  await assert.rejects(
    ask(AbortSignal.abort()),
    (error) => error instanceof ServiceError && error.code === "CANCELLED",
  );
});
