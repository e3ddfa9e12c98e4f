import { widthOf } from "./text-width.js";

/** Formats rows under their titles, in aligned columns; numbers are aligned to the right. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [titles, ...rows];
  const columns = titles.map((_, column) => ({
    width: Math.max(...lines.map((line) => widthOf(line[column]!))),
    isNumeric: rows.length > 0 && rows.every((row) => /^[+-]?\d+$/.test(row[column]!)),
  }));
  const padded = (cell: string, column: number) => {
    const { width, isNumeric } = columns[column]!;
    const padding = " ".repeat(width - widthOf(cell));
    return isNumeric ? padding + cell : cell + padding;
  };
  return lines.map((line) => line.map(padded).join("  ").trimEnd()).join("\n");
}
