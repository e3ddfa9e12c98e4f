import { SpeechError } from "../domain/errors.js";
import { parseFlag } from "./flags.js";
import { STREAM_ENCODINGS, type StreamEncoding } from "./stream-encoding.js";
import type { StreamOptions } from "./stream-messages.js";

const END_OF_UTTERANCE_MS = { min: 100, max: 2_000, otherwise: 200 };

/** Options of `/v1/stream` from its query; names that are not known are ignored. @throws {SpeechError} `INVALID_REQUEST` */
export function parseStreamQuery(query: URLSearchParams): StreamOptions {
  checkEncoding(query.get("encoding") ?? "json");
  return {
    endOfUtteranceMs: parseEndOfUtterance(query.get("eou_ms")),
    partials: parseFlag("partials", query.get("partials"), true),
    words: parseFlag("words", query.get("words"), false),
  };
}

/** The encoding a client asks for, or JSON: even a client whose other options are wrong is told in its own language. */
export function encodingOf(query: URLSearchParams): StreamEncoding {
  return query.get("encoding") === "msgpack" ? "msgpack" : "json";
}

function checkEncoding(value: string): void {
  if (STREAM_ENCODINGS.some((known) => known === value)) return;
  const names = STREAM_ENCODINGS.join(", ");
  throw invalid(`encoding must be one of ${names}, received ${JSON.stringify(value.slice(0, 40))}`);
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
