import type { LiveDone } from "./live-options.js";
import type { LiveFinal } from "./live-types.js";
import type { TimedWord } from "./transcription-types.js";

/** One or more finals of a live session that form a sentence. */
export interface LiveSentence {
  readonly text: string;
  /** Seconds from the start of the session. */
  readonly start: number;
  readonly end: number;
  /** Words of `text`. If the session was opened without `words`, the whole text counts as one word. */
  readonly words: readonly TimedWord[];
}

/** Text that a final adds to the text so far. */
export interface LiveAddition {
  /** Punctuation that completes the text so far, without the space after it. */
  readonly mark: string;
  /** Whether the text so far ends a sentence, so that the final starts another one. */
  readonly isNewSentence: boolean;
  readonly text: string;
  /** Whether the added text ends its sentence, so that no punctuation follows. */
  readonly isComplete: boolean;
}

/** Parts of a final that make up a sentence. */
export type SentencePart = Pick<
  LiveFinal,
  "text" | "start" | "end" | "words" | "display_text" | "display_before" | "display_words"
>;

/** Matches a text that ends its sentence. */
export const STOP = /[.?!…]$/u;

/**
 * Joins the finals of a live session into sentences, in order: readable text if the session was opened with
 * `display`, otherwise one sentence per final. Finals without text add nothing.
 *
 * @param done `done` of the ended session, which adds the punctuation at the end
 */
export function liveSentences(
  finals: Iterable<SentencePart>,
  done: Pick<LiveDone, "displayEnd"> | null = null,
): readonly LiveSentence[] {
  const sentences: LiveSentence[] = [];
  for (const final of finals) {
    const last = sentences.at(-1);
    const { mark, isNewSentence, text } = additionOf(final, last?.text ?? "");
    if (text === "") continue;
    if (last !== undefined && mark !== "") sentences[sentences.length - 1] = marked(last, mark);
    const open = isNewSentence ? undefined : sentences.pop();
    sentences.push(open === undefined ? sentenceOf(final, text) : continued(open, final, text));
  }
  const last = sentences.pop();
  if (last !== undefined) sentences.push(marked(last, done?.displayEnd ?? ""));
  return sentences;
}

/** @param textBefore the sentence so far, or the previous sentence; empty at the start */
export function additionOf(
  { text, display_text, display_before = "" }: SentencePart,
  textBefore: string,
): LiveAddition {
  if (display_text === undefined) return { mark: "", isNewSentence: true, text, isComplete: true };
  const mark = display_before.trimEnd();
  const isNewSentence = textBefore === "" || STOP.test(mark) || (mark === "" && STOP.test(textBefore));
  return { mark, isNewSentence, text: display_text, isComplete: STOP.test(display_text) };
}

function sentenceOf({ start, end, words, display_text, display_words }: SentencePart, text: string) {
  const own = display_text === undefined ? words : display_words;
  return { text, start, end, words: own ?? [{ word: text, start, end }] };
}

function continued(open: LiveSentence, final: SentencePart, text: string): LiveSentence {
  const added = sentenceOf(final, text);
  return {
    text: `${open.text} ${text}`,
    start: open.start,
    end: added.end,
    words: [...open.words, ...added.words],
  };
}

function marked(sentence: LiveSentence, mark: string): LiveSentence {
  const last = sentence.words.at(-1);
  if (mark === "" || last === undefined) return sentence;
  const words = [...sentence.words.slice(0, -1), { ...last, word: last.word + mark }];
  return { ...sentence, text: sentence.text + mark, words };
}
