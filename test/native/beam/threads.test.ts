import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { LanguageModel } from "../../../core/domain/decoding/language-model.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { loadBinding } from "../../../native/beam/binding.js";
import { modelFile } from "../../domain/decoding/model-file.js";
import { logProbsOf } from "../../domain/decoding/reference.js";
import { eventually } from "../../support/eventually.js";
import type { SearchThreadData } from "./search-thread.js";

const VOCABULARY = ["", " ", "а", "б", "в"];
const FRAMES = 200;
const ENTRY = new URL("./search-thread.js", import.meta.url);

const { binding } = loadBinding();
const skip = binding === null ? "the addon is not built" : false;

test("threads share a model until the last one frees it", { skip }, async () => {
  const file = modelFile({
    vocabulary: VOCABULARY,
    order: 4,
    texts: [
      [2, 3, 1, 4, 4, 2],
      [3, 3, 1, 2, 4],
    ],
    seed: 5,
    wordHashes: [],
  });
  let seed = 11;
  const weights = Array.from({ length: FRAMES * VOCABULARY.length }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return 0.01 + seed / 2 ** 32;
  });
  const logProbs = logProbsOf(weights, VOCABULARY.length);
  const options = { beamWidth: 24, languageModelWeight: 0.6, characterBonus: 0.8, wordBonus: 0.5 };
  const reference = new PrefixBeamSearch(VOCABULARY, LanguageModel.parse(file), options);
  const expected = reference.search(logProbs, FRAMES, null).map(({ score }) => score);
  const data = { key: "threads-test", file, vocabulary: VOCABULARY, logProbs, frames: FRAMES };
  let answerCount = 0;
  const start = (rounds: number) => {
    const worker = new Worker(ENTRY, { workerData: { ...data, rounds } satisfies SearchThreadData });
    worker.on("message", (scores: number[]) => {
      answerCount++;
      assert.deepEqual(scores, expected);
    });
    const ended = new Promise<void>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("exit", () => resolve());
    });
    return { worker, ended };
  };
  for (let wave = 0; wave < 3; wave++) {
    const finite = [start(20), start(5)];
    // These threads are ended from outside, in the middle of a search or between two searches.
    const endless = [start(Number.POSITIVE_INFINITY), start(Number.POSITIVE_INFINITY)];
    await Promise.all(finite.map(({ ended }) => ended));
    for (const { worker } of endless) await worker.terminate();
    await Promise.all(endless.map(({ ended }) => ended));
  }
  assert.ok(answerCount >= 75, `${answerCount} searches`);
  // A thread ends a moment after it has reported its end.
  await eventually("the model is gone", () => binding!.findModel("threads-test") === null);
});
