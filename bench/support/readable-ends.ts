import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { LanguageModel } from "../../core/domain/decoding/language-model.js";
import { patienceAfter } from "../../core/domain/endpointing/patience.js";
import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import { readWords } from "../../core/domain/text/display/reading.js";
import type { Punctuator } from "../../native/models/punctuation/punctuator.js";
import { GrowingSentence, SentenceEnds } from "../../native/models/punctuation/sentence-ends.js";
import type { WrittenWord } from "./written-words.js";

const MODEL = new URL("../../../models/svc-kk-ru-v2/lm.bin", import.meta.url);
const MISSED = [0.02, 0.05, 0.1];
const THRESHOLDS = [0.5, 0.6, 0.75, 0.9];
const JOINED = 3;
/** Share of clauses after which the speaker pauses long enough for a final. */
const CLAUSE_PAUSES = 0.5;
const MAX_CONTEXT = 60;
const SEED = 7;

/** How well the preceding words alone distinguish words inside a sentence from its last word. */
export interface EndScore {
  readonly set: string;
  readonly ends: number;
  readonly innerWords: number;
  /** Share of inner words that are recognised as such if 2, 5 or 10 % of the ends are missed, by method. */
  readonly held: Readonly<Record<"nGram" | "network", readonly number[]>>;
  /**
   * Result of the rule for adaptive endpointing: sentence ends that wait longer than necessary, and inner
   * words that do not end the utterance.
   */
  readonly rule: { readonly missed: number; readonly held: number };
  /**
   * Among finals at all sentence ends and half of the clauses, those that the network immediately classifies
   * as an end.
   */
  readonly sure: readonly {
    readonly threshold: number;
    readonly finals: number;
    /** Share of these that are sentence ends. */
    readonly right: number;
    /** Share of all sentence ends that get their mark immediately. */
    readonly found: number;
  }[];
}

/** @param lines held-out lines that end with a mark */
export async function scoreEnds(
  set: string,
  lines: readonly (readonly WrittenWord[])[],
  punctuator: Punctuator,
): Promise<EndScore> {
  const model = LanguageModel.parse(gunzipSync(readFileSync(MODEL)));
  const ends = new SentenceEnds();
  const inner: { readonly nGram: number; readonly network: number; readonly isHeld: boolean }[] = [];
  const last: typeof inner = [];
  for (const line of lines) {
    let state = ends.start();
    const expected = expectations(line, model);
    for (const [at, { word, mark }] of line.entries()) {
      state = ends.after(state, word);
      const { endLogProb, spaceLogProb } = expected[at]!;
      const score = {
        nGram: endLogProb - spaceLogProb,
        network: ends.probability(state),
        isHeld: patienceAfter(ends.probability(state)) > 1,
      };
      if (at === line.length - 1) last.push(score);
      else if (!isEnd(mark)) inner.push(score);
    }
  }
  const heldBy = (way: "nGram" | "network") =>
    MISSED.map((missed) => {
      const sorted = last.map((score) => score[way]).toSorted((a, b) => a - b);
      const threshold = sorted[Math.floor(missed * sorted.length)]!;
      return share(inner, (score) => score[way] < threshold);
    });

  return {
    set,
    ends: last.length,
    innerWords: inner.length,
    held: { nGram: heldBy("nGram"), network: heldBy("network") },
    rule: { missed: share(last, ({ isHeld }) => isHeld), held: share(inner, ({ isHeld }) => isHeld) },
    sure: await Promise.all(THRESHOLDS.map((threshold) => sureEnds(lines, { ends, punctuator, threshold }))),
  };
}

/** Returns the language model's prediction after each word. */
function expectations(line: readonly WrittenWord[], model: LanguageModel) {
  let state = model.startState;
  const space = model.vocabulary.indexOf(" ");
  return line.map(({ word }) => {
    for (const letter of word) state = model.advance(state, Math.max(0, model.vocabulary.indexOf(letter)));
    model.advance(state, 0);
    const endLogProb = model.logProb;
    state = model.advance(state, space);
    return { endLogProb, spaceLogProb: model.logProb };
  });
}

/**
 * Cuts groups of three lines as a live session does; see `ReadableEvents` for what a final continues.
 */
async function sureEnds(
  lines: readonly (readonly WrittenWord[])[],
  parts: { readonly ends: SentenceEnds; readonly punctuator: Punctuator; readonly threshold: number },
) {
  const { ends, punctuator, threshold } = parts;
  const random = uniformRandom(SEED);
  let [finals, right, all] = [0, 0, 0];
  for (let at = 0; at + JOINED <= lines.length; at += JOINED) {
    const sentence = new GrowingSentence(ends);
    let open: readonly string[] = [];
    let final: string[] = [];
    for (const { word, mark } of lines.slice(at, at + JOINED).flat()) {
      final.push(word);
      const isCut = isEnd(mark) || (isClause(mark) && random() < CLAUSE_PAUSES);
      if (!isCut) continue;
      const words = [...open, ...final];
      if (isEnd(mark)) all++;
      if (sentence.endAfter(words) >= threshold) {
        finals++;
        if (isEnd(mark)) right++;
        open = [];
      } else open = await stillOpen(words, open.length, punctuator);
      final = [];
    }
  }
  return { threshold, finals, right: right / Math.max(1, finals), found: right / Math.max(1, all) };
}

async function stillOpen(words: readonly string[], context: number, punctuator: Punctuator) {
  const task = {
    ...{ words, context, pauses: null, isOver: false, display: true, numerals: "none" as const, redact: [] },
    previous: context === 0 ? "none" : "open",
  } as const;
  const { openWords } = readWords(task, await punctuator.read(words, null));
  return words.slice(words.length - Math.min(openWords, MAX_CONTEXT));
}

function isEnd(mark: string): boolean {
  return mark === "." || mark === "?";
}

function isClause(mark: string): boolean {
  return mark === "," || mark === "—" || mark === ":";
}

function share<Item>(items: readonly Item[], is: (item: Item) => boolean): number {
  return items.filter(is).length / Math.max(1, items.length);
}
