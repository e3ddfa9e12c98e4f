import { BREAK, type Break, breaksBetween } from "../../phonemes/phrase-breaks.js";

const MARK = /[.,?!:;]/u;
const SOUND = /[\p{L}\p{N}]/u;
const STRESS = "ˈ";
/** A part that exceeds its limit by less than this factor is not cut: the rest would be a few sounds. */
const TOLERANCE = 1.25;
/** Earliest positions of cuts at a mark and before a conjunction, as shares of the limit. */
const EARLIEST: Readonly<Partial<Record<Break, number>>> = { [BREAK.mark]: 0.3, [BREAK.conjunction]: 0.5 };

/** Where a sentence can be cut: a part ends before `end`, the next one starts at `next`. */
interface Cut {
  readonly end: number;
  readonly next: number;
  readonly rank: Break;
}

/**
 * Cuts a sentence's phonemes into parts between words: at marks if possible, else before a conjunction, else
 * between any two words that are not said in one breath.
 */
export class SentenceParts {
  readonly #phonemes: readonly string[];
  readonly #cuts: readonly Cut[];
  #from = 0;

  /** @param words the sentence's written words, if there are as many as in the phonemes */
  constructor(phonemes: readonly string[], words: readonly string[] | null) {
    this.#phonemes = phonemes;
    this.#cuts = cutsOf(phonemes, words);
  }

  get isAtStart(): boolean {
    return this.#from === 0;
  }

  get isAtEnd(): boolean {
    return this.#from >= this.#phonemes.length;
  }

  /**
   * Returns the next part: at most `limit` symbols if there is a cut before that, else up to the next cut.
   */
  next(limit: number): readonly string[] {
    const from = this.#from;
    const isRestShort = this.#phonemes.length - from <= limit * TOLERANCE;
    const cut = isRestShort ? undefined : this.#choose(limit);
    this.#from = cut?.next ?? this.#phonemes.length;
    return this.#phonemes.slice(from, cut?.end);
  }

  #choose(limit: number): Cut | undefined {
    const later = this.#cuts.filter(({ end }) => end > this.#from);
    const within = later.filter(({ end }) => end - this.#from <= limit);
    for (const rank of [BREAK.mark, BREAK.conjunction]) {
      const earliest = this.#from + limit * EARLIEST[rank]!;
      const best = within.findLast((cut) => cut.rank === rank && cut.end >= earliest);
      if (best !== undefined) return best;
    }
    return within.at(-1) ?? later[0];
  }
}

/** Counts the words of a sentence's phonemes. */
export function countWords(phonemes: readonly string[]): number {
  return wordsIn(phonemes).length;
}

function cutsOf(phonemes: readonly string[], words: readonly string[] | null): Cut[] {
  const said = wordsIn(phonemes);
  const ranks = words === null || words.length !== said.length ? null : breaksBetween(words);
  // Without the text, a word without stress is assumed to belong to the next one.
  const hasStress = phonemes.includes(STRESS);
  return said.slice(1).flatMap(({ start }, index) => {
    const { start: wordStart, end } = said[index]!;
    const isLeaning = hasStress && !phonemes.slice(wordStart, end).includes(STRESS);
    const isMark = phonemes.slice(end, start).some((phoneme) => MARK.test(phoneme));
    const rank = isMark ? BREAK.mark : (ranks?.[index] ?? (isLeaning ? BREAK.never : BREAK.words));
    if (rank === BREAK.never) return [];
    const last = phonemes.slice(0, start).findLastIndex((phoneme) => phoneme !== " ");
    return [{ end: last + 1, next: start, rank }];
  });
}

/** Returns the sounds of each word, without marks: `[start, end)` in the phonemes. */
function wordsIn(phonemes: readonly string[]): { readonly start: number; readonly end: number }[] {
  const words: { start: number; end: number }[] = [];
  let start = 0;
  for (let at = 0; at <= phonemes.length; at++) {
    if (at < phonemes.length && phonemes[at] !== " ") continue;
    let end = at;
    while (end > start && MARK.test(phonemes[end - 1]!)) end--;
    if (phonemes.slice(start, end).some((phoneme) => SOUND.test(phoneme))) words.push({ start, end });
    start = at + 1;
  }
  return words;
}
