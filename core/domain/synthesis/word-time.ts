/** A written word and its time, as in the public interface. */
export interface WordTime {
  /** Characters of the request's text. */
  readonly word: string;
  /** The spoken form, unless it is the word in lower case. */
  readonly spoken?: string | undefined;
  /** Seconds from the start of the accompanying audio. */
  readonly start: number;
  readonly end: number;
  /** Position [from, to) in the request's text in Unicode code points, the billed unit. */
  readonly from: number;
  readonly to: number;
}
