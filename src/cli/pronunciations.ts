import { readFile } from "node:fs/promises";
import type { Pronunciation } from "../client/types.js";
import { CommandError, UsageError } from "./command.js";
import { reasonOf } from "./failures.js";

export const PRONUNCIATIONS_HELP =
  '--pronunciations WORD=SAY,...  how words sound; or a JSON list of {"word", "say"}, or a file with one';

/**
 * How words are said, as `--pronunciations` has it: a JSON list, pairs of `word=say`, or the path of a file with the list.
 * The service knows the bounds of words and says them.
 *
 * @throws {UsageError} when it is none of them
 * @throws {CommandError} when the file cannot be read
 */
export async function readPronunciations(
  given: string | null,
): Promise<readonly Pronunciation[] | undefined> {
  if (given === null) return undefined;
  const text = given.trim();
  if (text === "") throw new UsageError("--pronunciations is empty");
  if (text.startsWith("[")) return listIn(text, "--pronunciations");
  const inFile = await readFile(text, "utf8").catch((error: unknown) => {
    // A pair looks like a name that is not there.
    if (text.includes("=") && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new CommandError(`Cannot read ${text}: ${reasonOf(error)}`, { cause: error });
  });
  return inFile === null ? pairsIn(text) : listIn(inFile, text);
}

function listIn(json: string, place: string): readonly Pronunciation[] {
  const wanted = `${place} must hold a JSON list such as [{"word": "Kaspi", "say": "каспи"}]`;
  let list: unknown;
  try {
    // Editors of one system begin files with a mark that is no JSON.
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
