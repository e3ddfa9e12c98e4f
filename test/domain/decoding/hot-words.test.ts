import assert from "node:assert/strict";
import test from "node:test";
import { HotWords } from "../../../core/domain/decoding/hot-words.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import * as fc from "../../support/properties.js";
import { collapse, logProbsOf } from "./reference.js";

const VOCABULARY = ["", " ", "а", "б", "в"];
const NOTHING = { languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
const letters = fc.string({ unit: fc.constantFrom("а", "б", "в"), minLength: 1, maxLength: 4 });
const phrase = fc.array(letters, { minLength: 1, maxLength: 2 }).map((words) => words.join(" "));
/** Whole scores, so that sums are exact. */
const hot = fc.array(fc.record({ text: phrase, characterScore: fc.integer({ min: 0, max: 5 }) }), {
  minLength: 1,
  maxLength: 5,
});
const spoken = fc.array(letters, { maxLength: 6 }).map((words) => words.join(" "));

test("a text earns only the bonuses of its complete hot words", () => {
  for (const [text, expected] of [
    ["абв", 6],
    ["абвв", 6],
    ["аб", 0],
    ["абб", 0],
    ["вабв", 0],
    ["в абв абв", 12],
    ["абв аб", 6],
    ["б в", 3],
    ["б а", 0],
    ["б б в", 3],
  ] as const) {
    assert.equal(scoreOf(text, [word("абв", 2), word("б в", 1)]), expected, text);
  }
});

test("the longest match counts among hot words with a common prefix", () => {
  const words = [word("а", 2), word("абв", 2)];
  for (const [text, expected] of [
    ["а", 2],
    ["абв", 6],
    ["аб", 2],
    ["аб а", 4],
  ] as const) {
    assert.equal(scoreOf(text, words), expected, text);
  }
});

test("word pieces earn half of their letters' scores, however a word is split into pieces", () => {
  const vocabulary = ["", " а", "б", "аб", "в", " Абв", " ", "бв г"];
  const hotWords = HotWords.compile([word("абв", 2)], vocabulary)!;
  const score = (...outputs: string[]) => {
    let [state, sum] = [hotWords.startState, 0];
    for (const output of outputs) {
      state = hotWords.step(state, vocabulary.indexOf(output));
      sum += hotWords.stepScore;
    }
    return sum - hotWords.credit[state]!;
  };
  for (const pieces of [[" а", "б", "в"], [" ", "аб", "в"], [" Абв"], ["б", " Абв"], [" а", "бв г"]]) {
    assert.equal(score(...pieces), 3, pieces.join("|"));
  }
  for (const pieces of [[" а", "б"], ["б", "аб", "в"], [" а", "в", "б"], [""]]) {
    assert.equal(score(...pieces), 0, pieces.join("|"));
  }
  assert.throws(() => HotWords.compile([word("где", 1)], vocabulary), RangeError);
});

test("scores are between 0 and the highest score for each character", () => {
  fc.assert(
    fc.property(hot, spoken, (words, text) => {
      const score = scoreOf(text, words);
      const best = Math.max(...words.map(({ characterScore }) => characterScore));
      assert.ok(score >= 0 && score <= best * text.length, `${score} for "${text}"`);
    }),
  );
});

test("a hot word at the beginning of a word earns at least its full bonus", () => {
  fc.assert(
    fc.property(hot, spoken, fc.nat(), letters, (words, before, which, ending) => {
      const chosen = words[which % words.length]!;
      const text = `${before} ${chosen.text}${which % 2 === 0 ? "" : ending}`.trim();
      assert.ok(scoreOf(text, words) >= chosen.characterScore * chosen.text.length, text);
    }),
  );
});

test("without pruning, the best text has the highest sum of paths and hot words", () => {
  const width = VOCABULARY.length;
  const audio = fc.integer({ min: 1, max: 4 }).chain((frames) =>
    fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), {
      minLength: frames * width,
      maxLength: frames * width,
    }),
  );
  fc.assert(
    fc.property(audio, hot, (weights, words) => {
      const frames = weights.length / width;
      const logProbs = logProbsOf(weights, width);
      const unpruned = {
        candidatesPerFrame: width,
        candidateFloor: Number.NEGATIVE_INFINITY,
        beamMargin: Number.POSITIVE_INFINITY,
      };
      const options = { ...NOTHING, ...unpruned, beamWidth: width ** frames };
      const search = new PrefixBeamSearch(VOCABULARY, null, options);
      const [found] = search.search(logProbs, frames, HotWords.compile(words, VOCABULARY));
      const best = Math.max(...everyScore(logProbs, frames, words));
      assert.ok(Math.abs(found.score - best) < 1e-4, `${found.score} is not ${best}`);
    }),
    { numRuns: 60 },
  );
});

test("rejects characters outside the vocabulary; an empty list has no automaton", () => {
  assert.throws(() => HotWords.compile([word("аx", 1)], VOCABULARY), RangeError);
  assert.equal(HotWords.compile([], VOCABULARY), null);
});

function word(text: string, characterScore: number) {
  return { text, characterScore };
}

/** Returns the bonus of a whole text, token by token. */
function scoreOf(text: string, words: readonly { text: string; characterScore: number }[]): number {
  const automaton = HotWords.compile(words, VOCABULARY)!;
  let state = automaton.startState;
  let score = 0;
  for (const character of text) {
    const next = automaton.advance(state, VOCABULARY.indexOf(character));
    score += automaton.scoreOf(state, next);
    state = next;
  }
  return score - automaton.credit[state]!;
}

/** Returns the score of every text that some path produces. */
function everyScore(
  logProbs: Float32Array,
  frames: number,
  words: readonly { text: string; characterScore: number }[],
): number[] {
  const width = VOCABULARY.length;
  const sums = new Map<string, number>();
  const path = new Array<number>(frames).fill(0);
  for (let code = 0; code < width ** frames; code++) {
    let rest = code;
    let logProb = 0;
    for (let frame = 0; frame < frames; frame++) {
      path[frame] = rest % width;
      rest = Math.floor(rest / width);
      logProb += logProbs[frame * width + path[frame]!]!;
    }
    const text = collapse(path)
      .map((token) => VOCABULARY[token])
      .join("");
    if (text.startsWith(" ") || text.includes("  ")) continue;
    sums.set(text, (sums.get(text) ?? 0) + Math.exp(logProb));
  }
  return [...sums].map(([text, sum]) => Math.log(sum) + scoreOf(text, words));
}
