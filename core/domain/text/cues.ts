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

/** Costs of a break between two words; only the last resort is a break between words that belong together. */
const BREAK = { sentence: 0, clause: 10, conjunction: 22, word: 40, bound: 1_000 } as const;
const CUE_COST = 12;
/** Cost of a sentence that continues in another sentence's cue. */
const PASSED_SENTENCE_COST = 30;
/** Cost for each second below the shortest time, and for each second missing for reading. */
const SHORT_COST = 60;
const HASTE_COST = 15;
/** Cost for each character by which the lines differ. */
const RAGGED_COST = 0.4;
const WORDS_A_STEP = 200;

const CONJUNCTION =
  /^(?:және|мен|пен|бен|бірақ|немесе|ал|әлде|алайда|сондықтан|өйткені|себебі|и|а|но|что|чтобы|который|которая|которое|которые|которого|которой|которых|которую|когда|если|или|либо|потому|поэтому|где|хотя)$/;
/** Words that belong to the next one. */
const LEANS_AHEAD =
  /^(?:в|во|на|с|со|к|ко|о|об|обо|от|ото|до|из|изо|у|за|по|под|над|при|про|без|для|через|между|перед|около|после|вокруг|кроме|ради|среди|вместо|из-за|из-под|не|ни|очень|самый|самая|самое|ең|өте|тым|№)$/;
/** Words that belong to the previous one. */
const LEANS_BACK =
  /^(?:да|де|та|те|ма|ме|ба|бе|па|пе|ғой|қой|ғана|қана|үшін|туралы|жайлы|дейін|шейін|кейін|бойынша|арқылы|сияқты|секілді|сайын|же|ж|ли|ль|бы|б)$/;
/** None of these words begins a phrase, so a cue may end with one. */
const SHORT_ENDS = /^(?:да|де|та|те|ма|ме|ба|бе|па|пе|же|ж|ли|ль|бы|б|иә|ия|жә|эх|ах|эй)$/;
const SHORT_LETTERS = 2;
const SCALE_OR_UNIT =
  /^(?:мың|млн|млрд|трлн|тыс|миллион|миллиард|триллион|тысяч|процент|пайыз|[%₸$€₽°]|тг|теңге|тенге|руб|доллар|еуро|евро|[кмсд]?м|км|кг|гр?|л|га|сағ|мин|сек|ж|жыл|год|қаңтар|ақпан|наурыз|сәуір|мамыр|маусым|шілде|тамыз|қыркүйек|қазан|қараша|желтоқсан|январ|феврал|март|апрел|ма[йя]|июн|июл|август|сентябр|октябр|ноябр|декабр)/;
