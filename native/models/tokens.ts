import { brokenModel, fileNameOf, type PackageFolder, readPackageFile } from "./package.js";
import type { PublicRecognizerManifest } from "./public-recognizer-manifest.js";

const BLANKS: ReadonlySet<string> = new Set(["<blk>", "<blank>", "<eps>"]);

/** Outputs of a graph in our order: the blank first, masked ones omitted. */
export interface Tokens {
  readonly vocabulary: readonly string[];
  /** The graph's column of each of our outputs. */
  readonly columns: Int32Array;
  /** Number of columns of the graph. */
  readonly width: number;
  /** Column of `<unk>`; -1 without one. */
  readonly unknown: number;
}

/**
 * Reads `tokens.txt`: a symbol, a space and the symbol's column on each line, as k2 and the exports of NeMo
 * and GigaAM write it. `<blk>` at any position is the blank; `▁` starts a word; other symbols in angle
 * brackets are not text. A symbol may be a space. The manifest's `maskedOutputs` are omitted.
 *
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the line, or the symbol that cannot be masked
 */
export async function readTokens(model: PackageFolder<PublicRecognizerManifest>): Promise<Tokens> {
  const text = new TextDecoder().decode(await readPackageFile(model, "vocabulary"));
  try {
    return parseTokens(text, model.manifest.maskedOutputs);
  } catch (error) {
    throw brokenModel(`Cannot load ${fileNameOf(model, "vocabulary")}: ${(error as Error).message}`, error);
  }
}

/**
 * Returns the characters that hot words may contain: those of the outputs, which may be word pieces. Returns
 * none if no output starts a word.
 */
export function alphabetOf(vocabulary: readonly string[]): ReadonlySet<string> {
  const isSpelled = vocabulary.every((output) => [...output].length <= 1);
  // Word pieces are matched in lower case, as hot words are written.
  const outputs = isSpelled ? vocabulary : vocabulary.map((piece) => piece.toLowerCase());
  const characters = new Set(outputs.flatMap((output) => [...output]));
  return characters.has(" ") ? characters : new Set();
}

/**
 * Returns whether a model writes punctuation or capitals: whether its vocabulary has marks, or letters in
 * both cases.
 */
export function writesMarks(vocabulary: readonly string[]): boolean {
  const has = (pattern: RegExp) => vocabulary.some((token) => pattern.test(token));
  return has(/[.,?!]/) || (has(/\p{Lu}/u) && has(/\p{Ll}/u));
}

/**
 * @param masked symbols to omit, as written in the text
 * @throws {RangeError} with the wrong line, or the symbol that cannot be masked
 */
export function parseTokens(text: string, masked: readonly string[] = []): Tokens {
  const lines = text.replaceAll("\r", "").split("\n");
  const symbols: string[] = [];
  for (const [index, line] of lines.entries()) {
    if (line === "") continue;
    const found = /^(.*)[ \t](\d+)$/u.exec(line);
    if (found === null)
      throw new RangeError(`line ${index + 1} must be a symbol and its number, found "${line}"`);
    const column = Number(found[2]);
    if (symbols[column] !== undefined) throw new RangeError(`line ${index + 1}: number ${column} is taken`);
    symbols[column] = found[1] === "" ? " " : found[1]!;
  }
  for (let column = 0; column < symbols.length; column++) {
    if (symbols[column] === undefined) throw new RangeError(`number ${column} has no symbol`);
  }
  const blank = symbols.findIndex((symbol) => BLANKS.has(symbol));
  if (blank < 0) throw new RangeError(`one symbol must be the blank, ${[...BLANKS].join(" or ")}`);
  const unknown = masked.find((symbol) => !symbols.includes(symbol) || symbol === symbols[blank]);
  if (unknown !== undefined) {
    throw new RangeError(
      `maskedOutputs must be symbols of the vocabulary other than the blank, found "${unknown}"`,
    );
  }
  const kept = (column: number) => column !== blank && !masked.includes(symbols[column]!);
  const columns = [blank, ...Array.from(symbols.keys()).filter(kept)];
  return {
    vocabulary: columns.map((column) => (column === blank ? "" : textOfSymbol(symbols[column]!))),
    columns: Int32Array.from(columns),
    width: symbols.length,
    unknown: symbols.indexOf("<unk>"),
  };
}

/**
 * Copies rows of a graph's output in our order. If outputs are masked, renormalizes the others.
 *
 * @param rows `[count, width]` of the graph, natural log
 * @param target receives `[count, columns]`
 */
export function copyRows(
  rows: Float32Array,
  { columns, width }: Pick<Tokens, "columns" | "width">,
  target: Float32Array,
): void {
  const count = columns.length;
  for (let from = 0, to = 0; from < rows.length; from += width, to += count) {
    for (let token = 0; token < count; token++) target[to + token] = rows[from + columns[token]!]!;
    if (count < width) normalizeRow(target, to, count);
  }
}

function normalizeRow(rows: Float32Array, offset: number, count: number): void {
  let highest = Number.NEGATIVE_INFINITY;
  for (let i = offset; i < offset + count; i++) highest = Math.max(highest, rows[i]!);
  let sum = 0;
  for (let i = offset; i < offset + count; i++) sum += Math.exp(rows[i]! - highest);
  const total = highest + Math.log(sum);
  for (let i = offset; i < offset + count; i++) rows[i] = rows[i]! - total;
}

function textOfSymbol(symbol: string): string {
  if (/^<.+>$/u.test(symbol)) return "";
  return symbol.replaceAll("▁", " ");
}
