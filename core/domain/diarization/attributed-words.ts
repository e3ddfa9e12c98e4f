import type { FileWord, TranscribedSegment } from "../decoding/transcript.js";
import type { TimedWord } from "../decoding/words.js";
import type { SpeakerTurn } from "./speaker-turns.js";

export interface AttributedSegments {
  readonly segments: readonly TranscribedSegment[];
  /** Speakers that have words. */
  readonly speakerCount: number;
}

/**
 * Gives each word the speaker whose turns cover most of it, else the one of the nearest turn, and splits
 * segments where the speaker changes. Speakers are numbered from 0 by their first word.
 *
 * @param turns in order of their start
 */
export function attributeWords(
  segments: readonly TranscribedSegment[],
  turns: readonly SpeakerTurn[],
): AttributedSegments {
  const numbers = new Map<number, number>();
  const speakerOf = new TurnSearch(turns);
  const numberOf = (word: TimedWord) => {
    const speaker = speakerOf.at(word);
    if (!numbers.has(speaker)) numbers.set(speaker, numbers.size);
    return numbers.get(speaker)!;
  };
  const attributed = segments.flatMap((segment) => {
    if (segment.words.length === 0) {
      const { startSeconds: start, endSeconds: end } = segment;
      return [{ ...segment, speaker: numberOf({ word: "", start, end }) }];
    }
    return splitBySpeaker(
      segment,
      segment.words.map((word) => ({ ...word, speaker: numberOf(word) })),
    );
  });
  return { segments: attributed, speakerCount: numbers.size };
}

function splitBySpeaker(
  segment: TranscribedSegment,
  words: readonly (FileWord & { readonly speaker: number })[],
): TranscribedSegment[] {
  const runs: (typeof words)[number][][] = [];
  for (const word of words) {
    if (runs.at(-1)?.at(-1)?.speaker === word.speaker) runs.at(-1)!.push(word);
    else runs.push([word]);
  }
  const { speaker } = words[0]!;
  if (runs.length === 1) return [{ ...segment, words, speaker }];
  return runs.map((run) => ({
    text: run.map(({ word }) => word).join(" "),
    startSeconds: run[0]!.start,
    endSeconds: run.at(-1)!.end,
    words: run,
    speaker: run[0]!.speaker,
  }));
}

/** Finds the speaker of each word; words must be queried in order of time. */
class TurnSearch {
  readonly #turns: readonly SpeakerTurn[];
  /** First turn to consider; all turns before it end before the current word. */
  #first = 0;

  constructor(turns: readonly SpeakerTurn[]) {
    this.#turns = turns;
  }

  /** Returns 0 if there are no turns at all. */
  at({ start, end }: TimedWord): number {
    const turns = this.#turns;
    // The last of the earlier turns may be the nearest.
    while (
      this.#first + 1 < turns.length &&
      turns[this.#first]!.end <= start &&
      turns[this.#first + 1]!.end <= start
    )
      this.#first++;
    const covered = new Map<number, number>();
    let nearest = { distance: Number.POSITIVE_INFINITY, speaker: 0 };
    for (let at = this.#first; at < turns.length; at++) {
      const turn = turns[at]!;
      const overlap = Math.min(end, turn.end) - Math.max(start, turn.start);
      if (overlap > 0) covered.set(turn.speaker, (covered.get(turn.speaker) ?? 0) + overlap);
      if (-overlap < nearest.distance) nearest = { distance: -overlap, speaker: turn.speaker };
      if (turn.start > end) break;
    }
    let best = { overlap: 0, speaker: nearest.speaker };
    for (const [speaker, overlap] of covered) if (overlap > best.overlap) best = { overlap, speaker };
    return best.speaker;
  }
}
