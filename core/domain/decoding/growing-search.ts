/** The text of an unfinished utterance. */
export interface GrownText {
  /** Tokens of the best text, without a space at its end; valid until the next call of the search. */
  readonly tokens: ArrayLike<number>;
  /**
   * Number of leading tokens that are complete words shared by all texts of the beam; no later frame changes
   * them.
   */
  readonly settled: number;
}

/** A search over an utterance frame by frame; one utterance at a time, without hot words. */
export interface GrowingSearch {
  /** Starts an utterance. */
  begin(): void;
  /**
   * @param logProbs `[vocabulary]` of the next frame, natural log
   * @returns a number that changes with the best text
   */
  push(logProbs: Float32Array): number;
  grown(): GrownText;
  /** Drops all texts but the best, which later frames extend. */
  keepBestText(): void;
}
