import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

/** Path of `models/recipes/data/text`, from `dist/bench/support`. */
const TEXTS = fileURLToPath(new URL("../../../models/recipes/data/text/", import.meta.url));

/** Reads the lines of a corpus compressed with Brotli, such as `kk.txt.br`. */
export function corpusLines(file: string): string[] {
  return brotliDecompressSync(readFileSync(TEXTS + file))
    .toString("utf8")
    .trimEnd()
    .split("\n");
}
