import assert from "node:assert/strict";
import test from "node:test";
import { BeamDecoder } from "../../../core/domain/decoding/beam-decoder.js";
import type { TokenModel } from "../../../core/domain/decoding/language-model.js";
import {
  type BeamSearchOptions,
  PrefixBeamSearch,
} from "../../../core/domain/decoding/prefix-beam-search.js";
import { textOf } from "../../../core/domain/decoding/words.js";
import * as fc from "../../support/properties.js";
import { BigramModel, everyText, logProbsOf, SMALL_VOCABULARY, simpleBeamSearch } from "./reference.js";

const WIDTH = SMALL_VOCABULARY.length;
const UNPRUNED = {
  candidatesPerFrame: WIDTH,
  candidateFloor: Number.NEGATIVE_INFINITY,
  beamMargin: Number.POSITIVE_INFINITY,
};
/** Log-probs are stored in 32 bits. Sums over five frames stay well within this tolerance. */
const TOLERANCE = 1e-4;

const weight = fc.double({ min: 0.01, max: 1, noNaN: true });
const audio = fc
  .integer({ min: 1, max: 5 })
  .chain((frames) => fc.array(weight, { minLength: frames * WIDTH, maxLength: frames * WIDTH }));
const bigrams = fc.array(weight, { minLength: WIDTH * WIDTH, maxLength: WIDTH * WIDTH });
const fusion = fc.record({
  languageModelWeight: fc.double({ min: 0, max: 1.5, noNaN: true }),
  characterBonus: fc.double({ min: -1, max: 2, noNaN: true }),
  wordBonus: fc.double({ min: -1, max: 2, noNaN: true }),
});

test("without pruning, the best text has the highest sum of paths and text score", () => {
  fc.assert(
    fc.property(audio, bigrams, fusion, fc.boolean(), (weights, rows, fused, hasModel) => {
      const frames = weights.length / WIDTH;
      const logProbs = logProbsOf(weights, WIDTH);
      const model = hasModel ? new BigramModel(rows, WIDTH) : null;
      const options = { ...UNPRUNED, ...fused, beamWidth: WIDTH ** frames };
      const found = decoderWith(model, options).decode(logProbs, frames);
      const texts = everyText(logProbs, frames, WIDTH, model, fused);
      assert.ok(
        Math.abs(found.score - texts[0]!.score) < TOLERANCE,
        `${found.score} is not ${texts[0]!.score}`,
      );
      const equallyGood = texts.filter((text) => text.score > texts[0]!.score - TOLERANCE);
      assert.ok(equallyGood.some((text) => textOf(text.tokens, SMALL_VOCABULARY) === found.text));
    }),
  );
});

test("with a narrow beam, finds the same text as the plain search over maps", () => {
  const longer = fc
    .integer({ min: 1, max: 16 })
    .chain((frames) => fc.array(weight, { minLength: frames * WIDTH, maxLength: frames * WIDTH }));
  const width = fc.integer({ min: 1, max: 6 });
  const margin = fc.constantFrom(Number.POSITIVE_INFINITY, 4, 1);
  fc.assert(
    fc.property(longer, bigrams, fusion, width, margin, (weights, rows, fused, beamWidth, beamMargin) => {
      const frames = weights.length / WIDTH;
      const logProbs = logProbsOf(weights, WIDTH);
      const model = new BigramModel(rows, WIDTH);
      const search = decoderWith(model, { ...UNPRUNED, ...fused, beamWidth, beamMargin });
      const found = search.decode(logProbs, frames);
      const expected = simpleBeamSearch(logProbs, frames, WIDTH, model, fused, { beamWidth, beamMargin });
      assert.equal(found.text, textOf(expected.tokens, SMALL_VOCABULARY));
      assert.ok(Math.abs(found.score - expected.score) < 1e-3);
    }),
  );
});

test("a used workspace gives the same result as a fresh one", () => {
  const options = { beamWidth: 4, languageModelWeight: 0.5, characterBonus: 0.3, wordBonus: 0.2 };
  fc.assert(
    fc.property(audio, audio, bigrams, (first, second, rows) => {
      const model = new BigramModel(rows, WIDTH);
      const used = decoderWith(model, options);
      used.decode(logProbsOf(first, WIDTH), first.length / WIDTH);
      const fresh = decoderWith(model, options);
      const logProbs = logProbsOf(second, WIDTH);
      const frames = second.length / WIDTH;
      assert.deepEqual(used.decode(logProbs, frames), fresh.decode(logProbs, frames));
    }),
  );
});

