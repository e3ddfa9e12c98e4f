import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { editDistance } from "../evaluate/error-rate.js";

/**
 * Least delay of a letter after the first sound of its utterance; earlier letters belong to the previous one.
 */
const SOONEST_SECONDS = 0.08;
/** Nearly all first letters come later than this: what comes sooner is older if it reads so. */
const SOON_SECONDS = 0.12;
/** A final that begins so far from every known onset of speech has begun at none of them. */
const NEAR_SECONDS = 0.3;

/** An utterance as its listener was shown it. */
export interface ShownUtterance {
  readonly final: string;
  /** Empty when there was none. */
  readonly lastPartial: string;
  /**
   * From its first sound to where the audio of its first partial ended, in seconds; null where either is not
   * known.
   */
  readonly firstPartialAfter: number | null;
}

/** The utterances of a session whose finals have come, in order. */
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

/** Whether partials begin with letters of the previous utterance, by their time or by their text. */
export function beginsWithTail(shown: ShownUtterance, previousFinal: string): boolean {
  const { firstPartialAfter } = shown;
  if (firstPartialAfter !== null && firstPartialAfter <= SOONEST_SECONDS) return true;
  if (firstPartialAfter !== null && firstPartialAfter > SOON_SECONDS) return false;
  return tailLetters(shown, previousFinal) > 0;
}

/**
 * Counts the leading letters of the last partial that are the end of the previous final, and not part of its
 * own final: each is an edit between the two.
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
