import { FRAME_SAMPLES } from "../../../core/domain/audio/frame.js";
import { levelDb } from "../../../core/domain/audio/level.js";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { bestToken } from "../../../core/domain/decoding/greedy.js";
import {
  ENDPOINTER_DEFAULTS,
  Endpointer,
  pauseFramesFor,
  wordlessFramesFor,
} from "../../../core/domain/endpointing/endpointer.js";
import { DISTANT_DOUBT } from "../../../core/domain/endpointing/speaker-level.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import type { Utterance } from "./judge.js";
import { RATE_HZ } from "./levels.js";
import { SILERO_WINDOW_SAMPLES } from "./silero.js";

export const EOU_MS = 200;
/** Thresholds of Silero's own iterator. */
const SILERO_ON = 0.5;
const SILERO_OFF = 0.35;

/** A take's 40 ms frames as a live session sees them. */
export interface FrameEvidence {
  /** Probability of speech. */
  readonly speech: Float32Array;
  /** See `levelDb`. */
  readonly levels: Float32Array;
  /** Whether the recogniser output a letter in each frame; null if only voice activity ran. */
  readonly letters: readonly boolean[] | null;
}

/** Runs the recogniser's streaming graph as a live session does. */
export async function frameEvidence(model: RecognizerModel, pcm: Int16Array): Promise<FrameEvidence> {
  const frames = Math.floor(pcm.length / FRAME_SAMPLES);
  const batch = model.stepBatch(1, frames);
  batch.pcm.set(toFloat(pcm.subarray(0, frames * FRAME_SAMPLES)));
  await batch.run();
  const width = model.vocabulary.length;
  const letters = Array.from({ length: frames }, (_, frame) => {
    const best = bestToken(batch.logProbs, frame * width, width);
    return model.vocabulary[best]!.trim() !== "";
  });
  return { speech: batch.speech.slice(), levels: levelsOf(pcm, frames), letters };
}

/** Measures the level of each 40 ms frame, see `levelDb`. */
export function levelsOf(pcm: Int16Array, frames: number): Float32Array {
  const samples = toFloat(pcm);
  return Float32Array.from({ length: frames }, (_, frame) =>
    levelDb(samples, frame * FRAME_SAMPLES, (frame + 1) * FRAME_SAMPLES),
  );
}

/** Converts Silero's windows to 40 ms frames: the highest of the windows that end in each. */
export function framesOfWindows(windows: Float32Array): Float32Array {
  const frames = new Float32Array(Math.floor((windows.length * SILERO_WINDOW_SAMPLES) / FRAME_SAMPLES));
  for (const [window, probability] of windows.entries()) {
    const frame = Math.ceil(((window + 1) * SILERO_WINDOW_SAMPLES) / FRAME_SAMPLES) - 1;
    if (frame < frames.length) frames[frame] = Math.max(frames[frame]!, probability);
  }
  return frames;
}

/** Finds utterances by our rules, as live sessions do. */
export function endpointed({ speech: frames, levels, letters }: FrameEvidence): Utterance[] {
  const pauseFrames = pauseFramesFor(EOU_MS);
  const liveRules = { wordlessFrames: wordlessFramesFor(pauseFrames), doubtLimit: DISTANT_DOUBT };
  const endpointer = new Endpointer({ pauseFrames, ...(letters !== null && liveRules) });
  const utterances: Utterance[] = [];
  let start: number | null = null;
  for (const [frame, probability] of frames.entries()) {
    const heard = (frame + 1) * FRAME_SAMPLES;
    const evidence = { levelDb: levels[frame]!, hasLetter: letters?.[frame] ?? true };
    for (const event of endpointer.push(probability, evidence)) {
      // The event's own start includes the silence kept before speech.
      if (event.type === "started") start = heard - ENDPOINTER_DEFAULTS.openingFrames * FRAME_SAMPLES;
      if (event.type !== "ended") continue;
      utterances.push({ start: start ?? 0, end: event.endFrame * FRAME_SAMPLES, decidedAt: heard });
      start = null;
    }
  }
  if (start !== null) utterances.push({ start, end: frames.length * FRAME_SAMPLES, decidedAt: null });
  return utterances;
}

/**
 * Finds utterances by Silero's own rule. A window between the two thresholds neither resets a pause nor ends
 * the utterance.
 * @see snakers4/silero-vad at 0a7d1f6, `src/silero_vad/utils_vad.py`, `VADIterator`
 */
export function iterated(windows: Float32Array): Utterance[] {
  const utterances: Utterance[] = [];
  let start: number | null = null;
  let pauseAt = 0;
  for (const [window, probability] of windows.entries()) {
    const heard = (window + 1) * SILERO_WINDOW_SAMPLES;
    if (probability >= SILERO_ON) {
      pauseAt = 0;
      start ??= heard - SILERO_WINDOW_SAMPLES;
    }
    if (probability >= SILERO_OFF || start === null) continue;
    if (pauseAt === 0) pauseAt = heard;
    if (heard - pauseAt < (EOU_MS * RATE_HZ) / 1_000) continue;
    utterances.push({ start, end: pauseAt - SILERO_WINDOW_SAMPLES, decidedAt: heard });
    start = null;
    pauseAt = 0;
  }
  const end = windows.length * SILERO_WINDOW_SAMPLES;
  if (start !== null) utterances.push({ start, end, decidedAt: null });
  return utterances;
}
