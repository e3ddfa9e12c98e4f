import type { RecognizerModel } from "../models/recognizer.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { LiveTrack } from "./live-track.js";

/** What is said of an utterance that began at `startFrame` when `heardFrames` of its session have been heard. */
export function partialAnswer(
  track: LiveTrack,
  { text, startFrame, heardFrames }: PartialText,
  { manifest: { frameSamples } }: RecognizerModel,
): LiveWorkerAnswer {
  return {
    type: "partial",
    session: track.session,
    epoch: track.epoch,
    utterance: track.utterance,
    text,
    startSample: startFrame * frameSamples,
    endSample: Math.min(heardFrames * frameSamples, track.audioEnd),
  };
}

interface PartialText {
  readonly text: string;
  readonly startFrame: number;
  readonly heardFrames: number;
}
