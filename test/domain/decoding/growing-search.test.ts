import assert from "node:assert/strict";
import { test } from "node:test";
import { continuedText } from "../../../core/domain/decoding/continued-text.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import * as fc from "../../support/properties.js";
import { BigramModel, logProbsOf, SMALL_VOCABULARY } from "./reference.js";

const WIDTH = SMALL_VOCABULARY.length;
const OPTIONS = { beamWidth: 4, languageModelWeight: 0.5, characterBonus: 0.4, wordBonus: 0.3 };
const weight = fc.double({ min: 0.01, max: 1, noNaN: true });
const models = fc
  .array(weight, { minLength: WIDTH ** 2, maxLength: WIDTH ** 2 })
  .map((weights) => new BigramModel(weights, WIDTH));
const audio = fc
  .array(fc.array(weight, { minLength: WIDTH, maxLength: WIDTH }), { minLength: 1, maxLength: 24 })
  .map((rows) => rows.map((row) => logProbsOf(row, WIDTH)));

test("settled words stay, regardless of what follows", () => {
  fc.assert(
    fc.property(models, audio, (model, frames) => {
      const growing = new PrefixBeamSearch(SMALL_VOCABULARY, model, OPTIONS).growing(4)!;
      growing.begin();
      let settled: number[] = [];
      for (const frame of frames) {
        growing.push(frame);
        const grown = growing.grown();
        const tokens = Array.from(grown.tokens);
        assert.deepEqual(tokens.slice(0, settled.length), settled);
        assert.ok(grown.settled >= settled.length);
        settled = tokens.slice(0, grown.settled);
      }
    }),
  );
});

test("the kept text continues; equal numbers mean equal texts", () => {
  fc.assert(
    fc.property(models, audio, fc.nat(), (model, frames, at) => {
      const growing = new PrefixBeamSearch(SMALL_VOCABULARY, model, OPTIONS).growing(4)!;
      growing.begin();
      const texts = new Map<number, string>();
      let kept: number[] = [];
      for (const [index, frame] of frames.entries()) {
        const best = growing.push(frame);
        const tokens = Array.from(growing.grown().tokens);
        assert.equal(texts.get(best) ?? tokens.join(), tokens.join());
        texts.set(best, tokens.join());
        assert.deepEqual(tokens.slice(0, kept.length), kept);
        if (index !== at % frames.length) continue;
        growing.keepBestText();
        kept = Array.from(growing.grown().tokens);
      }
    }),
  );
});

test("text promised to the client replaces the nearest words", () => {
  assert.equal(continuedText("", "бұл дауыс"), "бұл дауыс");
  assert.equal(continuedText("бұл", "бұл дауыс"), "бұл дауыс");
  assert.equal(continuedText("бұлдауысқызмет", "бұл дауыс қызмет көрсетеді"), "бұлдауысқызмет көрсетеді");
  assert.equal(continuedText("оқы потыр", "оқып отыр"), "оқы потыр");
  assert.equal(continuedText("бір екі", "үш"), "бір екі");
  assert.equal(continuedText("а", ""), "а");
});
