/** A word and where it was spoken, in seconds. */
export interface TimedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}
