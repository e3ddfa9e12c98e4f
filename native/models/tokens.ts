import { ServiceError } from "../../src/domain/errors.js";
import { fileNameOf, type PackageFolder, readPackageFile } from "./package.js";

const BLANKS: ReadonlySet<string> = new Set(["<blk>", "<blank>", "<eps>"]);

/** Outputs of a graph in our order, the blank first. */
export interface Tokens {
  readonly vocabulary: readonly string[];
  /** The graph's column of each of our outputs. */
  readonly columns: Int32Array;
}

/**
 * Reads `tokens.txt`: a symbol, a space and the symbol's column on each line, as k2 and the exports of NeMo and GigaAM write it.
 * The blank is `<blk>`, wherever it stands; `▁` begins a word; other symbols in angle brackets are not text. A symbol may be
 * the space itself.
 *
 * @throws {ServiceError} `MODEL_BROKEN` naming the file and the line
 */
export async function readTokens(model: PackageFolder): Promise<Tokens> {
  const text = new TextDecoder().decode(await readPackageFile(model, "vocabulary"));
  try {
    return parseTokens(text);
  } catch (error) {
    throw new ServiceError(
      "MODEL_BROKEN",
      `Cannot load ${fileNameOf(model, "vocabulary")}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Characters that hot words may be made of: none where outputs are pieces of words. These may hold a lone space and single
 * letters too: all outputs must be characters.
 */
export function alphabetOf(vocabulary: readonly string[]): ReadonlySet<string> {
  const characters = vocabulary.filter((token) => token !== "");
  const isPerCharacter = characters.includes(" ") && characters.every((token) => [...token].length === 1);
  return new Set(isPerCharacter ? characters : []);
}

/** @throws {RangeError} saying which line is wrong */
export function parseTokens(text: string): Tokens {
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
  const columns = [blank, ...Array.from(symbols.keys()).filter((column) => column !== blank)];
  return {
    vocabulary: columns.map((column) => (column === blank ? "" : textOfSymbol(symbols[column]!))),
    columns: Int32Array.from(columns),
  };
}

/**
 * Copies rows of a graph's output in our order of outputs.
 *
 * @param rows `[count, columns]` of the graph
 * @param target receives `[count, columns]` from `offset` on
 */
export function copyRows(rows: Float32Array, columns: Int32Array, target: Float32Array, offset = 0): void {
  const width = columns.length;
  for (let row = 0; row < rows.length; row += width) {
    for (let token = 0; token < width; token++) {
      target[offset + row + token] = rows[row + columns[token]!]!;
    }
  }
}

function textOfSymbol(symbol: string): string {
  if (/^<.+>$/u.test(symbol)) return "";
  return symbol.replaceAll("▁", " ");
}
