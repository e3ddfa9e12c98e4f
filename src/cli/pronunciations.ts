import { readFile } from "node:fs/promises";
import type { Pronunciation } from "../client/speech-types.js";
import { CommandError, type HelpRow, UsageError } from "./command.js";
import { reasonOf } from "./failures.js";

export const PRONUNCIATIONS_ROW: HelpRow = [
  "--pronunciations LIST",
  "Pairs like Kaspi=каспи,GPT=джи пи ти, a JSON list, or a file with one",
];

/**
 * Reads the value of `--pronunciations`: a JSON list, pairs of `word=say`, or the path of a file that
 * contains such a list. The service validates the words.
 *
 * @throws {UsageError} if the value has none of these forms
 * @throws {CommandError} if the file cannot be read
 */
export async function readPronunciations(
  given: string | null,
): Promise<readonly Pronunciation[] | undefined> {
  if (given === null) return undefined;
  const text = given.trim();
  if (text === "") throw new UsageError("--pronunciations must not be empty; use pairs like Kaspi=каспи");
  if (text.startsWith("[")) return listIn(text, "--pronunciations");
  const inFile = await readFile(text, "utf8").catch((error: unknown) => {
    // If no file has this name and it contains "=", it is a pair.
    if (text.includes("=") && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new CommandError(`cannot read ${text}: ${reasonOf(error)}`, { cause: error });
  });
  return inFile === null ? pairsIn(text) : listIn(inFile, text);
}

function listIn(json: string, place: string): readonly Pronunciation[] {
  const wanted = `${place} must contain a JSON list such as [{"word": "Kaspi", "say": "каспи"}]`;
  let list: unknown;
  try {
    // Some editors add a byte order mark, which JSON does not allow.
    list = JSON.parse(json.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new UsageError(`${wanted}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  if (!Array.isArray(list)) throw new UsageError(wanted);
  return list as readonly Pronunciation[];
}

function pairsIn(text: string): readonly Pronunciation[] {
  return text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    const [word, say] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at === -1 || word === "" || say === "")
      throw new UsageError(`--pronunciations must be pairs like Kaspi=каспи, received "${pair}"`);
    return { word, say };
  });
}
