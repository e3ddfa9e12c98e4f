/** How a segmentation graph divides audio, in samples. */
export interface WindowShape {
  readonly sampleRateHz: number;
  readonly windowSamples: number;
  /** Distance between the starts of two windows. */
  readonly shiftSamples: number;
  /** Distance between two frames of the graph's output, rounded down. */
  readonly frameSamples: number;
  /** Samples that a frame depends on; its time is their middle. */
  readonly receptiveSamples: number;
}

/** Results of the segmentation graph and of the embeddings for one window. */
export interface SpeakerWindow {
  /** Speakers of each frame as a bit set, numbered within the window. */
  readonly frames: Uint8Array;
  /** One per speaker of the window; null for a speaker who is never alone for long enough. */
  readonly embeddings: readonly (Float32Array | null)[];
}

/** Counts the windows of an audio; the last one may reach beyond its end. */
export function windowCount(sampleCount: number, { windowSamples, shiftSamples }: WindowShape): number {
  return sampleCount <= 0 ? 0 : Math.max(0, Math.ceil((sampleCount - windowSamples) / shiftSamples)) + 1;
}

/** Returns the frame of the whole audio at which a window starts. */
export function firstFrameOf(window: number, { shiftSamples, frameSamples }: WindowShape): number {
  return Math.floor((window * shiftSamples) / frameSamples + 0.5);
}
