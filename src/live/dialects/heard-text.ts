import type { WordTime } from "../../../core/domain/synthesis/word-time.js";

/** Words kept, more than an hour of speech: a listener is never further behind. */
const MOST_WORDS = 10_000;

interface HeardWord {
  readonly turn: number;
  /** Seconds of the turn's audio before it. */
  readonly start: number;
  /** End of the word, in code points of the turn's text. */
  readonly to: number;
}

/** Where a listener was. */
export interface Played {
  readonly playedSeconds: number;
  /** The last turn with words by default. */
  readonly turn?: number | undefined;
}

/** Finds how much of a turn's text a listener has heard, by the words of the latest audio. */
export class HeardText {
  #words: HeardWord[] = [];

  /** @param words with times from `startSeconds` of the turn's audio */
  add(turn: number, startSeconds: number, words: readonly WordTime[]): void {
    for (const { start, to } of words) this.#words.push({ turn, start: startSeconds + start, to });
    if (this.#words.length > MOST_WORDS) this.#words = this.#words.slice(-MOST_WORDS / 2);
  }

  /**
   * Returns the characters of a turn up to the end of the last word that had begun after `playedSeconds` of
   * its audio; null if its words are unknown.
   */
  until({
    playedSeconds,
    turn: given,
  }: Played): { readonly turn: number; readonly characters: number } | null {
    const turn = given ?? this.#words.at(-1)?.turn;
    const words = this.#words.filter((word) => word.turn === turn);
    if (turn === undefined || words.length === 0) return null;
    return { turn, characters: words.findLast(({ start }) => start < playedSeconds)?.to ?? 0 };
  }
}
