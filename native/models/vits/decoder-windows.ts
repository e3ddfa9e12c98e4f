import { Tensor } from "onnxruntime-node";

/** Length of the first window of a whole response. */
const FIRST_FRAMES = 64;
/** Number of frames in each later window; context is computed twice. */
const NEXT_FRAMES = 384;
/** Minimum lengths of a stream's windows: the first, and those after it. */
const LEAST_FIRST_FRAMES = 24;
const LEAST_NEXT_FRAMES = 64;

/** The wanted frames [start, stop), and the frames [from, to) to run for them. */
export interface DecoderWindow {
  readonly start: number;
  readonly stop: number;
  readonly from: number;
  readonly to: number;
}

/**
 * @param contextFrames frames on each side on which a frame's samples depend
 * @param affordable for streams: frames that can be run before the listener runs out of speech
 */
export function* decoderWindows(
  frames: number,
  contextFrames: number,
  affordable: (() => number) | null = null,
): Generator<DecoderWindow> {
  for (let start = 0; start < frames; ) {
    const isFirst = start === 0;
    const stop = Math.min(frames, start + lengthOf(isFirst, contextFrames, affordable));
    yield {
      start,
      stop,
      from: Math.max(0, start - contextFrames),
      to: Math.min(frames, stop + contextFrames),
    };
    start = stop;
  }
}

function lengthOf(isFirst: boolean, contextFrames: number, affordable: (() => number) | null): number {
  if (affordable === null) return isFirst ? FIRST_FRAMES : NEXT_FRAMES;
  const wanted = Math.floor(affordable()) - contextFrames * (isFirst ? 1 : 2);
  return Math.min(NEXT_FRAMES, Math.max(isFirst ? LEAST_FIRST_FRAMES : LEAST_NEXT_FRAMES, wanted));
}

/** Copies the frames [from, to) of a tensor [1, channels, frames]. */
export function framesOf(tensor: Tensor, { from, to }: DecoderWindow): Tensor {
  const [, channels, frames] = tensor.dims as [number, number, number];
  const source = tensor.data as Float32Array;
  const part = new Float32Array(channels * (to - from));
  for (let channel = 0; channel < channels; channel++) {
    part.set(source.subarray(channel * frames + from, channel * frames + to), channel * (to - from));
  }
  return new Tensor("float32", part, [1, channels, to - from]);
}
