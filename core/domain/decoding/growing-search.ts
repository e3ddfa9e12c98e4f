/** The text of an utterance that is still spoken. */
export interface GrownText {
  /** Of the best text, without a space at its end; good until the search is asked again. */
  readonly tokens: ArrayLike<number>;
  /** How many of them are whole words that all texts of the beam begin with: no later text changes them. */
  readonly settled: number;
}

/** What the language model expects behind the best text. */
export interface Expectation {
  /** That the sentence ends here, natural log; 0 before the first letter and without a language model. */
  readonly endLogProb: number;
  /** That the last word ends here and another follows, likewise. */
  readonly spaceLogProb: number;
}

/** A search that takes an utterance frame by frame; one utterance at a time, and no hot words. */
export interface GrowingSearch {
  /** Forgets what it has heard. */
  begin(): void;
  /**
   * @param logProbs `[vocabulary]` of the next frame, natural log
   * @returns a number that is another one when the best text is
   */
  push(logProbs: Float32Array): number;
  /** The text so far. */
  grown(): GrownText;
  expectation(): Expectation;
  /** Gives up all texts but the best: what comes behind it is added to it. */
  keepBestText(): void;
}
