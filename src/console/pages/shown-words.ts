import type { TimedWord } from "../../../core/domain/decoding/words.js";
import type { Transcribed } from "../../client/browser.js";

/** How transcripts are shown: readable (with capitals, punctuation and digits), or word by word as spoken. */
export const TEXT_FORMS = ["readable", "spoken"] as const;
export type TextForm = (typeof TEXT_FORMS)[number];

/** A displayed word, with the texts that a search finds it by. */
export interface ShownWord extends TimedWord {
  readonly texts: readonly string[];
  /** From 0; absent if speakers were not told apart. */
  readonly speaker?: number | undefined;
}

/** Returns the words to show. A search also finds a number by its spoken words: "2026" by "две тысячи". */
export function shownWords(
  { words = [], display_words = [] }: Pick<Transcribed, "words" | "display_words">,
  form: TextForm,
): readonly ShownWord[] {
  if (form === "spoken" || display_words.length === 0) {
    return words.map((word) => ({ ...timesOf(word), texts: [word.word.toLowerCase()] }));
  }
  return display_words.map((word) => {
    const spoken = words.slice(...word.spoken).map((one) => one.word.toLowerCase());
    return { ...timesOf(word), texts: [word.word.toLowerCase(), spoken.join(" ")] };
  });
}

function timesOf({ word, start, end, speaker }: Omit<ShownWord, "texts">): Omit<ShownWord, "texts"> {
  return { word, start, end, ...(speaker !== undefined && { speaker }) };
}
