import { z } from "zod";
import { flag, oneOf, queryInteger } from "./fields.js";
import { hotWords, requireAlphabet } from "./hot-words.js";
import { type Query, readQuery } from "./query.js";
import { STREAM_ENCODINGS, type StreamEncoding } from "./stream-encoding.js";
import type { StreamOptions } from "./stream-messages.js";

export const STREAM_QUERY = {
  schema: z.object({
    eou_ms: queryInteger("eou_ms", { min: 100, max: 2_000, otherwise: 200 }).meta({
      description: "Silence in milliseconds that ends an utterance",
    }),
    partials: flag("partials", true).meta({ description: "Send partial results" }),
    words: flag("words", false).meta({
      description: "Finals carry the times and confidences of their words",
    }),
    hotwords: hotWords("hotwords"),
    encoding: oneOf("encoding", STREAM_ENCODINGS, { otherwise: "json", code: "INVALID_REQUEST" }).meta({
      description: "`msgpack`: every server message is one binary MessagePack map with the same members",
    }),
    token: z.string().optional().meta({ description: "A token from `POST /v1/stream/token`; never a key" }),
  }),
  others: "refused",
} as const satisfies Query;

/**
 * Options of `/v1/stream` from its query.
 *
 * @param alphabet characters that the model writes
 * @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`
 */
export function parseStreamQuery(query: URLSearchParams, alphabet: ReadonlySet<string>): StreamOptions {
  const { eou_ms, partials, words, hotwords } = readQuery(STREAM_QUERY, query);
  requireAlphabet("hotwords", hotwords, alphabet);
  return { endOfUtteranceMs: eou_ms, partials, words, hotWords: hotwords };
}

/** The encoding a client asks for, or JSON: even a client whose other options are wrong is told in its own language. */
export function encodingOf(query: URLSearchParams): StreamEncoding {
  return query.get("encoding") === "msgpack" ? "msgpack" : "json";
}
