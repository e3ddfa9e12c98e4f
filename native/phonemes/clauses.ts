/** A clause for espeak-ng, with its punctuation for the voice. */
export interface Clause {
  /** The clause without punctuation; contains a letter or a digit. */
  readonly text: string;
  /** One of `. , ? ! : ;`, or empty after a cut in a long clause. */
  readonly sign: string;
}

const SENTENCE_SIGNS = new Set([".", "?", "!"]);
/** Runs of signs, such as "?!" or "...". */
const SIGNS = /[.,?!:;…—–]+/gu;
const HEARD = /[\p{L}\p{N}]/u;
const CAPITAL = /\p{Lu}/u;
const DOTS = /\.\.|…/u;
/** Maximum length of a clause; espeak-ng splits clauses at 725 bytes, and reads lines of up to 999. */
const LONGEST_CLAUSE_BYTES = 600;
/** Joiners, direction marks and soft hyphens. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]/gu;
/**
 * Quotes, brackets, and everything that espeak-ng might interpret as a command: phonemes in `[[ ]]`, tags,
 * control characters, and the private-use characters that it uses internally.
 */
const NEUTRALIZED = /[\p{C}\s«»„“”"‟‹›()[\]{}<>|\\^~`_]+/gu;

/**
 * Splits a text into clauses as espeak-ng does: after a punctuation mark followed by a space or the end. A
 * dot before a lower-case letter marks an abbreviation, unless the text has no capitals at all, like a
 * normalized text.
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
    // Ignore signs before the first word: "— Иә."
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

/** Reduces a run of signs to one: "?!" to "?", dots inside a sentence to ",", a dash to ";". */
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

/** Cuts a clause between words into parts that espeak-ng does not split. */
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

/** Cuts a "word" of hundreds of letters anywhere. */
function shortWords(word: string): string[] {
  const points = [...word];
  if (points.length <= LONGEST_CLAUSE_BYTES / 4) return [word];
  const words: string[] = [];
  for (let at = 0; at < points.length; at += LONGEST_CLAUSE_BYTES / 4) {
    words.push(points.slice(at, at + LONGEST_CLAUSE_BYTES / 4).join(""));
  }
  return words;
}
