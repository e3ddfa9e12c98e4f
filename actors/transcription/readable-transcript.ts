import type { FileTranscript, FileWord, ReadableWord } from "../../core/domain/decoding/transcript.js";
import { pausesAfter } from "../../core/domain/text/display/pauses.js";
import type { ReadingOptions } from "../../core/domain/text/display/reading.js";
import { maskedText, maskedWords } from "../../core/domain/text/redaction/masks.js";
import type { Redaction } from "../../core/domain/text/redaction/redact.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";

/**
 * Makes a file's transcript readable as one text, because a number or a sentence may continue after a pause.
 * Masked data is also removed from the words and the text.
 */
export async function readableTranscript(
  transcript: FileTranscript,
  options: ReadingOptions,
  reader: Pick<TranscriptReader, "read">,
): Promise<FileTranscript> {
  const words = transcript.segments.flatMap((segment) => segment.words);
  const { pieces, redactions } = await reader.read({
    ...options,
    words: words.map(({ word }) => word),
    pauses: pausesAfter(words),
    context: 0,
    previous: "none",
    isOver: true,
  });
  /** Maps each word, and the end, to its index in the response's list of words. */
  const placeOf = new Int32Array(words.length + 1);
  let [first, place, piece] = [0, 0, 0];
  const segments = transcript.segments.map((segment) => {
    const start = first;
    const end = start + segment.words.length;
    const hidden = clipped(redactions, start, end);
    for (let at = start; at < end; at++) {
      placeOf[at] = place;
      if (!hidden.some((own) => at - start >= own.first && at - start < own.end - 1)) place++;
    }
    placeOf[end] = place;
    first = end;
    const readable: ReadableWord[] = [];
    // A displayed word belongs to the segment in which it begins.
    for (; piece < pieces.length && pieces[piece]!.first < end; piece++) {
      const { text, first: from, end: to } = pieces[piece]!;
      const { start: startsAt, speaker } = words[from]!;
      const readableWord = { word: text, start: startsAt, end: words[to - 1]!.end };
      readable.push({ ...readableWord, spoken: [from, to], ...(speaker !== undefined && { speaker }) });
    }
    return {
      ...segment,
      text: maskedText(segment.text, hidden),
      words: maskedWords(segment.words, hidden, leastSure),
      readable,
    };
  });
  return {
    ...transcript,
    segments: segments.map(({ readable, ...segment }) =>
      options.display ? { ...segment, readable: readable.map((word) => placed(word, placeOf)) } : segment,
    ),
    isDisplayed: options.display,
    ...(options.redact.length > 0 && {
      redactions: redactions.map(({ kind, first: from, end }) => ({
        kind,
        start: words[from]!.start,
        end: words[end - 1]!.end,
      })),
    }),
  };
}

/** Returns the word with the lowest confidence, if words have confidences. */
function leastSure(words: readonly FileWord[]): FileWord {
  return words.reduce((least, word) => ((word.confidence ?? 0) < (least.confidence ?? 0) ? word : least));
}

function placed({ spoken: [first, end], ...word }: ReadableWord, placeOf: Int32Array): ReadableWord {
  return { ...word, spoken: [placeOf[first]!, Math.max(placeOf[first]! + 1, placeOf[end]!)] };
}

/** Returns the parts of redactions that lie in words [start, end), counted from `start`. */
function clipped(redactions: readonly Redaction[], start: number, end: number): readonly Redaction[] {
  return redactions
    .filter((redaction) => redaction.first < end && redaction.end > start)
    .map(({ kind, first, end: last }) => ({
      kind,
      first: Math.max(first, start) - start,
      end: Math.min(last, end) - start,
    }));
}
