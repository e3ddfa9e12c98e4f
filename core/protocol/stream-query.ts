import { z } from "zod";
import { MOST_CHANNELS } from "../domain/audio/channels.js";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import { ENDPOINTINGS } from "../domain/endpointing/patience.js";
import { ServiceError } from "../domain/errors.js";
import { CHANNELS } from "./channels-query.js";
import { flag, oneOf, queryInteger, shown } from "./fields.js";
import { hotWords, requireHotWords } from "./hot-words.js";
import { organizationDefaultsOf, STORED_HOT_WORDS } from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { READING_FIELDS, readingOf } from "./reading-query.js";
import { STREAM_ENCODINGS, type StreamEncoding } from "./stream-encoding.js";
import type { StreamOptions } from "./stream-messages.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

/** Number of channels of a typical call recording. */
const DEFAULT_SPLIT_COUNT = 2;

export const STREAM_QUERY = {
  schema: z.object({
    eou_ms: queryInteger("eou_ms", { min: 100, max: 2_000, otherwise: 200 }).meta({
      description: "Silence in milliseconds that ends an utterance",
    }),
    endpointing: oneOf("endpointing", ENDPOINTINGS, { otherwise: "fixed", code: "INVALID_REQUEST" }).meta({
      description:
        "`adaptive`: up to 3 times `eou_ms` where the language model expects the sentence to " +
        "continue; an extension",
    }),
    partials: flag("partials", true).meta({ description: "Send partial results" }),
    words: flag("words", false).meta({
      description: "Adds the times and confidences of words to finals",
    }),
    hotwords: hotWords("hotwords"),
    organization_defaults: STORED_HOT_WORDS,
    ...READING_FIELDS,
    model: z
      .string()
      .optional()
      .meta({ description: `${RECOGNIZER_MEANS}; an extension` }),
    encoding: oneOf("encoding", STREAM_ENCODINGS, { otherwise: "json", code: "INVALID_REQUEST" }).meta({
      description: "`msgpack`: every server message is one binary MessagePack map with the same members",
    }),
    channels: CHANNELS.meta({
      description:
        `\`split\`: the audio has \`channel_count\` interleaved channels, each of which is transcribed, ` +
        "charged, and counted as a separate session; messages have their `channel`. An extension",
    }),
    channel_count: z
      .string()
      .optional()
      .meta({
        type: "integer",
        description: `Interleaved channels with \`channels=split\`, 1 to ${MOST_CHANNELS}; default 2. An extension`,
      }),
    token: z.string().optional().meta({ description: "A token from `POST /v1/stream/token`; never a key" }),
  }),
  others: "refused",
} as const satisfies Query;

/** Parses the query. @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`, `UNKNOWN_MODEL` */
export function parseStreamQuery(
  query: URLSearchParams,
  models: ModelList<HearingModel>,
): StreamOptions & { readonly model: string } {
  const fields = readQuery(STREAM_QUERY, query);
  const { eou_ms, endpointing, partials, words, hotwords, model: name = null } = fields;
  const model = models.require(name);
  requireHotWords("hotwords", hotwords, model);
  const reading = readingOf(fields);
  return {
    ...{ model: model.name, endOfUtteranceMs: eou_ms, endpointing, partials, words },
    hotWords: hotwords,
    ...organizationDefaultsOf(fields),
    ...(reading !== null && { reading }),
  };
}

/**
 * Returns the number of separate channels; null for mono audio.
 * @throws {ServiceError} `INVALID_REQUEST`
 */
export function splitCountOf(query: URLSearchParams): number | null {
  const { channels, channel_count: count = "" } = readQuery(STREAM_QUERY, query);
  const param = "channel_count";
  if (channels === "mix") {
    if (count === "" || count === "1") return null;
    const message = `${param} needs channels=split: otherwise live audio is mono, received ${shown(count)}`;
    throw new ServiceError("INVALID_REQUEST", message, { param });
  }
  if (count === "") return DEFAULT_SPLIT_COUNT;
  if (/^\d$/.test(count) && Number(count) >= 1 && Number(count) <= MOST_CHANNELS) return Number(count);
  const message = `${param} must be an integer from 1 to ${MOST_CHANNELS}, received ${shown(count)}`;
  throw new ServiceError("INVALID_REQUEST", message, { param });
}

/** Returns the requested encoding or JSON, even if other options are invalid, so that errors use it too. */
export function encodingOf(query: URLSearchParams): StreamEncoding {
  return query.get("encoding") === "msgpack" ? "msgpack" : "json";
}
