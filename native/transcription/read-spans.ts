import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { RecognizerManifest } from "../models/manifest.js";
import type { FilePiece, FileTask } from "../threads/protocol.js";

/**
 * The first frames of a piece are encoded as if nothing preceded them, as in the training of the full-context
 * half. Encoder state from earlier speech would raise the word error on noisy recordings by a point.
 */
export const LEAD_FRAMES = 10;

type FramesOfModel = Pick<RecognizerManifest, "frameSamples" | "contextFrames">;

/** Returns the samples that a `hear` task reads; they may exceed the file. */
export function heardSpan(
  part: Pick<Extract<FileTask, { type: "hear" }>, "startFrame" | "endFrame" | "state">,
  { frameSamples, contextFrames }: FramesOfModel,
): SampleSpan {
  const { startFrame, endFrame, state } = part;
  const from = state === null ? Math.max(0, startFrame - contextFrames) : startFrame;
  return { start: from * frameSamples, end: endFrame * frameSamples };
}

/** Returns the samples that decoding a piece reads at most; they may exceed the file. */
export function decodedSpan(
  piece: Pick<FilePiece, "startFrame" | "endFrame" | "isCutBefore" | "isCutBehind">,
  { frameSamples, contextFrames }: FramesOfModel,
): SampleSpan {
  const { startFrame, endFrame, isCutBefore, isCutBehind } = piece;
  const leadEnd = startFrame + LEAD_FRAMES;
  // No encoder depends on more than its context.
  const from = isCutBehind ? Math.max(0, Math.min(startFrame, endFrame - contextFrames)) : startFrame;
  const to = isCutBefore || isCutBehind ? Math.max(leadEnd, endFrame) : leadEnd;
  return { start: from * frameSamples, end: to * frameSamples };
}
