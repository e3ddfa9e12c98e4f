/** A word or phrase to be preferred: as it is said, or also by how much. */
export type HotWord =
  | string
  | {
      readonly word: string;
      /** Advantage of each letter, 0 to 5; 1 when absent. */
      readonly score?: number | undefined;
    };

/** Hot words as the service takes them: `word`, or `word:score`, between commas. */
export function writtenHotWords(words: readonly HotWord[]): string {
  return words
    .map((word) => {
      if (typeof word === "string") return word;
      return word.score === undefined ? word.word : `${word.word}:${word.score}`;
    })
    .join(",");
}
