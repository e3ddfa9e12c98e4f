import assert from "node:assert/strict";
import { test } from "node:test";
import type { CatalogModel } from "../../../actors/session/conversation.js";
import { countCodePoints, planSynthesis } from "../../../actors/session/plan-synthesis.js";
import { parseSynthesisRequest } from "../../../src/protocol/synthesis-request.js";

const MODEL: CatalogModel = {
  name: "svc-kk-v1",
  task: "synthesis",
  lang: "kk",
  sample_rate: 24_000,
  voices: [{ name: "aigul", gender: null, style: null, best_for: null }],
  default_voice: "aigul",
  tells_word_times: true,
};
const planOf = (text: string, normalize = true) =>
  planSynthesis(parseSynthesisRequest({ text, normalize }), [MODEL]);

test("characters without a reading are counted over all sentences, and stay billed", () => {
  const text = "Сәлем 😀! Бағасы 5 ₸. 漢字";
  const plan = planOf(text);
  assert.equal(plan.droppedCharacters, 3);
  assert.equal(plan.billedCharacters, countCodePoints(text));
  assert.deepEqual(
    plan.sentences.map(({ pieces }) => pieces.map(({ text }) => text)),
    [["сәлем!"], ["бағасы бес теңге."]],
  );
  assert.equal(planOf("Бағасы 5 ₸", false).droppedCharacters, 2);
  assert.equal(planOf("Сәлем!").droppedCharacters, 0);
});

test("a pause mark replaces the pause between sentences, less the silence that the pieces end and begin with", () => {
  const pauses = (text: string) =>
    planOf(text).sentences.map(({ leadSamples = 0, pauseSamples }) =>
      [leadSamples, pauseSamples].map((n) => n / 24),
    );
  assert.deepEqual(pauses("Бір. Екі.\nҮш."), [
    [0, 250],
    [0, 500],
    [0, 0],
  ]);
  // 48 ms at the end of a piece, 30 ms at the begin of the next.
  assert.deepEqual(pauses("Бір. [pause 1s] Екі.\n[pause 300ms]\nҮш."), [
    [0, 922],
    [0, 222],
    [0, 0],
  ]);
  assert.deepEqual(pauses("[pause 1s][pause 500ms] Бір. [pause 2s] 😀! [pause 1s]"), [[1_470, 2_952]]);
  assert.deepEqual(pauses("Бір [pause 0ms] екі"), [
    [0, 0],
    [0, 0],
  ]);
});

test("speech goes on after a pause inside a sentence, and its characters are billed", () => {
  const text = "Қайырлы таң [pause 500ms] достар [pause 1s]";
  const plan = planOf(text);
  assert.deepEqual(
    plan.sentences.map(({ pieces }) => pieces.map((piece) => piece.text)),
    [["қайырлы таң,"], ["достар."]],
  );
  assert.deepEqual(
    plan.sentences.flatMap(({ pieces }) =>
      pieces.flatMap(({ words }) => words.map((w) => text.slice(w.start, w.end))),
    ),
    ["Қайырлы", "таң", "достар"],
  );
  assert.equal(plan.billedCharacters, countCodePoints(text));
  assert.deepEqual(
    plan.sentences.map(({ charactersThrough }) => charactersThrough),
    [25, text.length],
  );
  assert.equal(plan.droppedCharacters, 0);
  assert.throws(() => planOf("[pause 1s]"), /something that can be spoken/);
});
