import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

/**
 * Returns the rows of a table in test/fixtures/normalization, without its header. Large tables are compressed
 * with Brotli.
 */
export function tableRows(name: string): string[][] {
  const bytes = readFileSync(`test/fixtures/normalization/${name}`);
  return (name.endsWith(".br") ? brotliDecompressSync(bytes) : bytes)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"));
}

/** Returns the rows of one category of the facts: key, spoken form, and all accepted forms. */
export function facts(category: string): { key: string; spoken: string; accepted: string[] }[] {
  return tableRows("facts-kk.tsv.br")
    .filter((row) => row[0] === category)
    .map(([, key, spoken, alternative]) => ({
      key: key!,
      spoken: spoken!,
      accepted: [spoken!, ...(alternative ?? "").split(";")]
        .map((form) => form.trim())
        .filter((form) => form !== ""),
    }));
}
