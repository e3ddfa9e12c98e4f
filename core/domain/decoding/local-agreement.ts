import { countCodePoints } from "../text/code-points.js";
import type { TimedWord } from "./words.js";

/** Silence behind the last word of a hypothesis after which nothing more of that word is expected. */
const SETTLED_SECONDS = 0.4;

/** What is shown of an utterance that is still spoken. */
export interface AgreedText {
  readonly text: string;
  /** Unicode code points at its beginning that two hypotheses in a row agree on: no later text changes them. */
  readonly stable: number;
}

/**
 * What successive hypotheses of one growing utterance agree on. A word is agreed when two of them in a row say it behind the
 * same words, and more was heard behind it in the later one: the last word may still be half said.
 *
 * Hypotheses may begin later than the utterance, as long as they hold what is behind `agreedSeconds`; words are told apart by
 * their middles, so that a word that moves by a frame is no other one.
 *
 * @see Liu, Spanakis and Niehues, 2020, "Low-latency sequence-to-sequence speech recognition and translation by partial hypothesis
 * selection", local agreement of two
 */
export class LocalAgreement {
  readonly #agreed: string[] = [];
  #agreedSeconds = Number.NEGATIVE_INFINITY;
  /** Of the last hypothesis, behind what is agreed. */
  #tail: readonly TimedWord[] = [];

  /** Words before this time are agreed; they need not be heard again. Minus infinity before the first. */
  get agreedSeconds(): number {
    return this.#agreedSeconds;
  }

  /** True when words were heard, agreed or not. */
  get hasWords(): boolean {
    return this.#agreed.length + this.#tail.length > 0;
  }

  /**
   * Takes the next hypothesis.
   *
   * @param words times in seconds of one clock for all hypotheses
   * @param heardSeconds where the audio ends that it was made from
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

  /** Takes the words of the last hypothesis that end before this time for agreed: they will not be heard again. */
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
