import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { groupBy } from "./group-by.js";
import { RECORDINGS } from "./paths.js";

/** One recording with its reference text. */
export interface SpokenItem {
  readonly set: string;
  readonly path: string;
  readonly language: string;
  readonly reference: string;
}

/** A set of recordings of people. */
export const HUMAN_SETS = [
  { name: "asterisk-ru-core", note: "heard in training" },
  { name: "asterisk-ru-additional", note: "same voice as in training, other sentences" },
  { name: "gcompris-ru-words", note: "single words of speakers not in training; not in the repository" },
  { name: "pisets-ru-test", note: "one sentence" },
  { name: "kazakh-speech-commands", note: "one sentence" },
] as const;

/** Reads the rows of an `index.jsonl`, next to its files; sets are named language-speakers-condition. */
export async function readIndex(folder: string): Promise<SpokenItem[]> {
  const lines = (await readFile(`${folder}index.jsonl`, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const row = JSON.parse(line) as Record<string, string>;
    const { language = "", speakers, condition, file } = row;
    return {
      set: [language, speakers, condition].filter((part) => part !== undefined).join("-"),
      path: folder + file,
      language,
      reference: row["normalized"] ?? row["text"] ?? "",
    };
  });
}

/** Lists the recordings of people in the repository; sets without files are omitted. */
export async function readRecordings(): Promise<SpokenItem[]> {
  const items: SpokenItem[] = [];
  for (const { name } of HUMAN_SETS) {
    const table = `${RECORDINGS}${name}/transcripts.tsv`;
    if (!existsSync(table)) continue;
    const [head = "", ...rows] = (await readFile(table, "utf8")).trimEnd().split("\n");
    const columns = head.split("\t");
    for (const row of rows) {
      const cells = row.split("\t");
      const cell = (column: string) => cells[columns.indexOf(column)] ?? "";
      const path = `${RECORDINGS}${name}/${cell("file")}`;
      const reference = cell("text_norm") || cell("text");
      if (existsSync(path)) items.push({ set: `human-${name}`, path, language: cell("language"), reference });
    }
  }
  return items;
}

/**
 * Selects items whose set's name contains one of the words (all items without words), at most `limit` per
 * set, evenly spread.
 */
export function selectItems(
  items: readonly SpokenItem[],
  words: readonly string[],
  limit: number,
): SpokenItem[] {
  const bySet = groupBy(items, (item) => item.set);
  return [...bySet].flatMap(([set, found]) => {
    if (words.length > 0 && !words.some((word) => set.includes(word))) return [];
    const step = Math.max(1, found.length / limit);
    return found.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step)).slice(0, limit);
  });
}
