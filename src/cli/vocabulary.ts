import { readFile } from "node:fs/promises";
import type { VocabularyWords } from "../client/vocabulary.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  printResult,
  UsageError,
  unknownAction,
} from "./command.js";
import { reasonOf } from "./failures.js";
import { openService, SERVICE_OPTIONS } from "./service-client.js";
import { readTypedInput } from "./standard-streams.js";

export const vocabularyCommand: Command = {
  usage: "vocabulary get | set FILE",
  summary: "Show or replace the hot words and pronunciations of all requests",
  description:
    "Show or replace the hot words and pronunciations that apply to all requests of the API key's organization.",
  actions: [
    ["get", "Print them as JSON, in the form that `set` reads"],
    ["set FILE", 'Replace them by those of a JSON file; "-" reads standard input'],
  ],
  options: SERVICE_OPTIONS,
  optionHelp: [],
  examples: ["vocabulary get > words.json", "vocabulary set words.json"],
  run: vocabulary,
};

async function vocabulary(input: CommandInput): Promise<void> {
  const [action, ...rest] = input.positionals;
  const [path] = rest;
  if (action === "get" && rest.length === 0) return await get(input);
  if (action === "set" && rest.length === 1 && path !== undefined) return await set(input, path);
  if (action === "set") throw new UsageError('set needs one FILE; use "-" to read standard input');
  throw action === "get"
    ? new UsageError("get accepts no more arguments")
    : unknownAction(action, ["get", "set"]);
}

async function get(input: CommandInput): Promise<void> {
  const client = await openService(input);
  const words = await client.vocabulary.get();
  printResult(input, words, JSON.stringify(words, null, 2));
}

async function set(input: CommandInput, path: string): Promise<void> {
  const wanted = await readWords(path);
  const client = await openService(input);
  const words = await client.vocabulary.set(wanted);
  const { hotwords, pronunciations } = words;
  printResult(
    input,
    words,
    `${hotwords.length} hot words and ${pronunciations.length} pronunciations stored`,
  );
}

/** The service checks the words themselves. @throws {UsageError} if the text is not a JSON object */
async function readWords(path: string): Promise<VocabularyWords> {
  const text =
    path === "-"
      ? (await readTypedInput()).toString()
      : await readFile(path, "utf8").catch((error: unknown) => {
          throw new CommandError(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
        });
  const place = path === "-" ? "standard input" : path;
  const wanted = `${place} must contain a JSON object such as {"hotwords": ["айнұр"], "pronunciations": []}`;
  let words: unknown;
  try {
    // Some editors start files with a byte order mark, which JSON does not allow.
    words = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new UsageError(`${wanted}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  if (typeof words !== "object" || words === null || Array.isArray(words)) throw new UsageError(wanted);
  return words as VocabularyWords;
}
