import type { WordTime } from "../../../core/domain/synthesis/word-time.js";

/** Number of words kept: more than an hour of speech, so a listener is never further behind. */
const MOST_WORDS = 10_000;

interface HeardWord {
  readonly turn: number;
  /** Start of the word within the turn's audio, in seconds. */
  readonly start: number;
  /** End of the word, in code points of the turn's text. */
  readonly to: number;
}

/** How far a listener had played the speech. */
export interface Played {
  readonly playedSeconds: number;
  /** By default the last turn with words. */
  readonly turn?: number | undefined;
}

/** Finds how much of a turn's text a listener has heard, from the words of the latest audio. */
export class HeardText {
  #words: HeardWord[] = [];

  /** @param words words with times relative to `startSeconds` in the turn's audio */
  add(turn: number, startSeconds: number, words: readonly WordTime[]): void {
    for (const { start, to } of words) this.#words.push({ turn, start: startSeconds + start, to });
    if (this.#words.length > MOST_WORDS) this.#words = this.#words.slice(-MOST_WORDS / 2);
  }

  /**
   * Returns the number of characters of a turn up to the end of the last word that had started within
   * `playedSeconds` of its audio; null if its words are unknown.
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
