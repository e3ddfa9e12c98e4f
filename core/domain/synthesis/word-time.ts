/** A word as it was written, and when it is said. The shape of the public interface. */
export interface WordTime {
  /** The characters of the request's text. */
  readonly word: string;
  /** What is said for them, where that is something else than the word in lower case. */
  readonly spoken?: string | undefined;
  /** Seconds from the start of the audio that comes with it. */
  readonly start: number;
  readonly end: number;
  /** [from, to) of the request's text in Unicode code points, which are what is billed. */
  readonly from: number;
  readonly to: number;
}
