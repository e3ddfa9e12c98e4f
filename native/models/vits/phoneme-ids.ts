/** What a voice has learned for each phoneme: one code point, and the numbers that stand for it. */
export type PhonemeIds = Readonly<Record<string, readonly number[]>>;

export const PAD = "_";
export const BEGIN = "^";
export const END = "$";

/** The numbers of a sentence, and which of them belong to which of its phonemes. */
export interface EncodedSentence {
  readonly ids: BigInt64Array;
  /** `[phonemes + 1]`: where in `ids` each phoneme begins, its padding behind it, and where the end mark is. */
  readonly starts: Int32Array;
  /** Phonemes that the voice does not know; they are left out. */
  readonly unknown: number;
}

/**
 * Start symbol, phonemes, end symbol, with a pad after each but the last.
 * @see rhasspy/piper-phonemize at 2407c89, `src/phoneme_ids.cpp`: the start symbol has a pad too
 */
export function encodePhonemes(phonemes: readonly string[], idsOf: PhonemeIds): EncodedSentence {
  const pad = idsOf[PAD]!;
  const ids = [...idsOf[BEGIN]!, ...pad];
  const starts = new Int32Array(phonemes.length + 1);
  let unknown = 0;
  for (const [index, phoneme] of phonemes.entries()) {
    starts[index] = ids.length;
    const known = Object.hasOwn(idsOf, phoneme) ? idsOf[phoneme] : undefined;
    if (known === undefined) unknown++;
    else ids.push(...known, ...pad);
  }
  starts[phonemes.length] = ids.length;
  ids.push(...idsOf[END]!);
  return { ids: BigInt64Array.from(ids, BigInt), starts, unknown };
}

/**
 * Characters as numbers, with a blank before, between and behind them if the weights were trained so.
 * @see huggingface/transformers, `VitsTokenizer`: characters that are not in the vocabulary are left out, and so is white
 * space at the ends
 */
export function encodeCharacters(
  characters: readonly string[],
  idOf: Readonly<Record<string, number>>,
  { blank }: { readonly blank: number | null },
): EncodedSentence {
  const ids = blank === null ? [] : [blank];
  const starts = new Int32Array(characters.length + 1);
  let unknown = 0;
  for (const [index, character] of characters.entries()) {
    starts[index] = ids.length;
    const id = Object.hasOwn(idOf, character) ? idOf[character] : undefined;
    if (id === undefined) unknown++;
    else ids.push(id, ...(blank === null ? [] : [blank]));
  }
  starts[characters.length] = ids.length;
  return { ids: BigInt64Array.from(ids, BigInt), starts, unknown };
}
