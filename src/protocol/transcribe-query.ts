import { z } from "zod";
import type { HotWord } from "../domain/decoding/hot-words.js";
import { flag } from "./fields.js";
import { hotWords, requireAlphabet } from "./hot-words.js";
import { type Query, readQuery } from "./query.js";

/** Query of `/v1/transcribe`. */
export const TRANSCRIBE_QUERY = {
  schema: z.object({
    hotwords: hotWords("hotwords"),
    timestamps: flag("timestamps", false).meta({ description: "Adds `words` and `segments`" }),
    url: z
      .string()
      .optional()
      .meta({ format: "uri", description: "Public address of the audio, instead of a body" }),
  }),
  others: "refused",
  // An address too many is one source of audio too many, and is told as such.
  repeatable: ["url"],
} as const satisfies Query;

/** What a request for a transcript asks for, beside the audio. */
export interface TranscribeOptions {
  readonly timestamps: boolean;
  readonly hotWords: readonly HotWord[];
  /** Addresses of the audio that were given; one at most is right, which is for the caller to say. */
  readonly urls: readonly string[];
}

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseTranscribeQuery(
  query: URLSearchParams,
  alphabet: ReadonlySet<string>,
): TranscribeOptions {
  const { timestamps, hotwords } = readQuery(TRANSCRIBE_QUERY, query);
  requireAlphabet("hotwords", hotwords, alphabet);
  return { timestamps, hotWords: hotwords, urls: query.getAll("url").filter((value) => value !== "") };
}
