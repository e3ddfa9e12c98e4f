import { SpeechError } from "../domain/errors.js";
import { parseFlag } from "./flags.js";
import type { StreamOptions } from "./stream-messages.js";

const END_OF_UTTERANCE_MS = { min: 100, max: 2_000, otherwise: 200 };

/** Options of `/v1/stream` from its query; names that are not known are ignored. @throws {SpeechError} `INVALID_REQUEST` */
export function parseStreamQuery(query: URLSearchParams): StreamOptions {
  const encoding = query.get("encoding") ?? "json";
  if (encoding !== "json") {
    throw invalid(`encoding must be json, received ${JSON.stringify(encoding.slice(0, 40))}`);
  }
  return {
    endOfUtteranceMs: parseEndOfUtterance(query.get("eou_ms")),
    partials: parseFlag("partials", query.get("partials"), true),
    words: parseFlag("words", query.get("words"), false),
  };
}

function parseEndOfUtterance(value: string | null): number {
  if (value === null) return END_OF_UTTERANCE_MS.otherwise;
  const { min, max } = END_OF_UTTERANCE_MS;
  const parsed = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (parsed >= min && parsed <= max) return parsed;
  throw invalid(
    `eou_ms must be an integer from ${min} to ${max}, received ${JSON.stringify(value.slice(0, 40))}`,
  );
}

function invalid(message: string): SpeechError {
  return new SpeechError("INVALID_REQUEST", message);
}
