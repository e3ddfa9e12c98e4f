import { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import { countCodePoints } from "../domain/text/code-points.js";
import { type DictionaryEntry, dictionaryOf, MOST_PRONUNCIATIONS } from "../domain/text/kazakh/dictionary.js";
import {
  growthBy,
  longestGrowth,
  soughtWord,
  spokenPronunciation,
} from "../domain/text/kazakh/pronunciations.js";
import { given, kindOf, shown, unknownNameRule } from "./fields.js";

/** Most characters of a word, and of its pronunciation. */
export const LONGEST_ENTRY = 60;

export const PRONUNCIATION = z.strictObject({
  word: z.string().meta({
    minLength: 1,
    maxLength: LONGEST_ENTRY,
    description: "Word or phrase as written in the text, in any case; endings after a hyphen may follow",
    examples: ["Kaspi"],
  }),
  say: z.string().meta({
    minLength: 1,
    maxLength: LONGEST_ENTRY,
    description: "Pronunciation in Kazakh letters; digits and Latin letters are read as in a text",
    examples: ["каспи"],
  }),
});

const { $schema: _, ...ENTRIES_SCHEMA } = z.toJSONSchema(z.array(PRONUNCIATION).max(MOST_PRONUNCIATIONS), {
  io: "input",
});

/** Pronunciations in the form in which they are looked up and spoken; empty by default. */
export const PRONUNCIATIONS = given(
  z
    .unknown()
    .transform((value, context): readonly DictionaryEntry[] => {
      try {
        return readEntries(value);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const code = error instanceof ServiceError ? error.code : "INVALID_REQUEST";
        context.issues.push({ code: "custom", message, params: { code }, input: value });
        return z.NEVER;
      }
    })
    .optional(),
).meta({
  ...ENTRIES_SCHEMA,
  description: `Pronunciations of words and phrases of the text: at most ${MOST_PRONUNCIATIONS}, an extension`,
});

/** Characters (code points) of a text so far, and those that pronunciations have added. */
export interface Growth {
  readonly characters: number;
  readonly added: number;
}

export const NO_GROWTH: Growth = { characters: 0, added: 0 };

/**
 * @param before of the same text, when it arrives in pieces
 * @throws {ServiceError} `INVALID_REQUEST`
 */
export function requireBoundedGrowth(
  text: string,
  pronunciations?: readonly DictionaryEntry[],
  before = NO_GROWTH,
): Growth {
  const characters = before.characters + countCodePoints(text);
  const dictionary = dictionaryOf(pronunciations);
  if (dictionary === undefined) return { ...before, characters };
  const added = before.added + growthBy(dictionary, text);
  const limit = longestGrowth(characters);
  if (added > limit)
    throw broken("", `must make the text at most ${limit} characters longer, received ${added}`);
  return { characters, added };
}

function readEntries(value: unknown): readonly DictionaryEntry[] {
  if (!Array.isArray(value)) throw broken("", `must be a list of {"word", "say"}, received ${kindOf(value)}`);
  if (value.length > MOST_PRONUNCIATIONS) {
    throw broken("", `must be at most ${MOST_PRONUNCIATIONS} entries, received ${value.length}`);
  }
  const words = new Set<string>();
  return value.map((entry: unknown, index) => {
    const { word, say } = membersOf(entry, index);
    const sought = soughtWord(word);
    const spoken = spokenPronunciation(say);
    const folded = sought.toLowerCase();
    if (sought === "")
      throw broken(`[${index}].word`, `must hold letters, figures or signs, received ${shown(word)}`);
    if (words.has(folded))
      throw broken(`[${index}].word`, `must not be there twice, received ${shown(word)}`);
    if (spoken === "") {
      throw broken(
        `[${index}].say`,
        `must hold something that can be spoken in Kazakh, received ${shown(say)}`,
      );
    }
    words.add(folded);
    return { word: sought, spoken };
  });
}

function membersOf(entry: unknown, index: number): { readonly word: string; readonly say: string } {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw broken(`[${index}]`, `must be {"word", "say"}, received ${kindOf(entry)}`);
  }
  const unknown = Object.keys(entry).find((name) => name !== "word" && name !== "say");
  if (unknown !== undefined) {
    const rule = unknownNameRule("field", unknown, ["word", "say"]);
    throw new ServiceError("UNKNOWN_PARAMETER", `pronunciations[${index}]: ${rule}`);
  }
  const { word, say } = entry as { readonly word?: unknown; readonly say?: unknown };
  return { word: boundedString(`[${index}].word`, word), say: boundedString(`[${index}].say`, say) };
}

function boundedString(member: string, value: unknown): string {
  if (typeof value !== "string") throw broken(member, `must be a string, received ${kindOf(value)}`);
  const length = [...value].length;
  if (length >= 1 && length <= LONGEST_ENTRY) return value;
  throw broken(member, `must be 1 to ${LONGEST_ENTRY} characters, received ${length}`);
}

function broken(member: string, rule: string): ServiceError {
  return new ServiceError("INVALID_REQUEST", `pronunciations${member} ${rule}`);
}