const LAST_MARKS = /[.,;:!?…»”")\]–—-]{1,6}$/u;

/** A word to show, and its speaker if speakers are known. */
export interface SpokenWord extends TimedWord {
  readonly speaker?: number | undefined;
}

/**
 * Lays out words as cues for reading: at most two balanced lines of 42 characters, 1 to 7 s, at most 17
 * characters a second where the speech leaves time.
 *
 * Cues end at sentences, otherwise at clauses or before conjunctions; inside a number or after a word that
 * belongs to the next one, only as a last resort. A cue stays on screen after its speech until it can be
 * read, up to 0.08 s before the next one.
 * @param words as displayed, in order of time, in seconds; a word longer than a line is cut, one that ends in
 * a hyphen is joined to the next
 */
export function readingCues(words: readonly SpokenWord[]): readonly Cue[] {
  const steps = readingCuesInSteps(words);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** `readingCues` in short steps, so that a server can do other work in between. */
export function* readingCuesInSteps(words: readonly SpokenWord[]): Generator<void, readonly Cue[]> {
  const cues: Cue[] = [];
  for (let first = 0, end = 0; first < words.length; first = end) {
    const { speaker } = words[first]!;
    while (end < words.length && words[end]!.speaker === speaker) end++;
    const nextSeconds = words[end]?.start ?? Number.POSITIVE_INFINITY;
    for (const cue of yield* cuesOfSpeaker(words.slice(first, end))) {
      // Words of two speakers may overlap, cues do not.
      const endSeconds = Math.max(cue.startSeconds, Math.min(cue.endSeconds, nextSeconds));
      cues.push(speaker === undefined ? cue : { ...cue, endSeconds, speaker });
    }
  }
  return cues;
}

function* cuesOfSpeaker(words: readonly TimedWord[]): Generator<void, readonly Cue[]> {
  const pieces = words.flatMap(fitToLine);
  const layouts = new Layouts(pieces, yield* breaksAfter(pieces.map(({ word }) => word)));
  const cues: Cue[] = [];
  for (const [first, end] of yield* cheapestSpans(layouts)) cues.push(layouts.cue(first, end));
  return cues;
}

/** Costs of a break after each word. */
function* breaksAfter(words: readonly string[]): Generator<void, readonly number[]> {
  const sentenceEnds = endsOfSentences(words);
  const costs: number[] = [];
  for (const [at, word] of words.entries()) {
    const next = words[at + 1];
    if (next === undefined || sentenceEnds.has(at)) costs.push(BREAK.sentence);
    else costs.push(breakBetween(word, next));
    if (at % WORDS_A_STEP === 0) yield;
  }
  return costs;
}

/** Indices of the last words of sentences. */
function endsOfSentences(words: readonly string[]): ReadonlySet<number> {
  const ends = new Set<number>();
  let [at, wordsUntil, until] = [-1, -1, 0];
  for (const sentence of splitIntoSentences(words.join(" "))) {
    until += sentence.length;
    // A displayed word may contain spaces: "120 000".
    while (wordsUntil < until - 1 && at < words.length - 1) wordsUntil += words[++at]!.length + 1;
    ends.add(at);
  }
  return ends;
}

function breakBetween(word: string, next: string): number {
  const [here, there] = [bare(word), bare(next)];
  if (isJoined(word)) return BREAK.bound;
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

/** Words with the sizes that all of their layouts need. */
class Layouts {
  readonly words: readonly TimedWord[];
  readonly breaks: readonly number[];
  /** Characters of all words before each one, including the spaces after them. */
  readonly #offsets: Int32Array;
  /** Whether a space follows each word. */
  readonly #gaps: Uint8Array;
  /** Sentences that end before each word. */
  readonly #sentences: Int32Array;

  constructor(words: readonly TimedWord[], breaks: readonly number[]) {
    this.words = words;
    this.breaks = breaks;
    this.#offsets = new Int32Array(words.length + 1);
    this.#gaps = new Uint8Array(words.length);
    this.#sentences = new Int32Array(words.length + 1);
    for (const [at, { word }] of words.entries()) {
      this.#gaps[at] = isJoined(word) ? 0 : 1;
      this.#offsets[at + 1] = this.#offsets[at]! + countCodePoints(word) + this.#gaps[at]!;
      this.#sentences[at + 1] = this.#sentences[at]! + (breaks[at] === BREAK.sentence ? 1 : 0);
    }
  }

  /** Characters of words [first, end) on one line. */
  width(first: number, end: number): number {
    return this.#offsets[end]! - this.#offsets[first]! - this.#gaps[end - 1]!;
  }

  /** Whether a cue that ends before `end` may begin with `first`; a single word always may. */
  mayStart(first: number, end: number): boolean {
    if (first === end - 1) return true;
    if (this.width(first, end) > 2 * LINE_CHARACTERS + 1) return false;
    if (this.words[end - 1]!.end - this.words[first]!.start > LONGEST_SECONDS) return false;
    const isPause = this.words[first + 1]!.start - this.words[first]!.end >= PAUSE_SECONDS;
    return !isPause || this.breaks[first] === BREAK.bound;
  }

  /** Cost of a cue of words [first, end); null if they need more than two lines. */
  cost(first: number, end: number): number | null {
    const lines = this.#split(first, end);
    if (lines === null) return null;
    const { startSeconds, endSeconds, readingSeconds } = this.#times(first, end);
    const seconds = endSeconds - startSeconds;
    const passed = this.#sentences[end - 1]! - this.#sentences[first]!;
    const haste = Math.max(0, Math.min(readingSeconds, LONGEST_SECONDS) - seconds);
    return (
      CUE_COST +
      this.breaks[end - 1]! +
      lines.cost +
      PASSED_SENTENCE_COST * passed +
      SHORT_COST * Math.max(0, SHORTEST_SECONDS - seconds) +
      HASTE_COST * haste
    );
  }

  cue(first: number, end: number): Cue {
    const { startSeconds, endSeconds } = this.#times(first, end);
    const at = this.#split(first, end)?.at ?? end;
    const bounds =
      at === end
        ? [[first, end]]
        : [
            [first, at],
            [at, end],
          ];
    return { startSeconds, endSeconds, lines: bounds.map(([from, to]) => this.#line(from!, to!)) };
  }

  #line(first: number, end: number): string {
    let line = "";
    for (let at = first; at < end; at++) {
      line += this.words[at]!.word;
      if (at < end - 1 && this.#gaps[at] === 1) line += " ";
    }
    return line;
  }

  /** A cue stays on for reading where silence follows. */
  #times(first: number, end: number) {
    const startSeconds = this.words[first]!.start;
    const nextSeconds = this.words[end]?.start ?? Number.POSITIVE_INFINITY;
    const readingSeconds = Math.max(SHORTEST_SECONDS, this.width(first, end) / CHARACTERS_A_SECOND);
    const spokenUntil = Math.min(this.words[end - 1]!.end, startSeconds + LONGEST_SECONDS);
    const readUntil = Math.min(
      startSeconds + readingSeconds,
      startSeconds + LONGEST_SECONDS,
      nextSeconds - GAP_SECONDS,
    );
    const endSeconds = Math.min(Math.max(spokenUntil, readUntil), nextSeconds);
    return { startSeconds, endSeconds, readingSeconds };
  }

  /** The first word of the second line; `end` for one line; null if two lines are not enough. */
  #split(first: number, end: number): { readonly at: number; readonly cost: number } | null {
    if (this.width(first, end) <= LINE_CHARACTERS) return { at: end, cost: 0 };
    let [best, bestCost] = [-1, Number.POSITIVE_INFINITY];
    for (let at = first + 1; at < end; at++) {
      const upper = this.width(first, at);
      if (upper > LINE_CHARACTERS) break;
      const lower = this.width(at, end);
      if (lower > LINE_CHARACTERS) continue;
      const cost = this.breaks[at - 1]! / 2 + RAGGED_COST * Math.abs(upper - lower);
      if (cost < bestCost) [best, bestCost] = [at, cost];
    }
    return best === -1 ? null : { at: best, cost: bestCost };
  }
}

/** Whether the next word continues this word or number: "90-", "северо-". */
function isJoined(word: string): boolean {
  return word.length > 1 && word.endsWith("-");
}

/** Returns the cheapest way to split words into cues, as [first, end) of each. */
function* cheapestSpans(layouts: Layouts): Generator<void, readonly (readonly [number, number])[]> {
  const count = layouts.words.length;
  const costs = new Float64Array(count + 1);
  const starts = new Int32Array(count + 1);
  for (let end = 1; end <= count; end++) {
    let [best, bestStart] = [Number.POSITIVE_INFINITY, end - 1];
    for (let first = end - 1; first >= 0 && layouts.mayStart(first, end); first--) {
      const cost = layouts.cost(first, end);
      if (cost === null || costs[first]! + cost >= best) continue;
      [best, bestStart] = [costs[first]! + cost, first];
    }
    costs[end] = best;
    starts[end] = bestStart;
    if (end % WORDS_A_STEP === 0) yield;
  }
  const spans: (readonly [number, number])[] = [];
  for (let end = count; end > 0; end = starts[end]!) spans.push([starts[end]!, end]);
  return spans.reverse();
}
