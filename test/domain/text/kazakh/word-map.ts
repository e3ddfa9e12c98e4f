import assert from "node:assert/strict";
import type { SpokenText } from "../../../../core/domain/text/kazakh/normalize.js";

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/gu;
const WORDS = /[^ ,.!?:;—]+/gu;

/**
 * Asserts that every spoken word has a range within the text, that ranges are in order, and that every letter
 * and digit is in a range or was dropped.
 */
export function assertMapped(text: string, { spoken, words, dropped }: SpokenText): void {
  assert.deepEqual(
    words.map(({ spokenStart, spokenEnd }) => spoken.slice(spokenStart, spokenEnd)),
    spoken.match(WORDS) ?? [],
    text,
  );
  const isCovered = new Uint8Array(text.length);
  let last = { start: 0, end: 0 };
  for (const word of words) {
    assert.ok(word.start < word.end && word.end <= text.length, text);
    assert.ok(word.start >= last.start && word.end >= last.end, `${text}: a range goes back`);
    isCovered.fill(1, word.start, word.end);
    last = word;
  }
  assert.deepEqual(
    dropped,
    [...new Set(dropped)].toSorted((a, b) => a - b),
  );
  const droppedAt = new Set(dropped);
  // A text without anything to speak has no words, and its digits are dropped.
  for (const match of text.matchAll(LETTER_OR_DIGIT)) {
    const isAccounted = isCovered[match.index] === 1 || droppedAt.has(match.index);
    assert.ok(isAccounted, `${text}: "${match[0]}" at ${match.index} is neither said nor dropped`);
  }
}
