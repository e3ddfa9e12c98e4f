/** What espeak-ng is asked for in one go, and the sign that a voice hears after it. */
export interface Clause {
  /** Without its sign; it holds a letter or a digit. */
  readonly text: string;
  /** One of `. , ? ! : ;`, or nothing where a long clause was cut between two words. */
  readonly sign: string;
}

/** Signs that end a sentence: what stands behind them is spoken by itself. */
const SENTENCE_SIGNS = new Set([".", "?", "!"]);
/** Runs of signs; a dash and dots count as one. */
const SIGNS = /[.,?!:;…—–]+/gu;
const HEARD = /[\p{L}\p{N}]/u;
const CAPITAL = /\p{Lu}/u;
const DOTS = /\.\.|…/u;
/** espeak-ng cuts a clause of 725 bytes by itself, and reads lines of 999. */
const LONGEST_CLAUSE_BYTES = 600;
/** Nothing that is heard: joiners, marks of direction, soft hyphens. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]/gu;
/**
 * Quotes, brackets, and all that espeak-ng might take for a command: phonemes in `[[ ]]`, tags, control characters and the
 * private characters that it works with.
 */
const NEUTRALIZED = /[\p{C}\s«»„“”"‟‹›()[\]{}<>|\\^~`_]+/gu;

/**
 * A text as clauses, where espeak-ng would end them: at a sign with a space or the end behind it. A dot before a small
 * letter is an abbreviation's, unless the text has no capitals at all, as a normalized one.
 */
export function clausesOf(raw: string): Clause[] {
  const text = raw.normalize("NFC").replace(INVISIBLE, "").replace(NEUTRALIZED, " ").trim();
  const hasCapitals = CAPITAL.test(text);
  const clauses: Clause[] = [];
  let start = 0;
  for (const { 0: run, index } of text.matchAll(SIGNS)) {
    const end = index + run.length;
    if (end < text.length && text[end] !== " ") continue;
    const sign = signOf(run, end === text.length);
    if (sign === "." && hasCapitals && isSmall(text[end + 1])) continue;
    const clause = text.slice(start, index);
    // A sign before the first word is none: "— Иә."
    if (HEARD.test(clause)) clauses.push(...cut(clause, sign));
    start = end;
  }
  const rest = text.slice(start);
  if (HEARD.test(rest)) clauses.push(...cut(rest, ""));
  return clauses;
}

export function endsSentence({ sign }: Clause): boolean {
  return SENTENCE_SIGNS.has(sign);
}

/** The sign that a run of them stands for: "?!" asks, dots inside a sentence hold on, a dash parts like a semicolon. */
function signOf(run: string, isLast: boolean): string {
  const loud = /[?!]/u.exec(run);
  if (loud !== null) return loud[0];
  if (DOTS.test(run)) return isLast ? "." : ",";
  const last = run.at(-1)!;
  return last === "—" || last === "–" ? ";" : last;
}

function isSmall(character = ""): boolean {
  return character !== character.toUpperCase();
}

/** A clause in parts that espeak-ng takes whole, cut between words. */
function cut(clause: string, sign: string): Clause[] {
  const parts: string[] = [];
  let part = "";
  for (const word of clause.trim().split(" ").flatMap(shortWords)) {
    const longer = part === "" ? word : `${part} ${word}`;
    if (part !== "" && Buffer.byteLength(longer) > LONGEST_CLAUSE_BYTES) {
      parts.push(part);
      part = word;
    } else part = longer;
  }
  parts.push(part);
  const heard = parts.filter((text) => HEARD.test(text));
  return heard.map((text, index) => ({ text, sign: index === heard.length - 1 ? sign : "" }));
}

/** A word of hundreds of letters is no word: it is cut anywhere. */
function shortWords(word: string): string[] {
  const points = [...word];
  if (points.length <= LONGEST_CLAUSE_BYTES / 4) return [word];
  const words: string[] = [];
  for (let at = 0; at < points.length; at += LONGEST_CLAUSE_BYTES / 4) {
    words.push(points.slice(at, at + LONGEST_CLAUSE_BYTES / 4).join(""));
  }
  return words;
}
