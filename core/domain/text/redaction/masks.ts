import type { RedactedKind, Redaction } from "./redact.js";

/** Labels that replace personal data. */
const MASKS: Readonly<Record<RedactedKind, string>> = {
  phone: "[PHONE]",
  iin: "[IIN]",
  card: "[CARD]",
  email: "[EMAIL]",
};

/** A word or piece of a display text that stands for spoken words [first, end). */
interface Piece {
  readonly text: string;
  readonly first: number;
  readonly end: number;
}

/**
 * Masks pieces of a display text, each of which stands for spoken words [first, end).
 *
 * A piece that shares a word with a redaction is masked whole, so digits never show a part of a number.
 * Punctuation after the masked pieces is kept.
 *
 * @param pieces in order; together they cover every spoken word once
 */
export function maskedPieces<P extends Piece>(
  pieces: readonly P[],
  redactions: readonly Redaction[],
): (P | Piece)[] {
  const masked: (P | Piece)[] = [];
  let nth = 0;
  let isInside = false;
  for (const piece of pieces) {
    while (nth < redactions.length && redactions[nth]!.end <= piece.first) {
      nth++;
      isInside = false;
    }
    const redaction = redactions[nth];
    if (redaction === undefined || redaction.first >= piece.end) {
      masked.push(piece);
      continue;
    }
    const marks = TRAILING_MARKS.exec(piece.text)?.[0] ?? "";
    const before = isInside ? masked.pop() : undefined;
    masked.push({ text: MASKS[redaction.kind] + marks, first: before?.first ?? piece.first, end: piece.end });
    isInside = true;
  }
  return masked;
}
const TRAILING_MARKS = /[.,;:!?…»”"]{0,4}$/u;

/**
 * Masks words with times: each redaction becomes one word that spans its first to its last word.
 * `merge` adds further fields to the word, such as a confidence.
 */
export function maskedWords<
  W extends { readonly word: string; readonly start: number; readonly end: number },
>(
  words: readonly W[],
  redactions: readonly Redaction[],
  merge: (masked: readonly W[]) => W = ([first]) => first!,
): W[] {
  const masked: W[] = [];
  let at = 0;
  for (const { kind, first, end } of redactions) {
    masked.push(...words.slice(at, first));
    const hidden = words.slice(first, end);
    const marks = TRAILING_MARKS.exec(hidden.at(-1)!.word)?.[0] ?? "";
    const [{ start }, { end: last }] = [hidden[0]!, hidden.at(-1)!];
    masked.push({ ...merge(hidden), word: MASKS[kind] + marks, start, end: last });
    at = end;
  }
  masked.push(...words.slice(at));
  return masked;
}

/**
 * Masks a text whose words, separated by white space, are the searched words.
 *
 * @throws {RangeError} if the text has fewer words than a redaction needs
 */
export function maskedText(text: string, redactions: readonly Redaction[]): string {
  const words = [...text.matchAll(/\S+/gu)];
  let [masked, from] = ["", 0];
  for (const { kind, first, end } of redactions) {
    const [start, last] = [words[first], words[end - 1]];
    if (start === undefined || last === undefined) {
      throw new RangeError(`words ${first} to ${end} are not in a text of ${words.length} words`);
    }
    masked += text.slice(from, start.index) + MASKS[kind] + (TRAILING_MARKS.exec(last[0])?.[0] ?? "");
    from = last.index + last[0].length;
  }
  return masked + text.slice(from);
}
