import type { WordTime } from "../../../core/domain/synthesis/word-time.js";

/** Words kept of a turn, about an hour of speech: a listener is never further behind. */
const MOST_WORDS = 10_000;

interface HeardWord {
  /** Seconds of the turn's audio before it. */
  readonly start: number;
  /** End of the word, in code points of the turn's text. */
  readonly to: number;
}

/** Finds how much of a turn's text a listener has heard. Keeps the last turn with audio. */
export class HeardText {
  #turn: number | null = null;
  #words: HeardWord[] = [];
  #hasWords = false;

  /** @param words with times from `startSeconds` of the turn's audio */
  add(turn: number, startSeconds: number, words: readonly WordTime[]): void {
    if (turn !== this.#turn) this.#words = [];
    this.#turn = turn;
    for (const { start, to } of words) this.#words.push({ start: startSeconds + start, to });
    if (this.#words.length > MOST_WORDS) this.#words = this.#words.slice(-MOST_WORDS / 2);
    this.#hasWords ||= words.length > 0;
  }

  /**
   * Returns the characters of the last turn up to the end of the last word that had begun after
   * `playedSeconds` of its audio; null for a model without word times.
   */
  until(playedSeconds: number): { readonly turn: number; readonly characters: number } | null {
    if (this.#turn === null || !this.#hasWords) return null;
    const last = this.#words.findLast(({ start }) => start < playedSeconds);
    return { turn: this.#turn, characters: last?.to ?? 0 };
  }
}
