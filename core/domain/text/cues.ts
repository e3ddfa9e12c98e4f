import type { TimedWord } from "../decoding/words.js";
import { countCodePoints } from "./code-points.js";
import { kazakhNumberWord } from "./figures/kazakh-words.js";
import { russianNumberWord } from "./figures/russian-words.js";
import { splitIntoSentences } from "./sentences.js";
import { type Cue, fitToLine } from "./subtitles.js";

const LINE_CHARACTERS = 42;
const LONGEST_SECONDS = 7;
const SHORTEST_SECONDS = 1;
/** Comfortable reading speed, spaces and marks included. */
const CHARACTERS_A_SECOND = 17;
/** Gap between two cues, so that the eye notices the second one. */
const GAP_SECONDS = 0.08;
/** A silence this long ends a cue: its words would otherwise be read before they are spoken. */
const PAUSE_SECONDS = 1;

/** Costs of a break between two words; a break between words that belong together is the last resort. */
const BREAK = { sentence: 0, clause: 10, conjunction: 22, word: 40, bound: 1_000 } as const;
const CUE_COST = 12;
/** Cost of a sentence that continues in the cue of another. */
const PASSED_SENTENCE_COST = 30;
/** Cost for each second below the shortest time, and for each second missing for reading. */
const SHORT_COST = 60;
const HASTE_COST = 15;
/** Cost for each character by which the lines differ. */
const RAGGED_COST = 0.4;

const CONJUNCTION =
  /^(?:және|мен|пен|бен|бірақ|немесе|ал|әлде|алайда|сондықтан|өйткені|себебі|и|а|но|что|чтобы|который|которая|которое|которые|которого|которой|которых|которую|когда|если|или|либо|потому|поэтому|где|хотя)$/;
/** Words that belong to the next one. */
const LEANS_AHEAD =
  /^(?:в|во|на|с|со|к|ко|о|об|обо|от|ото|до|из|изо|у|за|по|под|над|при|про|без|для|через|между|перед|около|после|вокруг|кроме|ради|среди|вместо|из-за|из-под|не|ни|очень|самый|самая|самое|ең|өте|тым|№)$/;
/** Words that belong to the previous one. */
const LEANS_BACK =
  /^(?:да|де|та|те|ма|ме|ба|бе|па|пе|ғой|қой|ғана|қана|үшін|туралы|жайлы|дейін|шейін|кейін|бойынша|арқылы|сияқты|секілді|сайын|же|ж|ли|ль|бы|б)$/;
/** None of these begins a phrase, so a cue may end with it. */
const SHORT_ENDS = /^(?:да|де|та|те|ма|ме|ба|бе|па|пе|же|ж|ли|ль|бы|б|иә|ия|жә|эх|ах|эй)$/;
const SHORT_LETTERS = 2;
const SCALE_OR_UNIT =
  /^(?:мың|млн|млрд|трлн|тыс|миллион|миллиард|триллион|тысяч|процент|пайыз|[%₸$€₽°]|тг|теңге|тенге|руб|доллар|еуро|евро|[кмсд]?м|км|кг|гр?|л|га|сағ|мин|сек|ж|жыл|год|қаңтар|ақпан|наурыз|сәуір|мамыр|маусым|шілде|тамыз|қыркүйек|қазан|қараша|желтоқсан|январ|феврал|март|апрел|ма[йя]|июн|июл|август|сентябр|октябр|ноябр|декабр)/;
