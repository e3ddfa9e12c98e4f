import type { NumberWord } from "./number-words.js";
import type { Written } from "./written.js";

/** How a language counts and joins numbers. */
export interface Joints {
  /** Parses a word that counts; null for other words. */
  readonly numberWord: (word: string) => (NumberWord & { readonly isOrdinal: boolean }) | null;
  /** Joins two numbers: "семь или десять". */
  readonly joint: RegExp;
  /** Words between numbers that may share a scale: "от десяти до двадцати тысяч", "сто или двести тысяч". */
  readonly until: RegExp;
  /**
   * Ending of the first number of a range: "оннан жиырма мыңға дейін"; null in a language without such
   * endings.
   */
  readonly from: RegExp | null;
  /** Preposition repeated before each number of a list: "в восемь, в десять". */
  readonly preposition: RegExp | null;
}

/** Most digits of an ordinal in a list; years have four. */
const LONGEST_ORDINAL = 3;
/** Maximum distance in words from one number of a list to the next, with a preposition before each. */
const LONGEST_STEP = 8;
/** "На сто или даже на двести тысяч". */
const BETWEEN = /^(?:даже|же|на|в|за)$/;

/**
 * Turns digits back into words next to a joined number that stayed a word: "семь или десять", "тридцать
 * девять и пять". Numbers of a range that share a scale also become words.
 */
export function withoutMixedPairs(
  words: readonly string[],
  pieces: readonly Written[],
  joints: Joints,
): readonly Written[] {
  /** For every word, whether it belongs to a number in digits. */
  const isFigure = words.map(() => false);
  const figures = pieces.filter(({ text, first }) => text !== words[first]);
  for (const { first, end } of figures) isFigure.fill(true, first, end);
  const returned = new Set<Written>();
  const keepWords = (figure: Written) => {
    returned.add(figure);
    isFigure.fill(false, figure.first, figure.end);
  };
  for (const [nth, piece] of pieces.entries()) {
    const other = withSameScale(pieces, nth, joints);
    if (other !== null) for (const number of [other, piece]) keepWords(number);
  }
  // Forwards, then backwards: one word decides for a whole list.
  for (const figure of [...figures, ...figures.toReversed()]) {
    if (isFigure[figure.first] && isJoinedToWord(words, figure, isFigure, joints)) keepWords(figure);
  }
  if (returned.size === 0) return pieces;
  return pieces.flatMap((piece) =>
    returned.has(piece)
      ? words
          .slice(piece.first, piece.end)
          .map((text, nth) => ({ text, first: piece.first + nth, end: piece.first + nth + 1 }))
      : [piece],
  );
}

function isJoinedToWord(
  words: readonly string[],
  { text, first, end }: Written,
  isFigure: readonly boolean[],
  { numberWord, joint, preposition }: Joints,
): boolean {
  const isOrdinal = numberWord(words[end - 1]!)?.isOrdinal ?? false;
  const isWord = (at: number) =>
    isFigure[at] === false && numberWord(words[at] ?? "")?.isOrdinal === isOrdinal;
  const isSmallOrdinal = isOrdinal && (text.match(/\d/g)?.length ?? 0) <= LONGEST_ORDINAL;
  const isNumber = (at: number) => isFigure[at] === false && numberWord(words[at] ?? "") !== null;
  if (isSmallOrdinal && (isWord(first - 1) || isNumber(end))) return true;
  if (joint.test(words[first - 1] ?? "") && isWord(first - 2)) return true;
  if (joint.test(words[end] ?? "") && isWord(end + 1)) return true;
  if (preposition?.test(words[first - 1] ?? "") !== true) return false;
  const isRepeated = (at: number) => words[at] === words[first - 1];
  for (let at = first - 3; at >= Math.max(0, first - LONGEST_STEP); at--) {
    if (isRepeated(at) && isWord(at + 1)) return true;
  }
  return isRepeated(end) && isWord(end + 1);
}

/**
 * Returns the number before a range's last one if it omits the scale that both share: "от десяти до двадцати
 * тысяч" is not "от 10 до 20 000". Returns null otherwise.
 */
function withSameScale(
  pieces: readonly Written[],
  nth: number,
  { numberWord, until, from }: Joints,
): Written | null {
  const { text } = pieces[nth]!;
  const isOfScale = /^\d/.test(text) && (/\d\u00a0?000(?!\d)/.test(text) || / (?:млн|млрд|трлн)/.test(text));
  if (!isOfScale) return null;
  const isLinkAt = (at: number) => until.test(pieces[at]?.text ?? "");
  let at = nth - 1;
  while (at > nth - 3 && !isLinkAt(at) && BETWEEN.test(pieces[at]?.text ?? "")) at--;
  const isLink = isLinkAt(at);
  const other = pieces[isLink ? at - 1 : nth - 1];
  if (other === undefined || (!isLink && from?.test(other.text) !== true)) return null;
  const last = Number(text.replace(/\D/g, "").replace(/000$/, ""));
  const first = /^\d{1,3}(?![\d\u00a0,])/.exec(other.text)?.[0] ?? numberWord(other.text)?.value;
  return first !== undefined && Number(first) > 0 && Number(first) < Math.min(last, 1_000) ? other : null;
}
