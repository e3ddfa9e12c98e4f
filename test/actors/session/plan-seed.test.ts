import assert from "node:assert/strict";
import { test } from "node:test";
import { planSynthesis } from "../../../actors/session/plan-synthesis.js";
import { parseSpeechRequest } from "../../../src/protocol/speech-request.js";
import { parseSynthesisRequest } from "../../../src/protocol/synthesis-request.js";
import { MODELS } from "../../transport/fake-conversations.js";

function seedOf(body: object): number {
  return planSynthesis(parseSynthesisRequest({ text: "Сәлем.", ...body }), MODELS).voicing.seed;
}

test("the seed is the request's, and comes from the text when the request has none", () => {
  assert.equal(seedOf({ seed: 0 }), 0);
  assert.equal(seedOf({ seed: 0xffff_ffff }), 0xffff_ffff);
  assert.equal(seedOf({}), seedOf({ seed: null }));
  assert.notEqual(seedOf({}), seedOf({ text: "Сәлем!" }));
  const { synthesis } = parseSpeechRequest({ input: "Сәлем.", seed: 5 });
  assert.equal(planSynthesis(synthesis, MODELS).voicing.seed, 5);
});
