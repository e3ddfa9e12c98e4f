import { editDistance } from "../../core/domain/text/error-rate.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";

/**
 * Minimum delay of a letter after the first sound of its utterance; earlier letters belong to the previous
 * one.
 */
const SOONEST_SECONDS = 0.08;
/**
 * Delay that nearly all first letters exceed; earlier ones belong to the previous utterance if the text
 * agrees.
 */
const SOON_SECONDS = 0.12;
/**
 * Maximum distance of a final's start from its onset; one that is farther from every known onset matches
 * none.
 */
const NEAR_SECONDS = 0.3;

/** An utterance as shown to a listener. */
export interface ShownUtterance {
  readonly final: string;
  /** Text of the last partial; empty if there was none. */
  readonly lastPartial: string;
  /**
   * Seconds from its first sound to the end of its first partial's audio; null if either is unknown.
   */
  readonly firstPartialAfter: number | null;
}

/** Returns the utterances of a session that have finals, in order. */
export function shownUtterances(
  messages: readonly StreamServerMessage[],
  onsets: readonly number[],
): ShownUtterance[] {
  const partials = messages.filter((message) => message.type === "partial");
  return messages
    .filter((message) => message.type === "final")
    .map(({ utterance, text, start }) => {
      const own = partials.filter((partial) => partial.utterance === utterance);
      const onset = onsets.find((seconds) => Math.abs(seconds - start) < NEAR_SECONDS);
      const isKnown = own[0] !== undefined && onset !== undefined;
      return {
        final: text,
        lastPartial: own.at(-1)?.text ?? "",
        firstPartialAfter: isKnown ? own[0]!.end - onset! : null,
      };
    });
}

/** Detects partials that start with letters of the previous utterance, by time or by text. */
export function beginsWithTail(shown: ShownUtterance, previousFinal: string): boolean {
  const { firstPartialAfter } = shown;
  if (firstPartialAfter !== null && firstPartialAfter <= SOONEST_SECONDS) return true;
  if (firstPartialAfter !== null && firstPartialAfter > SOON_SECONDS) return false;
  return tailLetters(shown, previousFinal) > 0;
}

/**
 * Counts the leading letters of the last partial that end the previous final and are not part of its own
 * final; each is an edit between the two.
 */
export function tailLetters(
  { final, lastPartial }: Pick<ShownUtterance, "final" | "lastPartial">,
  previousFinal: string,
): number {
  const partial = lettersOf(lastPartial);
  const own = lettersOf(final);
  const before = lettersOf(previousFinal);
  const edits = editDistance(own, partial);
  for (let count = Math.min(partial.length, before.length); count > 0; count--) {
    const isEnd = before.slice(-count).every((letter, i) => letter === partial[i]);
    if (isEnd && editDistance(own, partial.slice(count)) <= edits - count) return count;
  }
  return 0;
}

function lettersOf(text: string): string[] {
  return [...text.replaceAll(" ", "")];
}
