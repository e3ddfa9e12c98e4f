/** The text of an open utterance that its listener was shown. */
export interface ShownPartial {
  readonly utterance: number;
  readonly text: string;
}

export interface StablePartial extends ShownPartial {
  /** Unicode code points at the beginning of the text that no later partial of the utterance will change. */
  readonly stable: number;
}

/**
 * What is shown after `shown`, or null when the new text would break a promise.
 *
 * The greedy hypothesis of a causal encoder only ever grows, so the whole text is promised. After a lost worker the audio
 * is decoded again with less context to the left, and a letter may come out differently: the listener then keeps what
 * it was shown until the text goes on from there, or the final comes.
 */
export function stablePartial(shown: ShownPartial | null, next: ShownPartial): StablePartial | null {
  const { utterance, text } = next;
  if (shown !== null && shown.utterance === utterance && !text.startsWith(shown.text)) return null;
  return { utterance, text, stable: codePointCount(text) };
}

function codePointCount(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    const isPair = isLowSurrogate(text.charCodeAt(index)) && isHighSurrogate(text.charCodeAt(index - 1));
    if (isPair) count--;
  }
  return count;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
