import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

/** Lines of a file under `models/recipes/data/text`; large ones are kept as Brotli. */
export function corpusLines(file: string): string[] {
  const bytes = readFileSync(`models/recipes/data/text/${file}`);
  return (file.endsWith(".br") ? brotliDecompressSync(bytes) : bytes).toString("utf8").trimEnd().split("\n");
}
