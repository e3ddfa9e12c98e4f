import { seconds } from "../rounded.js";
import { countCodePoints } from "../text/code-points.js";
import type { SpokenPiece } from "../text/spoken-sentences.js";
import type { WordTime } from "./word-time.js";

/** A spoken word, its written part [start, end) in UTF-16 units, and its time. */
export interface SaidWord {
  readonly spoken: string;
  readonly start: number;
  readonly end: number;
  /** [startSample, endSample) of the sentence's audio. */
  readonly startSample: number;
  readonly endSample: number;
}

/**
 * Returns the words of a piece with their times.
 *
 * @param bounds see `SynthesizedPiece.characterBounds`
 * @param offsetSamples samples of the sentence before the piece
 */
export function saidWords(
  { text, words }: SpokenPiece,
  bounds: Int32Array,
  offsetSamples: number,
): SaidWord[] {
  return words.map(({ spokenStart, spokenEnd, start, end }) => ({
    spoken: text.slice(spokenStart, spokenEnd),
    start,
    end,
    startSample: offsetSamples + bounds[spokenStart]!,
    endSample: offsetSamples + bounds[spokenEnd]!,
  }));
}

/** Times of the words of one written text. */
export class WrittenWords {
  readonly #text: string;
  readonly #sampleRateHz: number;
  /** UTF-16 units and code points counted so far; words must arrive in order. */
  #units = 0;
  #codePoints = 0;

  constructor(text: string, sampleRateHz: number) {
    this.#text = text;
    this.#sampleRateHz = sampleRateHz;
  }

  /**
   * Returns the written words of the next sentence, in order. Spoken words of one part of the text, such as
   * those of "2024", form one word.
   *
   * @param offsetSamples audio before the sentence
   */
  timesOf(said: readonly SaidWord[], offsetSamples = 0): WordTime[] {
    return joinedWords(said).map((word) => this.#timeOf(word, offsetSamples));
  }

  #timeOf({ spoken, start, end, startSample, endSample }: SaidWord, offsetSamples: number): WordTime {
    const word = this.#text.slice(start, end);
    const from = this.#codePointsBefore(start);
    return {
      word,
      ...(spoken !== word.normalize("NFC").toLowerCase() && { spoken }),
      start: this.#seconds(offsetSamples + startSample),
      end: this.#seconds(offsetSamples + endSample),
      from,
      to: this.#codePointsBefore(end),
    };
  }

  #seconds(samples: number): number {
    return seconds(samples / this.#sampleRateHz);
  }

  #codePointsBefore(unit: number): number {
    this.#codePoints += countCodePoints(this.#text.slice(this.#units, unit));
    this.#units = unit;
    return this.#codePoints;
  }
}

/** Joins adjacent words whose parts of the text overlap. */
export function joinedWords(said: readonly SaidWord[]): SaidWord[] {
  const words: SaidWord[] = [];
  for (const word of said) {
    const last = words.at(-1);
    if (last === undefined || word.start >= last.end) {
      words.push(word);
      continue;
    }
    const spoken = `${last.spoken} ${word.spoken}`;
    words[words.length - 1] = { ...last, spoken, end: word.end, endSample: word.endSample };
  }
  return words;
}
