const WORD = /\S+/gu;
const SOUND = /[\p{L}\p{N}]/u;
const OUTER_SIGNS = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

/** A sentence of a piece, or a part of one, with its timing. */
export interface SaidSentence {
  readonly phonemes: readonly string[];
  /** `[phonemes + 1]`: samples of the piece at which each phoneme starts, and at which the last one ends. */
  readonly samples: Float64Array;
}

/**
 * Computes the samples at which characters are spoken: exact for words, evenly spaced within. Null if the
 * phonemes and the text differ in the number of words, since a guess would be mistaken for a measurement.
 *
 * @returns as `SynthesizedPiece.characterBounds`
 */
export function wordBounds(text: string, sentences: readonly SaidSentence[]): Int32Array | null {
  const written = [...text.matchAll(WORD)].filter(([word]) => SOUND.test(word));
  const said = sentences.flatMap(wordsOf);
  if (written.length === 0 || written.length !== said.length) return null;
  const bounds = new Int32Array(text.length + 1);
  let unit = 0;
  let sample = said[0]!.start;
  for (const [index, { 0: word, index: at }] of written.entries()) {
    const { start, end } = said[index]!;
    // The gap between two words belongs to neither.
    bounds.fill(Math.round(sample), unit, at);
    const length = soundLength(word);
    for (let i = 0; i <= word.length; i++) {
      bounds[at + i] = Math.round(start + ((end - start) * Math.min(i, length)) / length);
    }
    unit = at + word.length + 1;
    sample = end;
  }
  bounds.fill(Math.round(sample), Math.min(unit, bounds.length));
  return bounds;
}

/** Returns the words of a text in lower case, without signs around them. */
export function writtenWords(text: string): string[] {
  const words = [...text.toLowerCase().matchAll(WORD)].filter(([word]) => SOUND.test(word));
  return words.map(([word]) => word.replace(OUTER_SIGNS, ""));
}

/** Returns the length of a word without trailing signs. */
function soundLength(word: string): number {
  let length = word.length;
  while (!SOUND.test(word[length - 1]!)) length--;
  return length;
}

function wordsOf({ phonemes, samples }: SaidSentence): { readonly start: number; readonly end: number }[] {
  const words: { start: number; end: number }[] = [];
  let first = 0;
  for (let at = 0; at <= phonemes.length; at++) {
    if (at < phonemes.length && phonemes[at] !== " ") continue;
    if (phonemes.slice(first, at).some((phoneme) => SOUND.test(phoneme))) {
      words.push({ start: samples[first]!, end: samples[at]! });
    }
    first = at + 1;
  }
  return words;
}
