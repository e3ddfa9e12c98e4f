import { z } from "zod";
import type { HearingModel } from "../domain/catalog/catalog.js";
import { type HotWord, MOST_HOT_WORDS } from "../domain/decoding/hot-words.js";
import { ServiceError } from "../domain/errors.js";
import { given, kindOf, parseWith, shown } from "./fields.js";

export const LONGEST_HOT_WORD = 60;
export const LARGEST_SCORE = 5;
/** Default score, which finds rare names that sound similar; see `bench/evaluate/hot-words.ts`. */
export const DEFAULT_SCORE = 1;

/** A query parameter with words and phrases to prefer. */
export function hotWords(name: string) {
  return z
    .string()
    .transform((value, context) => ruled(context, value, () => readHotWords(name, value)))
    .default([])
    .meta({
      type: "string",
      description:
        `Words and phrases to prefer, separated by commas: at most ${MOST_HOT_WORDS}, of 1 to ${LONGEST_HOT_WORD} ` +
        `letters of the model. \`word:2\` sets the advantage of each letter, 0 to ${LARGEST_SCORE}, ` +
        `${DEFAULT_SCORE} by default; an extension`,
    });
}

/** A field of a JSON body with a list of them; none by default. */
export function hotWordList(name: string) {
  return given(
    z
      .unknown()
      .transform((value, context) => ruled(context, value, () => readHotWordList(name, value)))
      .optional(),
  ).meta({
    type: "array",
    maxItems: MOST_HOT_WORDS,
    items: { type: "string" },
    description:
      `Words and phrases to be preferred, at most ${MOST_HOT_WORDS} of 1 to ${LONGEST_HOT_WORD} letters of a model. \`word:2\` sets ` +
      `the advantage of each letter, 0 to ${LARGEST_SCORE}, ${DEFAULT_SCORE} by default`,
  });
}

/** Reads hot words; a broken rule becomes an issue of the schema. */
function ruled(
  context: z.core.$RefinementCtx,
  input: unknown,
  read: () => readonly HotWord[],
): readonly HotWord[] {
  try {
    return read();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.issues.push({ code: "custom", message, input });
    return z.NEVER;
  }
}

/**
 * Checks that hot words use the model's letters. A model without an alphabet accepts none.
 *
 * @throws {ServiceError} `INVALID_REQUEST`
 */
export function requireHotWords(
  name: string,
  words: readonly HotWord[],
  { name: model, alphabet }: Pick<HearingModel, "name" | "alphabet">,
): void {
  if (words.length === 0) return;
  if (alphabet.size === 0) {
    throw new ServiceError("INVALID_REQUEST", `${name} must be omitted: ${model} does not support hot words`);
  }
  for (const { text } of words) {
    const unknown = [...text].find((character) => !alphabet.has(character));
    if (unknown === undefined) continue;
    throw new ServiceError(
      "INVALID_REQUEST",
      `${name} must be written in the model's letters, received ${shown(unknown)} in ${shown(text)}`,
    );
  }
}

/** Parses and checks the hot words of a parameter. @throws {ServiceError} `INVALID_REQUEST` */
export function hotWordsIn(name: string, value: string, model: HearingModel): readonly HotWord[] {
  const words = parseWith(hotWords(name), value);
  requireHotWords(name, words, model);
  return words;
}

/** Normalizes words to lower case and single spaces, as in transcripts. */
function readHotWords(name: string, value: string): readonly HotWord[] {
  const parts = value.split(",").filter((part) => part.trim() !== "");
  requireCount(name, parts);
  return parts.map((part) => readHotWord(name, part));
}

function readHotWordList(name: string, value: unknown): readonly HotWord[] {
  if (!Array.isArray(value))
    throw new RangeError(`${name} must be a list of words, received ${kindOf(value)}`);
  requireCount(name, value);
  return value.map((word: unknown, index) => {
    if (typeof word !== "string")
      throw new RangeError(`${name}[${index}] must be a string, received ${kindOf(word)}`);
    // Commas separate words in queries.
    if (word.includes(","))
      throw new RangeError(`${name}[${index}] must be one word or phrase, received ${shown(word)}`);
    return readHotWord(name, word);
  });
}

/** @throws {RangeError} for more words than a request may have */
function requireCount(name: string, words: readonly unknown[]): void {
  if (words.length > MOST_HOT_WORDS)
    throw new RangeError(`${name} must be at most ${MOST_HOT_WORDS} words, received ${words.length}`);
}

/** Reads `word` or `word:2`. @throws {RangeError} */
function readHotWord(name: string, part: string): HotWord {
  const [written = "", score, ...rest] = part.split(":");
  const text = written.normalize("NFC").toLowerCase().trim().replace(/\s+/gu, " ");
  const length = [...text].length;
  if (length < 1 || length > LONGEST_HOT_WORD) {
    throw new RangeError(`${name} must have 1 to ${LONGEST_HOT_WORD} characters each, received ${length}`);
  }
  return {
    text,
    characterScore: score === undefined ? DEFAULT_SCORE : scoreOf([score, ...rest].join(":"), name),
  };
}

function scoreOf(written: string, name: string): number {
  const score = /^\s*\d{1,2}(\.\d{1,6})?\s*$/.test(written) ? Number(written) : Number.NaN;
  if (score >= 0 && score <= LARGEST_SCORE) return score;
  throw new RangeError(`${name} must have scores of 0 to ${LARGEST_SCORE}, received ${shown(written)}`);
}
