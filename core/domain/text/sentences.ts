import { SENTENCE_STARTERS } from "./kazakh/reading.js";

/** Maximum number of spoken characters in one pass of a voice. */
export const LONGEST_PIECE_CHARACTERS = 180;

const LETTER = "\\p{L}\\p{M}";
/** Marks that may end a sentence, with closing quotes and brackets; or the end of a line. */
const CANDIDATE = /[.!?…]+["'»”’“)\]]*|\n/gu;
/** Abbreviations that do not end a sentence even before a capital. */
const LEADING_ABBREVIATIONS = new Set(
  `доц биол хим физ матем пед филос филол психол геогр геол әдеб әск өнерк еур мәд техн төм жоғ биікт
  тереңд әлеум халықар шам сын қат пәт кес бет др тар бөл инж ген полк лейт дир авт атын басқ құраст
  ст пос солт оңт шығ бат мемл ғыл экон мед тех лат грек араб ағылш мөлт проф акад док ред тел мыс қар
  сал қ обл респ мкр шағ бас нұсқ сур ауд а көш даң даңғ дңғ окр просп ул им пр просп корп кв стр рис табл гл пп г св см
  т № dr mr mrs prof st vs`.split(/\s+/),
);
/** Abbreviations that may be last: a capital after them starts a sentence. */
const TRAILING_ABBREVIATION =
  /(?:^|[^\p{L}])(?:(?:ж\.\s?)?т\.\s?б|ж\.\s?б|(?:ж\.\s?)?т\.\s?(?:б\.\s?)?с(?:\.\s?с)?|т\.\s?т|с\.\s?с|ж\.\s?с\.\s?[бд]|и др|и пр|т\.\s?[дп]|м\.\s?а|б\.\s?[здэ](?:\.\s?[бд])?|мин|сағ|сек|тг|руб|млн|млрд|тыс)\.$/iu;
const UNIT = /\d ?(?:[кмсд]?м|[км]?г|м?л|т|ц|га|сағ|мин|сек|ш|дана|бб?)$/u;
const LAST_WORD = new RegExp(`(?<![${LETTER}\\d№])[${LETTER}\\d№]+$`, "u");
const LONGEST_TRAILING = 16;
/** Marks of years and centuries: a name continues the sentence, but not one of `SENTENCE_STARTERS`. */
const TIME_MARK = /(?:^|[^\p{L}]|[IVXІХ])(?:ж(?:\.\s?ж|ж)?|ғ(?:\.\s?ғ|ғ)?)\.$/u;
const LONE_LETTER = /(?:^|[^\p{L}])\p{L}$/u;
const SPACED_LETTER = /^[ \u00a0]\p{Ll}\.(?!\p{L}{2})/u;
const STARTER = new RegExp(`^\\s+(?:${SENTENCE_STARTERS})(?!\\p{L})`, "u");
const DOTTED_LETTERS = /(?:^|[^\p{L}])(?:\p{L}\.[- ]?){2,20}\p{L}$/u;
const INITIALS = /(?:^|[^\p{L}])\p{Lu}\.\s?\p{Lu}$/u;
/** An institution named after someone: "Абай ат. ҚазҰПУ". */
const NAMED_AFTER = /\p{Lu}\p{Ll}{1,20} ат$/u;
const STREET = /\p{Lu}\p{Ll}{1,20}(?: (?:батыр|хан|би|ата))? [кд]$/u;
const SPEECH_VERB = /^\s*(?:де(?:п|ді|ген|йді|йтін|сті|стi)|деп)(?![\p{L}])/u;

type GoesOn = (before: string, after: string) => boolean;

/**
 * Splits text into sentences. Their concatenation is the text: spaces and line ends stay with the preceding
 * sentence.
 *
 * Works on written text, where abbreviations, initials, decimals and direct speech do not end a sentence, and
 * on spoken text, where no capital marks the start of the next one.
 *
 * @param goesOn returns whether a dot between two texts does not end a sentence, for a language with its own
 * abbreviations
 */
export function splitIntoSentences(text: string, goesOn: GoesOn = () => false): string[] {
  const sentences: string[] = [];
  const hasCapitals = /\p{Lu}/u.test(text);
  let start = 0;
  let blankUntil = 0;
  for (const candidate of text.matchAll(CANDIDATE)) {
    const end = candidate.index + candidate[0].length;
    // Check a run of line ends once, at its first.
    if (candidate.index < start || !isBoundary(text, candidate.index, end, hasCapitals)) continue;
    if (candidate[0] === "." && goesOn(textBefore(text, candidate.index), text.slice(end, end + 40)))
      continue;
    // Checks white space once, however many line ends it has.
    if (text.slice(blankUntil, end).trim() === "") {
      blankUntil = end;
      continue;
    }
    const next = end + gapAt(text, end);
    sentences.push(text.slice(start, next));
    start = next;
    blankUntil = next;
  }
  if (start < text.length) appendRest(sentences, text.slice(start));
  return sentences;
}

/**
 * Splits a spoken sentence into pieces of at most `longest` characters: at clauses if possible, else between
 * words, and inside a word only if it is longer than a piece.
 */
export function splitIntoPieces(spoken: string, longest: number = LONGEST_PIECE_CHARACTERS): string[] {
  return pieceRanges(spoken, longest).map(({ start, end }) => spoken.slice(start, end));
}

/** Returns the ranges of `splitIntoPieces` without the spaces around them: [start, end), UTF-16 units. */
export function pieceRanges(
  spoken: string,
  longest: number = LONGEST_PIECE_CHARACTERS,
): { readonly start: number; readonly end: number }[] {
  const ranges: { start: number; end: number }[] = [];
  const add = (start: number, end: number) => {
    ranges.push({ start, end: start + spoken.slice(start, end).trimEnd().length });
    return end + gapAt(spoken, end);
  };
  const last = spoken.trimEnd().length;
  let start = gapAt(spoken, 0);
  while (last - start > longest) start = add(start, start + pieceEnd(spoken.slice(start, last), longest));
  if (start < last) add(start, last);
  return ranges;
}

function textBefore(text: string, at: number): string {
  return text.slice(Math.max(0, at - 40), at);
}

function gapAt(text: string, at: number): number {
  const rest = text.slice(at);
  return rest.length - rest.trimStart().length;
}

function isBoundary(text: string, at: number, end: number, hasCapitals: boolean): boolean {
  const after = text.slice(end, end + 40);
  if (text[at] === "\n") return isLineEnd(after);
  if (after === "") return true;
  const marks = text.slice(at, end);
  const isSpaced = /^\s/u.test(after);
  if (!isSpaced) return /^\p{Lu}/u.test(after) && /\p{Ll}{2}$/u.test(text.slice(Math.max(0, at - 2), at));
  if (/^[ \t]*\n/u.test(after) && isLineEnd(after.slice(after.indexOf("\n") + 1))) return true;
  if (isDirectSpeech(marks, after)) return false;
  const startsLow = /^\s+[«"“'(]?\p{Ll}/u.test(after);
  if (startsLow && (marks.startsWith("…") || marks.startsWith("..."))) return false;
  if (marks[0] !== "." || marks.length > 1) return true;
  const goesOnWithNumber = /^\s+(?:\d|[IVXІХ]+[ –—-])/u.test(after);
  const before = textBefore(text, at);
  const last = text[at - 1];
  if ((last === "ж" || last === "ғ") && TIME_MARK.test(`${before}.`)) {
    return hasCapitals ? STARTER.test(after) : !startsLow && !goesOnWithNumber;
  }
  if (NAMED_AFTER.test(before) && /^\s+(?:Қаз\p{Lu}|\p{Lu}{2})/u.test(after)) return false;
  // Letters with dots and spaces: "ж. т. б.", "б. з. д."
  if (after[2] === "." && SPACED_LETTER.test(after) && LONE_LETTER.test(before)) return false;
  return isFullStop(before, { startsLow, goesOnWithNumber, hasCapitals });
}

/** Returns whether a line end ends the sentence; a line that continues in lower case was only wrapped. */
function isLineEnd(after: string): boolean {
  return /^[ \t]*(?:\n|$)/u.test(after) || !/^\s*\p{Ll}/u.test(after);
}

/** Returns whether the mark ends direct speech inside a sentence: "— Қайда? — деді ол", "«Тоқта!» деп". */
function isDirectSpeech(marks: string, after: string): boolean {
  if (/^\s+[—–-]\s*\p{Ll}/u.test(after)) return true;
  if (SPEECH_VERB.test(after)) return true;
  return /["'»”’“)\]]$/u.test(marks) && /^\s+\p{Ll}/u.test(after);
}

interface Surroundings {
  readonly startsLow: boolean;
  readonly goesOnWithNumber: boolean;
  readonly hasCapitals: boolean;
}

function isFullStop(before: string, { startsLow, goesOnWithNumber, hasCapitals }: Surroundings): boolean {
  // "Т.Б. Ахметов" is a person, not "and others".
  if (!startsLow && !goesOnWithNumber && INITIALS.test(before)) return false;
  // "2024 ж. 12 мамыр" and "XX ғ. V" continue; a capital starts a sentence.
  if (TRAILING_ABBREVIATION.test(`${before.slice(-LONGEST_TRAILING)}.`))
    return !startsLow && !goesOnWithNumber;
  // Letters with dots: "т.ғ.д.", "ф.-м.ғ.к."
  if (DOTTED_LETTERS.test(before)) return false;
  const word = LAST_WORD.exec(before)?.[0] ?? "";
  if (LEADING_ABBREVIATIONS.has(word.toLowerCase())) return false;
  // A street: "Жандосов к. 55".
  if (goesOnWithNumber && STREET.test(before)) return false;
  // An initial: one capital, or two letters for one of the Latin alphabet.
  if (/^(?:\p{Lu}|[SCZ]h)$/u.test(word)) return false;
  // The number of a list item.
  if (/^(?:\d{1,3}|[IVXІХ]{1,5})$/u.test(word) && /(?:^|\n)[ \t]*[\dIVXІХ]{1,5}$/u.test(before)) return false;
  // A unit: "300 м. биіктікте".
  if (startsLow && UNIT.test(before)) return false;
  return !(startsLow && hasCapitals);
}

function appendRest(sentences: string[], rest: string): void {
  if (rest.trim() === "" && sentences.length > 0) sentences[sentences.length - 1] += rest;
  else sentences.push(rest);
}

/** Places where a cut is possible, with their quality. */
const CLAUSES: readonly (readonly [pattern: RegExp, quality: number])[] = [
  [/[.!?] /gu, 120],
  [/[;:] | — /gu, 80],
  [/, /gu, 60],
  [/ (?=(?:және|бірақ|алайда|сондықтан|өйткені|себебі|немесе|ал|әрі|сонымен|яғни) )/gu, 30],
  [/ /gu, 0],
];

/** Finds the best cut: quality outweighs some distance from the even length. */
function pieceEnd(text: string, longest: number): number {
  const pieceCount = Math.ceil(text.length / longest);
  const target = Math.min(longest, text.length / pieceCount);
  const window = text.slice(0, longest + 1);
  let best = longest;
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const [pattern, quality] of CLAUSES) {
    for (const match of window.matchAll(pattern)) {
      const end = match.index + match[0].length;
      const isInside = match.index > 0 && match[0].trimEnd().length + match.index <= longest;
      const score = quality - Math.abs(end - target);
      if (isInside && score > bestScore) [best, bestScore] = [end, score];
    }
  }
  return best;
}
