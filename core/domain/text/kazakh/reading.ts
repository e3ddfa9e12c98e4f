/** A rule's reading of the text at one position, and the position where reading continues. */
export interface Reading {
  readonly spoken: string;
  readonly next: number;
}

/** Reads the text at a position, or returns null for the next rule. */
export type Rule = (text: string, at: number) => Reading | null;

/** Makes a rule from a pattern that must match at the position; `read` may still decline. */
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

/** Matches a sticky pattern at a position. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

export const WORD_END = "(?![\\p{L}\\p{M}])";

/**
 * Words that start a sentence. Other capitals after "1991 ж." or "XIX ғ." are names that continue it (in 39
 * of 40 places in the text corpora).
 */
export const SENTENCE_STARTERS =
  "Сол|Содан|Сонда|Сонымен|Сондықтан|Ол|Олар|Оның|Бұл|Осы|Осыдан|Мұнда|Бірақ|Алайда|Ал|Кейін|Бірде|Енді|Біз|Мен";
