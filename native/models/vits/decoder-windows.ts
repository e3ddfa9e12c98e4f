import { Tensor } from "onnxruntime-node";

/** Length of the first window: it is short, so that listening can start early. */
const FIRST_FRAMES = 64;
/** Frames in each later window: with 64 frames of context on each side, a third of the work is done twice. */
const NEXT_FRAMES = 384;

/** The wanted frames [start, stop), and the frames [from, to) to run for them. */
export interface DecoderWindow {
  readonly start: number;
  readonly stop: number;
  readonly from: number;
  readonly to: number;
}

/** @param contextFrames frames on each side on which a frame's samples depend */
export function decoderWindows(frames: number, contextFrames: number): DecoderWindow[] {
  const windows: DecoderWindow[] = [];
  for (let start = 0; start < frames; ) {
    const stop = Math.min(frames, start + (start === 0 ? FIRST_FRAMES : NEXT_FRAMES));
    windows.push({
      start,
      stop,
      from: Math.max(0, start - contextFrames),
      to: Math.min(frames, stop + contextFrames),
    });
    start = stop;
  }
  return windows;
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
