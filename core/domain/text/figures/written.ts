/** A piece of written text, and the spoken words [first, end) that it stands for. */
export interface Written {
  /** If it ends in a hyphen, it is joined to the next piece. */
  readonly text: string;
  readonly first: number;
  readonly end: number;
}

/** Writes the numbers of a transcript in digits; other words are returned one by one. */
export type Figures = (words: readonly string[], numerals: "auto" | "all") => readonly Written[];

/** Joins pieces to one line. */
export function joined(pieces: readonly Written[]): string {
  let line = "";
  for (const { text } of pieces) line += line === "" || line.endsWith("-") ? text : ` ${text}`;
  return line;
}
