import type { Grammar } from "./declension.js";

/** A rule's match at a position in a text. */
export interface Found {
  readonly next: number;
  /** The reading that fits its context. */
  readonly grammar: Grammar;
  /** Its words in another case and gender; null if there is no such form. */
  readonly say: (grammar: Grammar) => string | null;
}

/** Reads the text at a position, or leaves it to the next rule. */
export type Rule = (text: string, at: number) => Found | null;

const ANY: Grammar = { case: "nominative", gender: "masculine", isAnimate: false };

/** A match with only one reading. */
export function fixed(spoken: string, next: number): Found {
  return { next, grammar: ANY, say: () => spoken };
}

/** Returns a dot if the dot of an abbreviation also ends the sentence. */
export function endingIn(text: string, next: number): string {
  return text[next - 1] === "." && ENDS_SENTENCE.test(text.slice(next, next + LOOKED_AHEAD)) ? "." : "";
}

const LOOKED_AHEAD = 24;
/** Matches if nothing follows, or a word that begins sentences. */
const ENDS_SENTENCE =
  /^["»”)]{0,4}(?:\s{0,8}$|\s{1,8}[—–-]?\s{0,8}["«“(]?(?:Он|Она|Оно|Они|Это|Этот|Эта|Эти|В|На|С|По|К|У|О|Из|От|До|За|Для|При|После|Но|И|А|Мы|Я|Вы|Ты|Если|Когда|Как|Так|Там|Тут|Все|Всё|Его|Её|Их|Что|Не)\s)/u;
