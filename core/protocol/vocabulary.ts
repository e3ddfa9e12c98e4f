import { z } from "zod";
import type { HearingModel } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import { ServiceError } from "../domain/errors.js";
import { isSpelled, type Vocabulary, type WrittenVocabulary } from "../domain/vocabulary.js";
import { body, parseWith } from "./fields.js";
import { hotWordList, requireHotWords } from "./hot-words.js";
import { PRONUNCIATION, PRONUNCIATIONS } from "./pronunciations.js";

/** Body of `PUT /v1/vocabulary`. */
export const VOCABULARY_REQUEST = body({ hotwords: hotWordList("hotwords"), pronunciations: PRONUNCIATIONS });

/** An organization's words as it wrote them. */
export const VOCABULARY = z.object({
  hotwords: z
    .array(z.string())
    .meta({ description: "Words and phrases that all of its transcriptions prefer, as they were stored" }),
  pronunciations: z
    .array(z.object(PRONUNCIATION.shape))
    .meta({ description: "How words sound in all of its speech, as they were stored" }),
});

/**
 * Checks a body by the rules of requests, and returns its words as they were written. Hot words must be in
 * letters of an installed model that accepts some.
 *
 * @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`
 */
export function parseVocabulary(value: unknown, models: readonly HearingModel[]): WrittenVocabulary {
  const { hotWords } = readVocabulary(value);
  requireUsable(hotWords, models);
  // Valid: a list, or left out.
  const { hotwords, pronunciations } = value as Partial<WrittenVocabulary>;
  const written = {
    hotwords: hotwords ?? [],
    pronunciations: (pronunciations ?? []).map(({ word, say }) => ({ word, say })),
  };
  for (const [index, word] of written.hotwords.entries()) requireStorable(`hotwords[${index}]`, word);
  for (const [index, { word, say }] of written.pronunciations.entries()) {
    requireStorable(`pronunciations[${index}].word`, word);
    requireStorable(`pronunciations[${index}].say`, say);
  }
  return written;
}

/** Reads words in the forms in which requests use them. @throws {ServiceError} as `parseVocabulary` */
export function readVocabulary(written: unknown): Vocabulary {
  const { hotwords: hotWords = [], pronunciations = [] } = parseWith(VOCABULARY_REQUEST, written);
  return { hotWords, pronunciations };
}

/** A word that no model can prefer would silently do nothing. */
function requireUsable(words: readonly HotWord[], models: readonly HearingModel[]): void {
  const able = models.filter(({ alphabet }) => alphabet.size > 0);
  const [first] = able;
  if (first === undefined) return;
  requireHotWords(
    "hotwords",
    words.filter(({ text }) => !able.some(({ alphabet }) => isSpelled(text, alphabet))),
    first,
  );
}

/** PostgreSQL stores neither of these. */
function requireStorable(place: string, text: string): void {
  if (text.isWellFormed() && !text.includes("\0")) return;
  throw new ServiceError("INVALID_REQUEST", `${place} must be well-formed Unicode without NUL characters`);
}
