const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

/** Returns the number of terminal columns that a text occupies. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** Formats rows under their titles; columns of numbers are right-aligned. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = (column: number) =>
    rows.length > 0 && rows.every((row) => /^[+-]?\d+$/.test(row[column]!));
  return aligned([titles, ...rows], isNumeric).join("\n");
}

/** Formats each row as a line, with its cells in aligned columns. */
export function aligned(
  rows: readonly (readonly string[])[],
  isRight: (column: number) => boolean = () => false,
): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]!)))) ?? [];
  const padded = (cell: string, column: number) => {
    const padding = " ".repeat(widths[column]! - widthOf(cell));
    return isRight(column) ? padding + cell : cell + padding;
  };
  return rows.map((row) => row.map(padded).join("  ").trimEnd());
}
