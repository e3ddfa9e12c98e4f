import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { DauysClient } from "../client/node.js";
import type { ReadingChoice } from "./service-client.js";

/**
 * Options that change a transcript and therefore belong to its idempotency key. Word times are free and
 * always requested, so that text, subtitles and JSON of a recording share one request and one charge.
 */
export interface TranscriptOptions extends ReadingChoice {
  readonly timestamps: true;
  readonly hotWords: readonly string[];
  readonly diarize: boolean;
  /** Undefined if unknown. */
  readonly speakers?: number | undefined;
  /** Undefined for the service's default. */
  readonly model: string | undefined;
  /** Undefined to mix all channels. */
  readonly channels: "split" | undefined;
}

export interface KeyedOptions extends TranscriptOptions {
  /** The service's default model; null if the request specifies a model, or the service did not answer. */
  readonly defaultModel: string | null;
}

/** A running service answers immediately. If it does not, the next request reports the failure. */
const ANSWER_WITHIN_MS = 10_000;

/**
 * Adds the service's default model if none is specified. If the operator then changes the default, a repeated
 * request does not get the old model's transcript.
 */
export async function keyedOptions(
  client: DauysClient,
  options: TranscriptOptions,
  signal: AbortSignal,
): Promise<KeyedOptions> {
  if (options.model !== undefined) return { ...options, defaultModel: null };
  try {
    const [first] = await client.recognizers({ maxRetries: 0, timeoutMs: ANSWER_WITHIN_MS, signal });
    return { ...options, defaultModel: first?.name ?? null };
  } catch {
    signal.throwIfAborted();
    // The transcription request will report the reason.
    return { ...options, defaultModel: null };
  }
}

/**
 * Returns an idempotency key that depends only on the recording's bytes and the options. If a charged result
 * is lost (closed terminal, full disk), requesting it again within 24 hours is free.
 *
 * @param source the bytes, or the path of a file
 * @returns undefined for unreadable files, and for files that can be read only once, such as pipes
 */
export async function contentKey(
  source: Uint8Array | string,
  { hotWords, model, defaultModel, display, numerals, redact, ...voices }: KeyedOptions,
): Promise<string | undefined> {
  const hash = createHash("sha256");
  if (typeof source !== "string") hash.update(source);
  else {
    try {
      if (!(await stat(source)).isFile()) return undefined;
      for await (const chunk of createReadStream(source) as AsyncIterable<Buffer>) hash.update(chunk);
    } catch {
      // The upload will report the reason.
      return undefined;
    }
  }
  const isPlain = !display && redact.length === 0;
  const reading = isPlain ? [] : [{ display, numerals: numerals ?? null, redact }];
  const { diarize, speakers, channels } = voices;
  const apart = [...(channels === undefined ? [] : [{ channels }]), ...(diarize ? [{ speakers }] : [])];
  const choice = [hotWords, model ?? null, defaultModel, ...reading, ...apart];
  const request = JSON.stringify([hash.digest("hex"), ...choice]);
  return `dauys-cli-${createHash("sha256").update(request).digest("hex")}`;
}

export function freshKey(): string {
  return `dauys-cli-${randomBytes(32).toString("hex")}`;
}
