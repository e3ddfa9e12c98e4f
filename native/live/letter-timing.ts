import { ENDPOINTER_DEFAULTS } from "../../core/domain/endpointing/endpointer.js";
import type { RecognizerModel } from "../models/recognizer.js";

/** When the streaming head gives a letter out, in frames. */
export interface LetterTiming {
  /** By how much later a step hands out the row of its frame; see `RecognizerModel`. */
  readonly lagFrames: number;
  /** From a sound to the row that has its letter, on the mean. */
  readonly delayFrames: number;
}

/** Where an utterance ended: one past its last frame of speech, or the frame where it was cut. */
export interface UtteranceEnd {
  readonly frame: number;
  readonly isMidSpeech: boolean;
}

export function letterTimingOf({ manifest, lagFrames }: RecognizerModel): LetterTiming {
  const { frameSamples, sampleRateHz, decoding } = manifest;
  const delaySeconds = decoding.emissionDelaySeconds ?? 0;
  return { lagFrames, delayFrames: (delaySeconds * sampleRateHz) / frameSamples };
}

/**
 * First frame whose letter was said in the utterance that is noticed at `frame`. Letters come out late: what was said right
 * before the end of an utterance comes out behind it, where the next one may have begun, and is no part of that.
 *
 * Where speech went on over the end, the mean delay tells the letters before it from those behind it. Behind a pause the speech
 * that has been noticed says more: no letter of it comes out within half of that delay from its onset on.
 */
export function firstOwnFrame(
  { lagFrames, delayFrames }: LetterTiming,
  lastEnd: UtteranceEnd | null,
  frame: number,
): number {
  if (lastEnd === null) return 0;
  const behindEnd = lastEnd.frame + Math.ceil(delayFrames);
  if (lastEnd.isMidSpeech) return lagFrames + behindEnd;
  const onset = frame + 1 - ENDPOINTER_DEFAULTS.openingFrames;
  return lagFrames + Math.min(behindEnd, onset + Math.floor(delayFrames / 2));
}
