import { bootstrapRate, type Estimate } from "../../core/domain/statistics/bootstrap.js";
import type { Case, Mark, Punctuation } from "../../core/domain/text/display/marks.js";
import { writtenFigures } from "../../core/domain/text/figures/figures.js";
import { joined } from "../../core/domain/text/figures/written.js";
import type { Punctuator } from "../../native/models/punctuation/punctuator.js";
import type { DisplayWord, TimedWord } from "../../src/client/transcription-types.js";
import type { HeardText } from "./readable-hearing.js";
import { FIGURES, type Figure, scoreText, type TextScore } from "./readable-score.js";
import { type WrittenWord, writtenWords } from "./written-words.js";

/** Ways to pass the silence after each word, in seconds, to the punctuation model. */
const PAUSES: Readonly<Record<string, (seconds: number) => number>> = {
  unknown: () => -1,
  "as heard": (seconds) => seconds,
  "less 0.1 s": (seconds) => Math.max(0, seconds - 0.1),
  "from 0.16 s on": (seconds) => (seconds < 0.16 ? 0 : seconds),
  "from 0.2 s on": (seconds) => (seconds < 0.2 ? 0 : seconds),
  "from 0.3 s on": (seconds) => (seconds < 0.3 ? 0 : seconds),
};
export const PAUSE_WAYS = Object.keys(PAUSES);

type F1 = Readonly<Record<Figure, Estimate>>;

export interface SetScore {
  readonly set: string;
  readonly texts: number;
  readonly lines: number;
  readonly words: number;
  readonly wordErrorRate: number;
  /** Scores on the written words, without a recogniser and without pauses. */
  readonly written: F1;
  /** Score of `display_words`. */
  readonly shown: F1;
  /** Scores on the recognised words, by {@link PAUSES}. */
  readonly ways: Readonly<Record<string, F1>>;
  /**
   * Numbers from ten up: written in the text, restored from the spoken words, restored from recognised words,
   * and displayed but not in the text.
   */
  readonly figures: {
    readonly written: number;
    readonly recognised: number;
    readonly right: number;
    readonly extra: number;
  };
  /**
   * Live compared with the file: texts with the same words, and the share of their displayed words that
   * match.
   */
  readonly live: {
    readonly texts: number;
    readonly sameText: number;
    readonly sameMarks: number;
    readonly differences: readonly string[];
  } | null;
}

export async function scoreSet(
  set: string,
  texts: readonly HeardText[],
  punctuator: Punctuator,
): Promise<SetScore> {
  const language = set.startsWith("ru") ? "ru" : "kk";
  const references = texts.map(({ lines }) => lines.map((line) => writtenWords(line, language)));
  const scored = (displayed: readonly (readonly WrittenWord[])[]) =>
    texts.map((_, nth) => scoreOne(references[nth]!, displayed[nth]!));
  const readAll = async (
    pausesOf: (nth: number) => Float32Array | null,
    wordsOf: (nth: number) => string[],
  ) => {
    const all: WrittenWord[][] = [];
    for (const nth of texts.keys()) {
      const words = wordsOf(nth);
      all.push(restored(words, await punctuator.read(words, pausesOf(nth))));
    }
    return all;
  };
  const heardWords = (nth: number) => texts[nth]!.words.map(({ word }) => word);
  const ways: Record<string, F1> = {};
  for (const [way, pauseOf] of Object.entries(PAUSES)) {
    const pauses = (nth: number) => pausesAfter(texts[nth]!.words, pauseOf);
    ways[way] = f1(scored(await readAll(pauses, heardWords)));
  }
  const writtenOnes = (nth: number) => references[nth]!.flat().map(({ word }) => word);
  const shown = scored(texts.map(({ words, displayWords }) => displayed(words, displayWords)));
  return {
    set,
    texts: texts.length,
    lines: references.flat().length,
    words: references.flat(2).length,
    wordErrorRate: sum(shown.map(({ wordEdits }) => wordEdits)) / sum(shown.map(({ words }) => words)),
    written: f1(scored(await readAll(() => null, writtenOnes))),
    shown: f1(shown),
    ways,
    figures: figuresOf(texts, references),
    live: liveOf(texts),
  };
}

function scoreOne(lines: readonly (readonly WrittenWord[])[], shown: readonly WrittenWord[]): TextScore {
  const starts = new Set<number>();
  let at = 0;
  for (const line of lines) {
    starts.add(at);
    at += line.length;
  }
  return scoreText(lines.flat(), shown, (nth) => starts.has(nth));
}

