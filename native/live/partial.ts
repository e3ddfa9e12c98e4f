import type { RecognizerModel } from "../models/recognizer.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { LiveSlot } from "./live-track.js";

/** What is said of an utterance that began at `startFrame` when `heardFrames` of its session have been heard. */
export function partialAnswer(
  slot: LiveSlot,
  { text, startFrame, heardFrames }: PartialText,
  { manifest: { frameSamples } }: RecognizerModel,
): LiveWorkerAnswer {
  return {
    type: "partial",
    session: slot.session,
    epoch: slot.epoch,
    utterance: slot.nextUtterance,
    text,
    startSample: startFrame * frameSamples,
    endSample: Math.min(heardFrames * frameSamples, slot.finishSample ?? Number.POSITIVE_INFINITY),
  };
}

interface PartialText {
  readonly text: string;
  readonly startFrame: number;
  readonly heardFrames: number;
}
