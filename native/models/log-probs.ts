export interface LogProbs {
  /** `[frames * vocabulary]`, natural log. */
  readonly logProbs: Float32Array;
  /** Number of rows, each of `outputFrameSamples`. */
  readonly frames: number;
}
