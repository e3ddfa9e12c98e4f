import type { SampleSpan } from "../audio/resample.js";

/** Fewer frames (170 ms) are too little for an embedding. */
const LEAST_FRAMES = 10;

/**
 * Finds where a speaker of a window speaks alone.
 *
 * @param frames speakers of each frame, as bit sets
 * @param windowSamples length of the window that the frames divide evenly
 * @returns spans in samples of the window; empty if their total is too short
 */
export function soloSpans(frames: Uint8Array, speaker: number, windowSamples: number): SampleSpan[] {
  const alone = 1 << speaker;
  const spans: SampleSpan[] = [];
  let count = 0;
  let start = -1;
  for (let frame = 0; frame <= frames.length; frame++) {
    const isAlone = frames[frame] === alone;
    if (isAlone) count++;
    if (isAlone && start < 0) start = frame;
    if (isAlone || start < 0) continue;
    // The last frame of a window ends a span one frame early, as in the pipeline that the weights come from.
    const end = Math.min(frame, frames.length - 1);
    spans.push({ start: sampleOf(start, frames, windowSamples), end: sampleOf(end, frames, windowSamples) });
    start = -1;
  }
  return count < LEAST_FRAMES ? [] : spans;
}

/** Rounds in single precision, so that borders equal those of sherpa-onnx to the sample. */
function sampleOf(frame: number, { length }: Uint8Array, windowSamples: number): number {
  return Math.trunc(Math.fround(Math.fround(frame / length) * windowSamples));
}

/** Joins the spans of audio, up to its end. */
export function joinedSpans(
  samples: Float32Array,
  spans: readonly SampleSpan[],
  endSample: number,
): Float32Array {
  const parts = spans.map(({ start, end }) =>
    samples.subarray(start, Math.max(start, Math.min(end, endSample))),
  );
  const joined = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
