import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gunzipSync } from "node:zlib";
import { LanguageModel } from "../../../core/domain/decoding/language-model.js";
import { EMPTY_WORD_HASH, extendWordHash } from "../../../core/domain/decoding/lexicon.js";
import { ServiceError } from "../../../core/domain/errors.js";

const FILE = new URL("../../../../models/svc-kk-ru-v2/lm.bin", import.meta.url);
const bytes = gunzipSync(readFileSync(FILE));
const model = LanguageModel.parse(bytes);

test("a small file gives the probabilities of the plain back-off rule", () => {
  const small = LanguageModel.parse(smallFile());
  // Histories a, ab and ba are states. Every other history is shortened until it is one.
  for (const text of [[2], [2, 3], [2, 3, 2, 3, 3], [3, 3, 2, 0], [2, 2, 2, 3, 2, 3, 1]]) {
    let state = 0;
    text.forEach((token, i) => {
      state = small.advance(state, token);
      const expected = plainLogProb(text.slice(Math.max(0, i - 2), i), token);
      assert.ok(Math.abs(small.logProb - expected) < 1e-5, `${small.logProb} is not ${expected}`);
    });
  }
  assert.ok(small.hasWord(123_456_789));
  assert.ok(!small.hasWord(123_456_790));
});

test("probabilities after any history add up to one", () => {
  for (const text of ["", "ал", "жақсы ", "ничего не", "қазақстан республикасының", "qwx", "-", "ққққ"]) {
    let state = model.startState;
    for (const character of text) state = model.advance(state, model.vocabulary.indexOf(character));
    let sum = 0;
    for (let token = 0; token < model.vocabulary.length; token++) {
      model.advance(state, token);
      sum += Math.exp(model.logProb);
    }
    // Log-probs are stored in steps of 0.055, weights in steps of 0.047, so each is at most half a step off.
    assert.ok(Math.abs(sum - 1) < 0.05, `after "${text}" the sum is ${sum}`);
  }
});

test("likely text scores above the same letters in another order", () => {
  assert.ok(scoreOf("рахмет сізге") > scoreOf("тахмер зісге") + 5);
  assert.ok(scoreOf("я не знаю") > scoreOf("я ен яназю") + 5);
});

test("the lexicon contains common words and no invented ones", () => {
  for (const word of ["және", "который", "рахмет"]) assert.ok(model.hasWord(hashOf(word)), word);
  for (const word of ["жәнеқ", "кторый", "рахмутъ"]) assert.ok(!model.hasWord(hashOf(word)), word);
});

test("loaded tables stay under 65 MB", () => {
  assert.ok(model.memoryBytes < 65e6, `${model.memoryBytes} bytes`);
});

test("rejects a truncated file and other formats and versions", () => {
  const isBroken = (error: unknown) => error instanceof ServiceError && error.code === "MODEL_BROKEN";
  // Read only a sixteenth, because the whole shipped model takes a second. `packed-model.test.ts` truncates a
  // small one at every length.
  assert.throws(() => LanguageModel.parse(bytes.subarray(0, bytes.length >> 4)), isBroken);
  assert.throws(() => LanguageModel.parse(smallFile().subarray(0, -1)), isBroken);
  assert.throws(() => LanguageModel.parse(bytes.subarray(0, 100)), isBroken);
  assert.throws(() => LanguageModel.parse(new Uint8Array(64)), isBroken);
  assert.throws(() => LanguageModel.parse(smallFile(2)), isBroken);
});

function scoreOf(text: string): number {
  let state = model.startState;
  let sum = 0;
  for (const character of text) {
    state = model.advance(state, model.vocabulary.indexOf(character));
    sum += model.logProb;
  }
  return sum;
}

function hashOf(word: string): number {
  let hash = EMPTY_WORD_HASH;
  for (const character of word) hash = extendWordHash(hash, model.vocabulary.indexOf(character));
  return hash;
}

/**
 * Log-prob codes are -code / 16, weights are (code - 128) / 16. Histories are named by their tokens; "" is
 * the empty one.
 */
const SMALL: Record<string, { backoff: number; arcs: readonly (readonly [token: number, code: number])[] }> =
  {
    "": { backoff: 128, arcs: [0, 1, 2, 3].map((token) => [token, 20 + token] as const) },
    "2": { backoff: 120, arcs: [[3, 4]] },
    "3": { backoff: 125, arcs: [[2, 9]] },
    "2,3": {
      backoff: 110,
      arcs: [
        [0, 12],
        [2, 6],
      ],
    },
  };

function plainLogProb(history: readonly number[], token: number): number {
  const known = SMALL[history.join(",")];
  const arc = known?.arcs.find(([other]) => other === token);
  if (arc !== undefined) return -arc[1] / 16;
  return (known === undefined ? 0 : (known.backoff - 128) / 16) + plainLogProb(history.slice(1), token);
}

function smallFile(version = 1): Uint8Array {
  const histories = ["", "2", "3", "2,3"];
  const states = new Set(histories);
  const arcs = histories.flatMap((history) =>
    SMALL[history]!.arcs.map(([token, code]) => {
      const isState = states.has(history === "" ? `${token}` : `${history},${token}`) && token !== 0;
      return { token: token | (isState ? 128 : 0), code };
    }),
  );
  let header = JSON.stringify({
    version,
    order: 3,
    vocabulary: ["", " ", "а", "б"],
    nodeCount: histories.length,
    arcCount: arcs.length,
    wordCount: 2,
  });
  // JSON is ASCII, except for the two letters, which take two bytes each.
  while ((8 + header.length + 2) % 4 !== 0) header += " ";
  const codes = (of: (code: number) => number) =>
    new Uint8Array(Float32Array.from({ length: 256 }, (_, i) => of(i)).buffer);
  const text = new TextEncoder().encode(header);
  const parts = [
    new TextEncoder().encode("DLM1"),
    new Uint8Array(Uint32Array.of(text.length).buffer),
    text,
    codes((code) => -code / 16),
    codes((code) => (code - 128) / 16),
    codes((code) => -code),
    new Uint8Array(Uint32Array.of(1000, 123_455_789).buffer),
    Uint8Array.from(arcs, (arc) => arc.token),
    Uint8Array.from(arcs, (arc) => arc.code),
    Uint8Array.from(histories, (history) => SMALL[history]!.arcs.length),
    Uint8Array.from(histories, (history) => SMALL[history]!.backoff),
    Uint8Array.of(3, 9),
  ];
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
