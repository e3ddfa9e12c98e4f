/** Characters of spoken text that one pass of a voice takes without running out of breath. */
export const LONGEST_PIECE_CHARACTERS = 180;

const LETTER = "\\p{L}\\p{M}";
/** Marks that may end a sentence, with the quotes and brackets that close around it; or the end of a line. */
const CANDIDATE = /[.!?…]+["'»”’“)\]]*|\n/gu;
/** Abbreviations that go on even before a capital. */
const LEADING_ABBREVIATION =
  /^(?:проф|акад|док|ред|тел|мыс|қ|обл|ауд|а|көш|даң|пәт|ул|им|г|св|см|т|№|dr|mr|mrs|prof|st|vs)$/iu;
/** Abbreviations that may stand last: a capital after them begins a sentence. */
const TRAILING_ABBREVIATION =
  /(?:^|[^\p{L}])(?:т\.\s?б|т\.\s?с\.\s?с|т\.\s?т|б\.\s?з(?:\.\s?[бд])?|жж?|ғғ?|мин|сағ|сек|тг|руб|млн|млрд|тыс)\.$/iu;
const SPEECH_VERB = /^\s*(?:де(?:п|ді|ген|йді|йтін|сті|стi)|деп)(?![\p{L}])/u;

/**
 * Splits text into sentences. Their concatenation is the text: spaces and line ends stay with the sentence before them.
 *
 * Works on written text (abbreviations, initials, decimals and direct speech do not end a sentence) and on spoken text,
 * where no capital shows the begin of the next one.
 */
export function splitIntoSentences(text: string): string[] {
  const sentences: string[] = [];
  const hasCapitals = /\p{Lu}/u.test(text);
  let start = 0;
  for (const candidate of text.matchAll(CANDIDATE)) {
    const end = candidate.index + candidate[0].length;
    // A run of line ends is looked at once, at its first.
    if (candidate.index < start || !isBoundary(text, candidate.index, end, hasCapitals)) continue;
    const next = end + /^\s*/u.exec(text.slice(end))![0].length;
    if (text.slice(start, end).trim() === "") continue;
    sentences.push(text.slice(start, next));
    start = next;
  }
  if (start < text.length) appendRest(sentences, text.slice(start));
  return sentences;
}

/**
 * Splits a spoken sentence into pieces of at most `longest` characters: at clauses where there are some, between words
 * otherwise, inside a word only when it is longer than a piece. Letters and marks stay in order, none is lost.
 */
export function splitIntoPieces(spoken: string, longest: number = LONGEST_PIECE_CHARACTERS): string[] {
  const pieces: string[] = [];
  let rest = spoken.trim();
  while (rest.length > longest) {
    const at = pieceEnd(rest, longest);
    pieces.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  if (rest !== "") pieces.push(rest);
  return pieces;
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
  return isFullStop(text.slice(Math.max(0, at - 40), at), startsLow, hasCapitals);
}

/** A line that goes on in lower case was only wrapped. */
function isLineEnd(after: string): boolean {
  return /^[ \t]*(?:\n|$)/u.test(after) || !/^\s*\p{Ll}/u.test(after);
}

/** "— Қайда? — деді ол", "«Тоқта!» деп". */
function isDirectSpeech(marks: string, after: string): boolean {
  if (/^\s+[—–-]\s*\p{Ll}/u.test(after)) return true;
  if (SPEECH_VERB.test(after)) return true;
  return /["'»”’“)\]]$/u.test(marks) && /^\s+\p{Ll}/u.test(after);
}

function isFullStop(before: string, startsLow: boolean, hasCapitals: boolean): boolean {
  if (TRAILING_ABBREVIATION.test(`${before}.`)) return !startsLow;
  const word = new RegExp(`[${LETTER}\\d№]+$`, "u").exec(before)?.[0] ?? "";
  if (LEADING_ABBREVIATION.test(word)) return false;
  // An initial: one capital.
  if (/^\p{Lu}$/u.test(word)) return false;
  // The number of a list item.
  if (/^\d{1,3}$/.test(word) && /(?:^|\n)[ \t]*\d{1,3}$/u.test(before)) return false;
  return !(startsLow && hasCapitals);
}

function appendRest(sentences: string[], rest: string): void {
  if (rest.trim() === "" && sentences.length > 0) sentences[sentences.length - 1] += rest;
  else sentences.push(rest);
}

/** Where a clause may be cut, and how good a place that is. */
const CLAUSES: readonly (readonly [pattern: RegExp, quality: number])[] = [
  [/[.!?] /gu, 120],
  [/[;:] | — /gu, 80],
  [/, /gu, 60],
  [/ (?=(?:және|бірақ|алайда|сондықтан|өйткені|себебі|немесе|ал|әрі|сонымен|яғни) )/gu, 30],
  [/ /gu, 0],
];

/** The best cut: a good place beats a nearer one, up to a point. Pieces come out at similar lengths. */
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
