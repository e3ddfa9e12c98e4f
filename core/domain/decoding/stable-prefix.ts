import { countCodePoints } from "../text/code-points.js";

/** Text of an open utterance as a worker tells it. */
export interface PartialText {
  readonly utterance: number;
  readonly text: string;
  /** Unicode code points at its beginning that its worker will not change; absent when it is all of them. */
  readonly stable?: number | undefined;
}

/** What the listener of an open utterance was promised: its text begins so. */
export interface PromisedText {
  readonly utterance: number;
  readonly text: string;
}

export interface StablePartial extends PromisedText {
  /** Unicode code points at the beginning of the text that no later partial of the utterance will change. */
  readonly stable: number;
  /** These code points. */
  readonly promised: string;
}

/**
 * What is shown after `shown`, or null when the new text would break a promise.
 *
 * The greedy hypothesis of a causal encoder only ever grows, so the whole text is promised; of an utterance that is read again
 * and again, what its hypotheses agree on. After a lost worker the audio is decoded again with less context to the left, and a
 * letter may come out differently: the listener then keeps what it was shown until the text goes on from there, or the final comes.
 */
export function stablePartial(shown: PromisedText | null, next: PartialText): StablePartial | null {
  const { utterance, text, stable } = next;
  const before = shown !== null && shown.utterance === utterance ? shown.text : "";
  if (!text.startsWith(before)) return null;
  if (stable === undefined) return { utterance, text, stable: countCodePoints(text), promised: text };
  const agreed = [...text].slice(0, stable).join("");
  // Another worker may have agreed on less so far.
  const promised = agreed.length >= before.length ? agreed : before;
  return { utterance, text, stable: countCodePoints(promised), promised };
}
