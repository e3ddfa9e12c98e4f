import { normalizeForScoring } from "../../../core/domain/text/error-rate.js";
import { RATE_HZ, STEP_SAMPLES } from "./levels.js";

/** Limit for the end of an utterance; one that ends later counts as one that does not end. */
export const PATIENCE_MS = 2_000;
/** Window before an ending: it is a cut if the speaker spoke for most of this time. */
const CUT_WINDOW_SAMPLES = 0.2 * RATE_HZ;
const CUT_SHARE = 0.25;
/** Tolerance for the times of utterances, which come from frames and words. */
const MARGIN_SAMPLES = 0.1 * RATE_HZ;

/** An utterance found in a take. Times are samples from the start of the take. */
export interface Utterance {
  readonly start: number;
  readonly end: number;
  /** Audio received by the time the end was known; null if the utterance never ended. */
  readonly decidedAt: number | null;
}

/** When the speaker actually speaks: steps of 10 ms with speech, and their outer bounds in samples. */
export interface Truth {
  readonly steps: Uint8Array;
  readonly onset: number;
  readonly end: number;
}

/** Differences between a text and its reference, in words. */
export interface WordChanges {
  readonly inserted: number;
  /** Number of insertions, deletions and substitutions together. */
  readonly edits: number;
  /** Length of the reference. */
  readonly words: number;
}

/** Returns whether the speaker has no part in the utterance. */
export function isOfBackground({ start, end }: Utterance, truth: Truth): boolean {
  return end <= truth.onset + MARGIN_SAMPLES || start >= truth.end - MARGIN_SAMPLES;
}

/**
 * Returns the milliseconds from the end of speech to the end of the speaker's last utterance; null if it does
 * not end in time.
 */
export function endDelayMs(utterances: readonly Utterance[], truth: Truth): number | null {
  const last = utterances.findLast((utterance) => !isOfBackground(utterance, truth));
  if (last === undefined || last.decidedAt === null) return null;
  const delayMs = (1_000 * (last.decidedAt - truth.end)) / RATE_HZ;
  return delayMs < 0 || delayMs >= PATIENCE_MS ? null : delayMs;
}

/**
 * Returns whether an utterance ended while the speaker was speaking; ending one in a long pause is correct.
 */
export function isCut(utterances: readonly Utterance[], truth: Truth): boolean {
  return utterances.some(
    ({ decidedAt }) =>
      decidedAt !== null &&
      decidedAt < truth.end &&
      speechShare(truth, decidedAt - CUT_WINDOW_SAMPLES, decidedAt) >= CUT_SHARE,
  );
}

/** Counts the utterances opened by the background alone. */
export function backgroundCount(utterances: readonly Utterance[], truth: Truth): number {
  return utterances.filter((utterance) => isOfBackground(utterance, truth)).length;
}

/** Compares two texts word by word after normalization. */
export function wordChanges(reference: string, hypothesis: string): WordChanges {
  const [from, to] = [wordsOf(reference), wordsOf(hypothesis)];
  // Of the shortest edits, choose those with the fewest insertions.
  let previous = to.map((_, j) => ({ edits: j + 1, inserted: j + 1 }));
  previous.unshift({ edits: 0, inserted: 0 });
  for (const [i, word] of from.entries()) {
    const row = [{ edits: i + 1, inserted: 0 }];
    for (const [j, other] of to.entries()) {
      const [same, left, above] = [previous[j]!, row[j]!, previous[j + 1]!];
      row.push(
        best(
          { ...same, edits: same.edits + (word === other ? 0 : 1) },
          { edits: left.edits + 1, inserted: left.inserted + 1 },
          { ...above, edits: above.edits + 1 },
        ),
      );
    }
    previous = row;
  }
  return { ...previous.at(-1)!, words: from.length };
}

type Way = Omit<WordChanges, "words">;

function best(...ways: readonly Way[]): Way {
  return ways.reduce((one, other) => {
    if (other.edits !== one.edits) return other.edits < one.edits ? other : one;
    return other.inserted < one.inserted ? other : one;
  });
}

/** Returns the share of the samples from `first` to `end` in which the speaker speaks. */
function speechShare({ steps }: Truth, first: number, end: number): number {
  let speech = 0;
  for (let step = Math.max(0, Math.floor(first / STEP_SAMPLES)); step * STEP_SAMPLES < end; step++) {
    const within = Math.min(end, (step + 1) * STEP_SAMPLES) - Math.max(first, step * STEP_SAMPLES);
    if (steps[step] === 1) speech += within;
  }
  return speech / (end - first);
}

function wordsOf(text: string): string[] {
  const normalized = normalizeForScoring(text);
  return normalized === "" ? [] : normalized.split(" ");
}
