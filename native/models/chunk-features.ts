import type { LogMel } from "../../core/domain/audio/log-mel.js";
import type { SampleSpan } from "../../core/domain/audio/resample.js";

/** Chunks of feature frames of 10 ms. */
export interface ChunkFrames {
  readonly windowFrames: number;
  /** Distance between the starts of two chunks. */
  readonly shiftFrames: number;
  /** Number of zero frames before the first frame. */
  readonly leadFrames: number;
}

/** Computes the features of a chunk from the audio of its utterance. Not re-entrant. */
export class ChunkFeatures {
  readonly #logMel: LogMel;
  readonly #frames: ChunkFrames;

  constructor(logMel: LogMel, frames: ChunkFrames) {
    this.#logMel = logMel;
    this.#frames = frames;
  }

  /** Samples under the windows of a chunk's frames, and one before them for the preemphasis. */
  spanOf(chunk: number): SampleSpan {
    const { hopSamples, firstSample, windowSamples } = this.#logMel.options;
    const [first, end] = this.#framesOf(chunk);
    return {
      start: Math.max(0, first) * hopSamples + firstSample - 1,
      end: (end - 1) * hopSamples + firstSample + windowSamples,
    };
  }

  /**
   * @param pcm samples of `spanOf`; the part before the utterance is silence, replaced by its mirror image if
   * the features require that
   * @param target receives `[windowFrames, bins]`
   */
  compute(chunk: number, pcm: Float32Array, target: Float32Array): void {
    const { hopSamples, firstSample, edge } = this.#logMel.options;
    const { bins } = this.#logMel;
    const [first, end] = this.#framesOf(chunk);
    const { start } = this.spanOf(chunk);
    if (edge === "mirror") for (let i = 1; i <= -start; i++) pcm[-start - i] = pcm[-start + i - 1]!;
    target.fill(0);
    for (let frame = Math.max(0, first); frame < end; frame++) {
      const at = frame * hopSamples + firstSample - start;
      this.#logMel.computeFrame(pcm, at, target, (frame - first) * bins);
    }
  }

  /** The first frame of a chunk, below 0 within the lead, and the one after its last. */
  #framesOf(chunk: number): readonly [number, number] {
    const { shiftFrames, leadFrames, windowFrames } = this.#frames;
    const first = chunk * shiftFrames - leadFrames;
    return [first, first + windowFrames];
  }
}
