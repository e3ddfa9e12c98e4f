import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import {
  conformanceClip,
  mostCredits,
  type Report,
  runConformance,
} from "../../src/conformance/conformance.js";
import { LIVE_CASES } from "../../src/conformance/live-cases.js";
import { PATIENCE_MS } from "../../src/conformance/server.js";
import { SPEECH_CASES } from "../../src/conformance/speech-cases.js";
import { startServiceProcess } from "../support/service-process.js";
import { FAULTS } from "./faults.js";
import { type Records, startReplay } from "./replay.js";

const ALL = { withLong: true } as const;

let clip: Uint8Array;
let report: Report;
let charged = 0;

before(async () => {
  clip = await conformanceClip();
  const service = await startServiceProcess({ MODEL_PRELOAD: "true" });
  const { url, key } = service;
  const balance = async () => {
    const answer = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { readonly balance: number }).balance;
  };
  const credits = await balance();
  const server = { baseUrl: url, streamUrl: url, key, clip, isPaced: true, patienceMs: PATIENCE_MS };
  report = await runConformance(server, ALL);
  charged = credits - (await balance());
  assert.equal(await service.stop(), 0, service.output());
});

test("our own service passes every case", () => {
  const { results } = report;
  assert.deepEqual(
    results.filter(({ status }) => status !== "passed"),
    [],
  );
  assert.equal(results.length, LIVE_CASES.length + SPEECH_CASES.length);
});

test("the cases cost at most the announced amount", () => {
  const most = mostCredits(ALL, clip);
  assert.ok(charged > 0 && charged <= most, `${charged} of ${most}`);
});

test("a server that replays our own passes every case", async () => {
  assert.deepEqual(await failuresOf(report), []);
});

describe("a server that", { concurrency: 4 }, () => {
  for (const { is, foundBy, apply } of FAULTS) {
    test(`${is} fails exactly ${foundBy}`, async () => {
      assert.deepEqual(await failuresOf(apply(report)), [foundBy]);
    });
  }
});

test("for every case there is a faulty server that fails it", () => {
  const found = new Set(FAULTS.map(({ foundBy }) => foundBy));
  const ids = [...LIVE_CASES, ...SPEECH_CASES].map(({ id }) => id);
  assert.deepEqual([...found], ids);
});

/** Returns the numbers of the cases that fail against a server that replays a recording. */
async function failuresOf(records: Records): Promise<readonly string[]> {
  const replay = await startReplay(records);
  try {
    const { url } = replay;
    const server = { baseUrl: url, streamUrl: url, key: "sk-svc-1", clip, isPaced: false };
    const { results } = await runConformance({ ...server, patienceMs: PATIENCE_MS }, ALL);
    return results.filter(({ status }) => status === "failed").map(({ id }) => id);
  } finally {
    await replay.stop();
  }
}
