import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import type { SpokenItem } from "./sets.js";

/** Column names, ours and those of corpora; the first one present is used. */
const COLUMNS = {
  path: ["path", "file", "audio", "file_name", "filename"],
  sentence: ["sentence", "text", "transcript", "transcription"],
  language: ["locale", "language", "lang"],
} as const;
/** Tables of Common Voice, in order of preference: published results use `test`. */
const PREFERRED = ["test.tsv", "validated.tsv"];
/** Maximum depth of folders below the requested one, such as `kk/clips`. */
const DEEPEST = 3;

export interface Transcripts {
  readonly items: readonly SpokenItem[];
  /** Recordings that a table lists but that are missing. */
  readonly missing: readonly string[];
}

/**
 * Reads recordings with their transcripts from every folder below `folder` that contains a table (columns
 * separated by tabs, with a header or as `path<TAB>sentence`). Paths are relative to the table, or to
 * `clips/` next to it, as in Common Voice. A set is named after the folder of its table, the folder in a
 * recording's path, and the locale, if present.
 *
 * @param split name of the table to read in each folder, without `.tsv`; by default `test`, `validated`, or
 * the only one
 * @throws {RangeError} with the missing or ambiguous item
 */
export async function readTranscripts(folder: string, split: string | null): Promise<Transcripts> {
  const tables = await tablesBelow(folder, split, 0);
  if (tables.length === 0) {
    throw new RangeError(
      `${folder} has no ${split === null ? "table (.tsv)" : `${split}.tsv`}, nor does a folder below it`,
    );
  }
  const items: SpokenItem[] = [];
  const missing: string[] = [];
  for (const table of tables) {
    for (const row of parseTable(await readFile(table, "utf8"), table)) {
      const path = audioPath(join(table, ".."), row.path);
      if (path === null) missing.push(row.path);
      else
        items.push({ path, set: setOf(folder, table, row), language: row.language, reference: row.sentence });
    }
  }
  return { items, missing };
}

interface Row {
  readonly path: string;
  readonly sentence: string;
  readonly language: string;
}

/** @throws {RangeError} with the line */
export function parseTable(text: string, name: string): Row[] {
  const lines = text
    .replace(/^\uFEFF/u, "")
    .replaceAll("\r", "")
    .split("\n")
    .filter((line) => line !== "");
  const cells = lines.map((line) => line.split("\t"));
  const head = cells[0]?.map((cell) => cell.trim().toLowerCase()) ?? [];
  const columnOf = (names: readonly string[]) =>
    names.map((known) => head.indexOf(known)).find((at) => at >= 0);
  const path = columnOf(COLUMNS.path);
  const sentence = columnOf(COLUMNS.sentence);
  const hasHead = path !== undefined && sentence !== undefined;
  const language = hasHead ? columnOf(COLUMNS.language) : undefined;
  const [pathAt, sentenceAt] = hasHead ? [path, sentence] : [0, 1];
  return cells.slice(hasHead ? 1 : 0).map((row, index) => {
    if (row[pathAt] === undefined || row[pathAt] === "" || row[sentenceAt] === undefined) {
      const line = index + (hasHead ? 2 : 1);
      throw new RangeError(`${name}, line ${line}: must have a path and a sentence, separated by a tab`);
    }
    return { path: row[pathAt], sentence: row[sentenceAt], language: row[language ?? -1]?.trim() ?? "" };
  });
}

async function tablesBelow(folder: string, split: string | null, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".tsv"))
    .map(({ name }) => name);
  const own = tableOf(folder, names, split);
  const below =
    depth === DEEPEST ? [] : entries.filter((entry) => entry.isDirectory() && entry.name !== "clips");
  const deeper: string[] = [];
  for (const { name } of below.sort((a, b) => a.name.localeCompare(b.name))) {
    deeper.push(...(await tablesBelow(join(folder, name), split, depth + 1)));
  }
  return own === null ? deeper : [join(folder, own), ...deeper];
}

function tableOf(folder: string, names: readonly string[], split: string | null): string | null {
  if (split !== null) return names.find((name) => name === `${split}.tsv`) ?? null;
  const preferred = PREFERRED.find((name) => names.includes(name));
  if (preferred !== undefined) return preferred;
  if (names.length <= 1) return names[0] ?? null;
  throw new RangeError(`${folder} has several tables (${names.join(", ")}): choose one with --split NAME`);
}

/** Returns a recording's path; older tables of Common Voice omit the file extension. */
function audioPath(folder: string, path: string): string | null {
  const places = [join(folder, "clips", path), join(folder, path)];
  return places.flatMap((place) => [place, `${place}.mp3`]).find((place) => existsSync(place)) ?? null;
}

function setOf(folder: string, table: string, { path, language }: Row): string {
  const place = relative(folder, join(table, "..")).split(sep);
  const parts = [...place, ...path.split("/").slice(0, -1), language].filter(
    (part) => part !== "" && part !== "." && part !== "clips",
  );
  return [...new Set(parts)].join("/") || basename(folder);
}
