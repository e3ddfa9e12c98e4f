import { z } from "zod";
import type { HearingModel } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import { ServiceError } from "../domain/errors.js";
import { parseWith, shown } from "./fields.js";

const MAX_WORDS = 100;
const MAX_CHARACTERS = 60;
const MAX_SCORE = 5;
/** Default score, which finds rare names that sound similar; see `bench/evaluate/hot-words.ts`. */
const DEFAULT_SCORE = 1;

/** A query parameter with words and phrases to prefer. */
export function hotWords(name: string) {
  return z
    .string()
    .transform((value, context): readonly HotWord[] => {
      try {
        return readHotWords(name, value);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        context.issues.push({ code: "custom", message, input: value });
        return z.NEVER;
      }
    })
    .default([])
    .meta({
      type: "string",
      description:
        `Words and phrases to prefer, separated by commas: at most ${MAX_WORDS}, of 1 to ${MAX_CHARACTERS} ` +
        `letters of the model. \`word:2\` sets the advantage of each letter, 0 to ${MAX_SCORE}, ` +
        `${DEFAULT_SCORE} by default; an extension`,
    });
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
  if (parts.length > MAX_WORDS) {
    throw new RangeError(`${name} must be at most ${MAX_WORDS} words, received ${parts.length}`);
  }
  return parts.map((part) => {
    const [written = "", score, ...rest] = part.split(":");
    const text = written.normalize("NFC").toLowerCase().trim().replace(/\s+/gu, " ");
    const length = [...text].length;
    if (length < 1 || length > MAX_CHARACTERS) {
      throw new RangeError(`${name} must have 1 to ${MAX_CHARACTERS} characters each, received ${length}`);
    }
    return {
      text,
      characterScore: score === undefined ? DEFAULT_SCORE : scoreOf([score, ...rest].join(":"), name),
    };
  });
}

function scoreOf(written: string, name: string): number {
  const score = /^\s*\d{1,2}(\.\d{1,6})?\s*$/.test(written) ? Number(written) : Number.NaN;
  if (score >= 0 && score <= MAX_SCORE) return score;
  throw new RangeError(`${name} must have scores of 0 to ${MAX_SCORE}, received ${shown(written)}`);
}