/** Restores the model's marks and cases; the text is complete, so it ends with a mark. */
function restored(words: readonly string[], { marks, cases, stops }: Punctuation): WrittenWord[] {
  return words.flatMap((word, at) => {
    const mark = marks[at]!;
    const isOpenEnd = at === words.length - 1 && mark !== "." && mark !== "?";
    return parts(word, isOpenEnd ? stops[at]! : mark, cases[at]!);
  });
}

/** Reads marks and capitals from the words that a client displays. */
function displayed(words: readonly TimedWord[], shown: readonly DisplayWord[]): WrittenWord[] {
  return shown.flatMap(({ word, spoken: [first, end] }) => {
    const mark = (/(?: (—)|([,.?:-]))$/.exec(word)?.slice(1).find(Boolean) ?? "") as Mark;
    const isFigure = /\d/.test(word);
    return words.slice(first, end).flatMap(({ word: said }, nth) => {
      const cased = isFigure ? null : caseOf(word);
      return parts(said, first + nth === end - 1 && !(isFigure && mark === "-") ? mark : "", cased);
    });
  });
}

function caseOf(word: string): Case {
  const first = word.charAt(0);
  if (first === first.toLowerCase()) return "lower";
  return /\p{Lu}{2}/u.test(word) ? "upper" : "capital";
}

/** Splits a recognised word with hyphens, which corresponds to several words of the reference. */
function parts(word: string, mark: Mark, cased: Case | null): WrittenWord[] {
  const all = word.replaceAll("ё", "е").split("-");
  return all.map((part, nth) => ({ word: part, mark: nth === all.length - 1 ? mark : "-", cased }));
}

function pausesAfter(words: readonly TimedWord[], pauseOf: (seconds: number) => number): Float32Array {
  return Float32Array.from(words, ({ end }, at) => {
    const next = words[at + 1];
    return next === undefined ? -1 : pauseOf(Math.max(0, next.start - end));
  });
}

/**
 * Computes F1 over all texts, with its interval: twice the correct ones over twice the correct ones plus all
 * errors.
 */
function f1(scores: readonly TextScore[]): F1 {
  const entries = FIGURES.map((figure): [Figure, Estimate] => {
    const counts = scores.map((score) => score.counts[figure]);
    const both = counts.map(([right]) => 2 * right);
    return [
      figure,
      bootstrapRate(
        both,
        counts.map(([right, extra, missed]) => 2 * right + extra + missed),
      ),
    ];
  });
  return Object.fromEntries(entries) as Record<Figure, Estimate>;
}

function figuresOf(texts: readonly HeardText[], references: readonly (readonly WrittenWord[][])[]) {
  let [written, recognised, right, extra] = [0, 0, 0, 0];
  for (const [nth, { lines, displayText }] of texts.entries()) {
    const wanted = amounts(lines.join(" "));
    const said = references[nth]!.flat().map(({ word }) => word);
    const again = amounts(joined(writtenFigures(said, "auto")));
    const shown = amounts(displayText);
    written += wanted.length;
    recognised += common(wanted, again);
    const found = common(wanted, shown);
    right += found;
    extra += shown.length - found;
  }
  return { written, recognised, right, extra };
}

/** Returns the numbers from ten up, with groups of digits joined. */
function amounts(text: string): string[] {
  const plain = text.replace(/(?<=\d)[\u00a0 ](?=\d{3}(?!\d))/g, "").replace(/(?<=\d)\.(?=\d)/g, ",");
  return (plain.match(/\d+(?:[,:]\d+)*/g) ?? []).filter((digits) => digits.length > 1);
}

function common(some: readonly string[], others: readonly string[]): number {
  const rest = [...others];
  return some.filter((one) => {
    const at = rest.indexOf(one);
    if (at !== -1) rest.splice(at, 1);
    return at !== -1;
  }).length;
}

const MOST_DIFFERENCES = 20;

function liveOf(texts: readonly HeardText[]): SetScore["live"] {
  const pairs = texts.flatMap(({ words, displayText, live }) =>
    live === null ? [] : [{ said: words.map(({ word }) => word).join(" "), file: displayText, live }],
  );
  if (pairs.length === 0) return null;
  const same = pairs.filter(({ said, live }) => said === live.said);
  let [alike, all] = [0, 0];
  const differences: string[] = [];
  for (const { file, live } of same) {
    const [one, other] = [file.split(" "), live.displayText.split(" ")];
    const rest = common(one, other);
    alike += rest;
    all += one.length;
    if (file !== live.displayText && differences.length < MOST_DIFFERENCES)
      differences.push(file, live.displayText);
  }
  return { texts: pairs.length, sameText: same.length / pairs.length, sameMarks: alike / all, differences };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
