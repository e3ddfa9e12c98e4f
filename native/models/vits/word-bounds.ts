const WORD = /\S+/gu;
const SOUND = /[\p{L}\p{N}]/u;

/** A sentence of a piece: its phonemes, and the sample of the piece at which each begins and the last one ends. */
export interface SaidSentence {
  readonly phonemes: readonly string[];
  /** `[phonemes + 1]` */
  readonly samples: Float64Array;
}

/**
 * Where in a piece's samples its characters are said, word by word; inside a word evenly. Null where the phonemes have
 * other words than the text: to guess would be to be believed.
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
    // What is between two words belongs to neither.
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

/** Without the signs behind it. */
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