const LAST_MARKS = /[.,;:!?…»”")\]–—-]{1,6}$/u;

/**
 * Lays out words as cues for reading: at most two balanced lines of 42 characters, 1 to 7 s, at most 17
 * characters a second where the speech leaves time.
 *
 * Cues end with sentences, else with clauses, else before conjunctions; inside a number and after a word that
 * belongs to the next, only if nothing else fits. A cue stays after its speech until it can be read, up to
 * 0.08 s before the next one.
 *
 * @param words as they are displayed, in order of time, in seconds; a word longer than a line is cut
 */
export function readingCues(words: readonly TimedWord[]): readonly Cue[] {
  const pieces = words.flatMap(fitToLine);
  const breaks = breaksAfter(pieces.map(({ word }) => word));
  return cheapestSpans(pieces, breaks).map(([first, end]) => cueOf(pieces, breaks, first, end));
}

/** Costs of a break after each word. */
function breaksAfter(words: readonly string[]): readonly number[] {
  const sentenceEnds = endsOfSentences(words);
  const costs: number[] = [];
  for (const [at, word] of words.entries()) {
    const next = words[at + 1];
    if (next === undefined || sentenceEnds.has(at)) costs.push(BREAK.sentence);
    else costs.push(breakBetween(word, next));
  }
  return costs;
}

/** Indices of the last words of sentences. */
function endsOfSentences(words: readonly string[]): ReadonlySet<number> {
  const ends = new Set<number>();
  let at = -1;
  for (const sentence of splitIntoSentences(words.join(" "))) {
    at += sentence.match(/\S+/gu)?.length ?? 0;
    ends.add(at);
  }
  return ends;
}

function breakBetween(word: string, next: string): number {
  const [here, there] = [bare(word), bare(next)];
  // A separate dash ends the previous line.
  if (there === "") return BREAK.bound;
  if (/[,;:–—]["»”)]?$/u.test(word) || here === "") return BREAK.clause;
  if (isNumber(here) && (isNumber(there) || SCALE_OR_UNIT.test(there)) && !/[.!?]$/u.test(word))
    return BREAK.bound;
  if (LEANS_AHEAD.test(here) || LEANS_BACK.test(there)) return BREAK.bound;
  const isShort = countCodePoints(here) <= SHORT_LETTERS && !SHORT_ENDS.test(here);
  if ((isShort && !/[\d.!?…]$/u.test(word)) || CONJUNCTION.test(here)) return BREAK.bound;
  return CONJUNCTION.test(there) ? BREAK.conjunction : BREAK.word;
}

function bare(word: string): string {
  return word
    .toLowerCase()
    .replace(/^[«"“([–—-]{1,6}/u, "")
    .replace(LAST_MARKS, "");
}

function isNumber(word: string): boolean {
  return /^[+№]?\d/.test(word) || kazakhNumberWord(word) !== null || russianNumberWord(word) !== null;
}

interface Layout {
  readonly lines: readonly string[];
  readonly cost: number;
}

/** Finds the cheapest partition of words into cues, as [first, end) of each. */
function cheapestSpans(
  words: readonly TimedWord[],
  breaks: readonly number[],
): (readonly [number, number])[] {
  const costs: number[] = [0];
  const starts: number[] = [0];
  for (let end = 1; end <= words.length; end++) {
    let [best, bestStart] = [Number.POSITIVE_INFINITY, end - 1];
    for (const first of possibleStarts(words, breaks, end)) {
      const layout = layoutOf(words, breaks, first, end);
      if (layout === null) continue;
      const cost = costs[first]! + spanCost(words, breaks, first, end) + layout.cost;
      if (cost < best) [best, bestStart] = [cost, first];
    }
    costs.push(best);
    starts.push(bestStart);
  }
  const spans: (readonly [number, number])[] = [];
  for (let end = words.length; end > 0; end = starts[end]!) spans.push([starts[end]!, end]);
  return spans.reverse();
}

/** Returns where a cue that ends before a word may begin; one word always fits. */
function* possibleStarts(
  words: readonly TimedWord[],
  breaks: readonly number[],
  end: number,
): Generator<number> {
  let characters = -1;
  for (let first = end - 1; first >= 0; first--) {
    characters += 1 + countCodePoints(words[first]!.word);
    const isLone = first === end - 1;
    if (!isLone) {
      if (characters > 2 * LINE_CHARACTERS + 1) return;
      if (words[end - 1]!.end - words[first]!.start > LONGEST_SECONDS) return;
      const isPause = words[first + 1]!.start - words[first]!.end >= PAUSE_SECONDS;
      if (isPause && breaks[first] !== BREAK.bound) return;
    }
    yield first;
  }
}

function spanCost(
  words: readonly TimedWord[],
  breaks: readonly number[],
  first: number,
  end: number,
): number {
  const { startSeconds, endSeconds, readingSeconds } = timesOf(words, first, end);
  const seconds = endSeconds - startSeconds;
  let cost = CUE_COST + breaks[end - 1]!;
  for (let at = first; at < end - 1; at++) {
    if (breaks[at] === BREAK.sentence) cost += PASSED_SENTENCE_COST;
  }
  cost += SHORT_COST * Math.max(0, SHORTEST_SECONDS - seconds);
  return cost + HASTE_COST * Math.max(0, Math.min(readingSeconds, LONGEST_SECONDS) - seconds);
}

/** A cue stays for reading during silence. */
function timesOf(words: readonly TimedWord[], first: number, end: number) {
  const startSeconds = words[first]!.start;
  const nextSeconds = words[end]?.start ?? Number.POSITIVE_INFINITY;
  let characters = -1;
  for (let at = first; at < end; at++) characters += 1 + countCodePoints(words[at]!.word);
  const readingSeconds = Math.max(SHORTEST_SECONDS, characters / CHARACTERS_A_SECOND);
  const spokenUntil = Math.min(words[end - 1]!.end, startSeconds + LONGEST_SECONDS);
  const readUntil = Math.min(
    startSeconds + readingSeconds,
    startSeconds + LONGEST_SECONDS,
    nextSeconds - GAP_SECONDS,
  );
  return {
    startSeconds,
    endSeconds: Math.min(Math.max(spokenUntil, readUntil), nextSeconds),
    readingSeconds,
  };
}

/**
 * Lays out one line if it fits, else the two with the best break and the most similar lengths; null if two
 * are not enough.
 */
function layoutOf(
  words: readonly TimedWord[],
  breaks: readonly number[],
  first: number,
  end: number,
): Layout | null {
  const texts = words.slice(first, end).map(({ word }) => word);
  const lengths = texts.map(countCodePoints);
  const total = lengths.reduce((sum, length) => sum + length + 1, -1);
  if (total <= LINE_CHARACTERS) return { lines: [texts.join(" ")], cost: 0 };
  let best: { readonly at: number; readonly cost: number } | null = null;
  let upper = -1;
  for (let at = 0; at < texts.length - 1; at++) {
    upper += 1 + lengths[at]!;
    const lower = total - upper - 1;
    if (upper > LINE_CHARACTERS || lower > LINE_CHARACTERS) continue;
    const cost = breaks[first + at]! / 2 + RAGGED_COST * Math.abs(upper - lower);
    if (best === null || cost < best.cost) best = { at: at + 1, cost };
  }
  if (best === null) return null;
  return { lines: [texts.slice(0, best.at).join(" "), texts.slice(best.at).join(" ")], cost: best.cost };
}

function cueOf(words: readonly TimedWord[], breaks: readonly number[], first: number, end: number): Cue {
  const { startSeconds, endSeconds } = timesOf(words, first, end);
  const { lines } = layoutOf(words, breaks, first, end)!;
  return { startSeconds, endSeconds, lines };
}
