/** Ids by phoneme; a phoneme is one code point. */
export type PhonemeIds = Readonly<Record<string, readonly number[]>>;

export const PAD = "_";
export const BEGIN = "^";
export const END = "$";

/** The ids of a sentence, aligned with its phonemes. */
export interface EncodedSentence {
  readonly ids: BigInt64Array;
  /** `[phonemes + 1]`: index in `ids` of each phoneme (its padding follows), and of the end mark. */
  readonly starts: Int32Array;
  /** Number of phonemes without an id, which are dropped. */
  readonly unknown: number;
}

/**
 * Encodes start symbol, phonemes and end symbol, with a pad after each but the last.
 * @see rhasspy/piper-phonemize at 2407c89, `src/phoneme_ids.cpp`: a pad follows the start symbol too
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
 * Encodes characters, with a blank before, between and after them if `blank` is given.
 * @see huggingface/transformers, `VitsTokenizer`: leaves out unknown characters, and white space at the ends
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
