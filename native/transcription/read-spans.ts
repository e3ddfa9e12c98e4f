import type { SampleSpan } from "../../core/domain/audio/resample.js";
import type { FilePiece, FileTask } from "../threads/protocol.js";

/**
 * A piece begins as if nothing were before it, up to its first words: the full-context half has learned to begin so. With what
 * the encoder still remembers of earlier speech there the word error of noisy recordings is a point higher.
 */
export const LEAD_FRAMES = 10;

interface FramesOfModel {
  readonly frameSamples: number;
  readonly contextFrames: number;
}

/** The samples that a worker reads of a file to hear a part of it; they may lie behind its end. */
export function heardSpan(
  {
    startFrame,
    endFrame,
    state,
  }: Pick<Extract<FileTask, { type: "hear" }>, "startFrame" | "endFrame" | "state">,
  { frameSamples, contextFrames }: FramesOfModel,
): SampleSpan {
  const from = state === null ? Math.max(0, startFrame - contextFrames) : startFrame;
  return { start: from * frameSamples, end: endFrame * frameSamples };
}

/** The samples that a worker reads of a file to decode a piece of it, at most; they may lie behind its end. */
export function decodedSpan(
  {
    startFrame,
    endFrame,
    isCutBefore,
    isCutBehind,
  }: Pick<FilePiece, "startFrame" | "endFrame" | "isCutBefore" | "isCutBehind">,
  { frameSamples, contextFrames }: FramesOfModel,
): SampleSpan {
  const leadEnd = startFrame + LEAD_FRAMES;
  // No encoder reaches further back than its context.
  const from = isCutBehind ? Math.max(0, Math.min(startFrame, endFrame - contextFrames)) : startFrame;
  const to = isCutBefore || isCutBehind ? Math.max(leadEnd, endFrame) : leadEnd;
  return { start: from * frameSamples, end: to * frameSamples };
}
