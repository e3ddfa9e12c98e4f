import { type NormalizeOptions, normalizeKazakh, type SpokenWord } from "./kazakh/normalize.js";
import { pieceRanges, splitIntoSentences } from "./sentences.js";

/** What a voice says in one go. */
export interface SpokenPiece {
  readonly text: string;
  /** Its words in order: the spoken side counts from the begin of the piece, the written one from that of the whole text. */
  readonly words: readonly SpokenWord[];
}

/** One sentence [start, end) of a text, UTF-16 units, and what is said for it: no pieces where nothing can be. */
export interface SpokenSentence {
  readonly start: number;
  readonly end: number;
  readonly pieces: readonly SpokenPiece[];
  /** Where the characters (code points) of the text stand that have no place in speech. */
  readonly dropped: readonly number[];
}

/** A written text as sentences of spoken pieces, with the place in the text of every word. */
export function spokenSentences(text: string, options: NormalizeOptions): SpokenSentence[] {
  let start = 0;
  return splitIntoSentences(text).map((written) => {
    const offset = start;
    start += written.length;
    const { spoken, words, dropped } = normalizeKazakh(written, options);
    return {
      start: offset,
      end: start,
      pieces: piecesOf(spoken, words, offset),
      dropped: dropped.map((at) => at + offset),
    };
  });
}

/** Pieces with their words; a word longer than a piece is in each piece that says a part of it. */
function piecesOf(spoken: string, words: readonly SpokenWord[], offset: number): SpokenPiece[] {
  let index = 0;
  return pieceRanges(spoken).map(({ start, end }) => {
    const inside: SpokenWord[] = [];
    for (let word = words[index]; word !== undefined && word.spokenStart < end; word = words[index]) {
      inside.push({
        spokenStart: Math.max(0, word.spokenStart - start),
        spokenEnd: Math.min(end, word.spokenEnd) - start,
        start: word.start + offset,
        end: word.end + offset,
      });
      if (word.spokenEnd > end) break;
      index++;
    }
    return { text: spoken.slice(start, end), words: inside };
  });
}
