import assert from "node:assert/strict";
import { test } from "node:test";
import { planSynthesis } from "../../../actors/synthesis/plan.js";
import { parseSpeechRequest } from "../../../core/protocol/speech-request.js";
import { parseSynthesisRequest } from "../../../core/protocol/synthesis-request.js";
import { SPEAKING } from "../../support/catalog.js";

async function seedOf(body: object): Promise<number> {
  return (await planSynthesis(parseSynthesisRequest({ text: "Сәлем.", ...body }), SPEAKING)).voicing.seed;
}

test("the seed comes from the request, or else from the text", async () => {
  assert.equal(await seedOf({ seed: 0 }), 0);
  assert.equal(await seedOf({ seed: 0xffff_ffff }), 0xffff_ffff);
  assert.equal(await seedOf({}), await seedOf({ seed: null }));
  assert.notEqual(await seedOf({}), await seedOf({ text: "Сәлем!" }));
  const { synthesis } = parseSpeechRequest({ input: "Сәлем.", seed: 5 });
  assert.equal((await planSynthesis(synthesis, SPEAKING)).voicing.seed, 5);
});
