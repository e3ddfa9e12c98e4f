import { countCodePoints } from "../text/code-points.js";
import type { TimedWord } from "./words.js";

/** Silence after the last word of a hypothesis that makes the word complete. */
const SETTLED_SECONDS = 0.4;

/** The text of an unfinished utterance. */
export interface AgreedText {
  readonly text: string;
  /** Code points at its start on which two consecutive hypotheses agree; no later text changes them. */
  readonly stable: number;
}

/**
 * Finds the words on which successive hypotheses of a growing utterance agree. A word is agreed when two
 * consecutive hypotheses have it after the same words, and the later one has more after it, since the last
 * word may be incomplete.
 *
 * Hypotheses may start later than the utterance, as long as they contain everything after `agreedSeconds`.
 * Words are compared by their middles, so a word that moves by a frame stays the same.
 *
 * @see Liu, Spanakis and Niehues, 2020, "Low-latency sequence-to-sequence speech recognition and translation
 * by partial hypothesis selection", local agreement of two
 */
export class LocalAgreement {
  readonly #agreed: string[] = [];
  #agreedSeconds = Number.NEGATIVE_INFINITY;
  /** Words of the last hypothesis after the agreed ones. */
  #tail: readonly TimedWord[] = [];

  /** Words before this time are agreed and need no further pass; minus infinity before the first. */
  get agreedSeconds(): number {
    return this.#agreedSeconds;
  }

  /**
   * Adds the next hypothesis.
   *
   * @param words times in seconds on the same clock for all hypotheses
   * @param heardSeconds end of the hypothesis's audio
   */
  hear(words: readonly TimedWord[], heardSeconds: number): AgreedText {
    const tail = words.filter(({ start, end }) => (start + end) / 2 > this.#agreedSeconds);
    let count = 0;
    while (count < tail.length && tail[count]!.word === this.#tail[count]?.word) count++;
    if (count === tail.length && count > 0) {
      const isSettled = heardSeconds - tail[count - 1]!.end >= SETTLED_SECONDS;
      if (!isSettled) count--;
    }
    this.#tail = tail;
    this.#agreeOn(count);
    return this.#text();
  }

  /** Agrees on the words of the last hypothesis that end before this time, which no further pass covers. */
  settleBefore(seconds: number): void {
    const count = this.#tail.findIndex(({ end }) => end > seconds);
    this.#agreeOn(count < 0 ? this.#tail.length : count);
  }

  #agreeOn(count: number): void {
    const last = this.#tail[count - 1];
    if (last === undefined) return;
    const next = this.#tail[count];
    this.#agreed.push(...this.#tail.slice(0, count).map(({ word }) => word));
    this.#agreedSeconds = next === undefined ? last.end : (last.end + next.start) / 2;
    this.#tail = this.#tail.slice(count);
  }

  #text(): AgreedText {
    const agreed = this.#agreed.join(" ");
    const text = [...this.#agreed, ...this.#tail.map(({ word }) => word)].join(" ");
    return { text, stable: countCodePoints(agreed) };
  }
}