test("the result equals the plain search's even with more frames than the workspace holds", () => {
  const frames = 400;
  let seed = 7;
  const weights = Array.from({ length: frames * WIDTH }, () => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return 0.01 + seed / 2 ** 32;
  });
  const rows = weights.slice(0, WIDTH * WIDTH);
  const fused = { languageModelWeight: 0.4, characterBonus: 0.9, wordBonus: 0.5 };
  const model = new BigramModel(rows, WIDTH);
  const logProbs = logProbsOf(weights, WIDTH);
  const search = decoderWith(model, { ...UNPRUNED, ...fused, beamWidth: 8 });
  const expected = simpleBeamSearch(logProbs, frames, WIDTH, model, fused, {
    beamWidth: 8,
    beamMargin: Number.POSITIVE_INFINITY,
  });
  assert.equal(search.decode(logProbs, frames).text, textOf(expected.tokens, SMALL_VOCABULARY));
});

test("words have the times of their letters", () => {
  // а а _ б space б: "аб" in frames 0 to 3, "б" in frame 5.
  const path = [2, 2, 0, 3, 1, 3];
  const weights = path.flatMap((best) => SMALL_VOCABULARY.map((_, i) => (i === best ? 1 : 0.001)));
  const options = { beamWidth: 4, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
  const found = decoderWith(null, options).decode(logProbsOf(weights, WIDTH), path.length, {
    timing: { frameSeconds: 0.04, offsetSeconds: 10 },
  });
  assert.equal(found.text, "аб б");
  const timed = found.words.map(({ word, start, end }) => ({ word, start, end }));
  assert.deepEqual(timed, [
    { word: "аб", start: 10, end: 10.16 },
    { word: "б", start: 10.2, end: 10.24 },
  ]);
  for (const { confidence } of found.words) assert.ok(confidence > 0.99 && confidence <= 1);
  assert.ok(found.confidence > 0.99 && found.confidence <= 1);
});

test("silence and zero frames give an empty text", () => {
  const options = { beamWidth: 4, languageModelWeight: 0.5, characterBonus: 0.5, wordBonus: 0 };
  const search = decoderWith(null, options);
  const silence = logProbsOf([1, 1e-5, 1e-5, 1e-5, 1, 1e-5, 1e-5, 1e-5], WIDTH);
  for (const frames of [0, 2]) {
    const found = search.decode(silence, frames);
    assert.equal(found.text, "");
    assert.deepEqual(found.words, []);
    assert.equal(found.confidence, 1);
  }
});

function decoderWith(model: TokenModel | null, options: BeamSearchOptions): BeamDecoder {
  return new BeamDecoder(SMALL_VOCABULARY, new PrefixBeamSearch(SMALL_VOCABULARY, model, options));
}

test("drops a text that bonuses produce from noise, and keeps a real one", () => {
  const options = { beamWidth: 4, languageModelWeight: 0, characterBonus: 2, wordBonus: 0 };
  const search = new PrefixBeamSearch(SMALL_VOCABULARY, null, options);
  const eager = new BeamDecoder(SMALL_VOCABULARY, search);
  const careful = new BeamDecoder(SMALL_VOCABULARY, search, { evidencePerCharacter: 0.5 });
  const noise = logProbsOf([1, 0.1, 0.6, 0.1, 1, 0.1, 0.1, 0.6], WIDTH);
  const speech = logProbsOf([0.02, 0.01, 1, 0.01, 0.02, 0.01, 0.01, 1], WIDTH);
  assert.notEqual(eager.decode(noise, 2).text, "");
  const dropped = careful.decode(noise, 2);
  assert.deepEqual([dropped.text, dropped.words, dropped.confidence], ["", [], 1]);
  assert.equal(careful.decode(speech, 2).text, "аб");
});

test("doubtful voice activity raises the evidence that a text needs", () => {
  const options = { beamWidth: 4, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
  const search = new PrefixBeamSearch(SMALL_VOCABULARY, null, options);
  const doubt = { below: 0.7, evidence: 10 };
  const decoder = new BeamDecoder(SMALL_VOCABULARY, search, { evidencePerCharacter: 1, doubt });
  // Each of its two letters is e^2 times as likely as a blank.
  const heard = logProbsOf([0.1, 0.01, 0.1 * Math.exp(2), 0.01, 0.1, 0.01, 0.01, 0.1 * Math.exp(2)], WIDTH);
  const textAt = (speechMean?: number) =>
    decoder.decode(heard, 2, speechMean === undefined ? {} : { speechMean }).text;
  assert.deepEqual([undefined, 1, 0.7, 0.61, 0.59, 0].map(textAt), ["аб", "аб", "аб", "аб", "", ""]);
});
