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
