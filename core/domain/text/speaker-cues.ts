import { readingCuesInSteps, type SpokenWord } from "./cues.js";
import type { Cue } from "./subtitles.js";

/** Words of a transcript, and of each channel if those were transcribed separately. */
interface SpokenWords {
  readonly words?: readonly SpokenWord[] | undefined;
  readonly display_words?: readonly SpokenWord[] | undefined;
  readonly channels?: readonly SpokenWords[] | undefined;
}

/**
 * Lays out cues as `readingCuesInSteps`. Each channel is a speaker with separate cues, which may overlap in
 * time with those of others.
 */
export function* transcriptCuesInSteps({
  words = [],
  display_words,
  channels,
}: SpokenWords): Generator<void, readonly Cue[]> {
  if (channels === undefined) return yield* readingCuesInSteps(display_words ?? words);
  const cues: Cue[] = [];
  for (const [channel, own] of channels.entries()) {
    const found = yield* readingCuesInSteps(own.display_words ?? own.words ?? []);
    cues.push(...found.map((cue) => ({ ...cue, speaker: channel })));
  }
  return cues.sort((a, b) => a.startSeconds - b.startSeconds);
}

/** Lays out cues as `transcriptCuesInSteps`, without a pause. */
export function transcriptCues(transcript: SpokenWords): readonly Cue[] {
  const steps = transcriptCuesInSteps(transcript);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
