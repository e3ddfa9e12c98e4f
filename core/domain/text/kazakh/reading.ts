/** What a rule made of the text at one place: how it is said, and where reading goes on. */
export interface Reading {
  readonly spoken: string;
  readonly next: number;
}

/** Reads the text at a place, or leaves it to the next rule. Rules never look back further than one word. */
export type Rule = (text: string, at: number) => Reading | null;

/** A rule from a pattern that must match exactly at the place; the reader may still decline. */
export function patternRule(
  source: string,
  read: (match: RegExpExecArray, text: string) => string | null,
): Rule {
  const pattern = new RegExp(source, "yu");
  return (text, at) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return null;
    const spoken = read(match, text);
    return spoken === null ? null : { spoken, next: at + match[0].length };
  };
}

/** Reads one kind of thing wherever patterns agree: the text that `pattern` (sticky) finds at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** No letter follows: the end of a word. */
export const WORD_END = "(?![\\p{L}\\p{M}])";

/**
 * Words that begin a sentence rather than go on with one: after "1991 ж." or "XIX ғ." and a space a capital is the name of
 * somebody or something (in 39 of 40 places of the text corpora), unless it is one of these.
 */
export const SENTENCE_STARTERS =
  "Сол|Содан|Сонда|Сонымен|Сондықтан|Ол|Олар|Оның|Бұл|Осы|Осыдан|Мұнда|Бірақ|Алайда|Ал|Кейін|Бірде|Енді|Біз|Мен";
