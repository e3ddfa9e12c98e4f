export interface LogProbs {
  /** `[frames * vocabulary]`, natural log. */
  readonly logProbs: Float32Array;
  /** Rows, each of `outputFrameSamples`. */
  readonly frames: number;
}
