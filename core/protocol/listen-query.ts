import { z } from "zod";
import { MOST_CHANNELS } from "../domain/audio/channels.js";
import type { StreamedFormat } from "../domain/audio/streamed-pcm.js";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import { invalid } from "../domain/errors.js";
import { flag, oneOf, queryInteger, shown } from "./fields.js";
import { hotWords, hotWordsIn } from "./hot-words.js";
import { LISTEN_READING_FIELDS, type ListenReading, listenReading } from "./listen-reading.js";
import {
  type OrganizationDefaults,
  organizationDefaultsOf,
  STORED_HOT_WORDS,
} from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

/** Sample formats of Deepgram's live paths, and compressed ones: Opus packets, and Ogg Opus. */
export const LIVE_ENCODINGS = ["linear16", "mulaw", "alaw", "opus", "ogg-opus"] as const;
export type LiveEncoding = (typeof LIVE_ENCODINGS)[number];

export const SAMPLE_RATE_HZ = { min: 8_000, max: 48_000 };
const ENDPOINTING_MS = { min: 100, max: 2_000, otherwise: 200 };
/** Names of Deepgram's models, which mean the default model. */
const MODEL_ALIAS = /^nova(-\d)?(-[a-z]+)?$/;
export const LISTEN_LANGUAGES: readonly string[] = ["multi", "kk", "kk-KZ", "ru", "ru-RU"];
/** Features that change the meaning of a response, and are therefore rejected instead of ignored. */
const MISSING = ["callback", "detect_entities", "diarize", "dictation", "replace", "search"] as const;

/** Other Deepgram parameters, which do not change the meaning of a response. */
const IGNORED = [
  ...["alternatives", "callback_method", "diarize_model", "diarize_version", "extra", "filler_words"],
  ...["measurements", "mip_opt_out", "no_delay", "profanity_filter", "tag", "tier", "version"],
];

export const LISTEN_MODEL_MEANS = `${RECOGNIZER_MEANS}; names that start with \`nova\` also mean it`;

export const LISTEN_QUERY = {
  schema: z.object({
    model: z.string().optional().meta({ description: LISTEN_MODEL_MEANS }),
    language: z
      .string()
      .optional()
      .meta({ description: "`kk`, `ru` or `multi`: both are always recognized" }),
    encoding: oneOf("encoding", LIVE_ENCODINGS, { otherwise: "linear16", code: "INVALID_REQUEST" }).meta({
      description:
        "Format of raw samples; `opus`: one Opus packet per message. Without it, WAV, and WebM " +
        "and Ogg with Opus, are detected by their first bytes, and other files are rejected by " +
        "name",
    }),
    sample_rate: queryInteger("sample_rate", { ...SAMPLE_RATE_HZ, otherwise: 16_000 }).meta({
      description: "Samples per second; 8000 by default for mulaw and alaw",
    }),
    channels: queryInteger("channels", { min: 1, max: MOST_CHANNELS, otherwise: 1 }).meta({
      description: "Interleaved channels; more than 1 with `multichannel`",
    }),
    multichannel: flag("multichannel", false).meta({
      description:
        "Each of `channels` is transcribed, charged, and counted as a separate session; " +
        "`channel_index` identifies it",
    }),
    interim_results: flag("interim_results", false),
    endpointing: z
      .string()
      .optional()
      .meta({
        description:
          "Silence in milliseconds that ends an utterance, 100 to 2000; lower values count as 100, " +
          "`false` as 2000",
      }),
    utterance_end_ms: z
      .string()
      .optional()
      .meta({ description: "Silence in milliseconds, 1000 to 5000, after which `UtteranceEnd` is sent" }),
    keyterm: hotWords("keyterm"),
    keywords: hotWords("keywords"),
    organization_defaults: STORED_HOT_WORDS,
    ...LISTEN_READING_FIELDS,
    vad_events: flag("vad_events", false).meta({
      description: "Sends `SpeechStarted` when an utterance starts",
    }),
  }),
  others: { passed: IGNORED, alsoKnown: [...MISSING, "token"] },
} as const satisfies Query;

/** Options of a client of `/v1/listen`. */
export interface ListenOptions extends ListenReading, OrganizationDefaults {
  readonly model: HearingModel;
  readonly encoding: LiveEncoding;
  readonly sampleRateHz: number;
  /** Separate channels; null for mono audio. */
  readonly channelCount: number | null;
  readonly endOfUtteranceMs: number;
  readonly interimResults: boolean;
  readonly vadEvents: boolean;
  /** Null if the client wants no `UtteranceEnd`. */
  readonly utteranceEndMs: number | null;
  readonly hotWords: readonly HotWord[];
  /** The client specified the encoding, so it sends raw samples. */
  readonly saysEncoding: boolean;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
}

/**
 * Parses the options of `/v1/listen`. Unknown names are ignored, since Deepgram adds some every year, except
 * near misses of ours.
 *
 * @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`
 */
export function parseListenQuery(query: URLSearchParams, models: ModelList<HearingModel>): ListenOptions {
  refuseFeatures(query, MISSING);
  const fields = readQuery(LISTEN_QUERY, query);
  const { language = "multi", encoding } = fields;
  const { model } = listenModel(fields.model ?? null, models);
  if (!LISTEN_LANGUAGES.includes(language)) {
    throw invalid(`language must be one of ${LISTEN_LANGUAGES.join(", ")}, received ${shown(language)}`);
  }
  const isTelephone = sampleFormat(encoding) !== "linear16" && !query.has("sample_rate");
  return {
    model,
    encoding,
    sampleRateHz: isTelephone ? 8_000 : fields.sample_rate,
    channelCount: channelCountOf(fields),
    endOfUtteranceMs: endpointingMs(fields.endpointing),
    interimResults: fields.interim_results,
    vadEvents: fields.vad_events,
    utteranceEndMs: utteranceEndMs(fields.utterance_end_ms),
    saysEncoding: query.has("encoding"),
    ...listenReading(query, fields),
    ...organizationDefaultsOf(fields),
    ignored: ignoredNames(query),
    // A key term is a phrase, a keyword may have an intensifier after a colon, like our hot words.
    hotWords: ["keyterm", "keywords"].flatMap((name) =>
      hotWordsIn(name, query.getAll(name).join(","), model),
    ),
  };
}

/** Returns the format of a client's samples; compressed audio has none, and is decoded to the usual one. */
export function sampleFormat(encoding: LiveEncoding): StreamedFormat {
  return encoding === "opus" || encoding === "ogg-opus" ? "linear16" : encoding;
}

/** Rejects features that this service does not offer. @throws {ServiceError} `INVALID_REQUEST` */
export function refuseFeatures(query: URLSearchParams, missing: readonly string[]): void {
  for (const name of missing) {
    const isAsked = query.getAll(name).some((value) => value !== "" && value !== "false");
    if (isAsked) throw invalid(`${name} is not supported`, name);
  }
}

/**
 * Finds a model by name; Deepgram's model names mean the default.
 * @throws {ServiceError} `INVALID_REQUEST`
 */
export function listenModel(
  name: string | null,
  models: ModelList<HearingModel>,
): { readonly model: HearingModel; readonly isModelNamed: boolean } {
  const isModelNamed = name !== null && (models.find(name) !== undefined || !MODEL_ALIAS.test(name));
  return { model: models.require(isModelNamed ? name : null, "INVALID_REQUEST"), isModelNamed };
}

/** Returns requested parameters without effect, except those set to `false`. */
function ignoredNames(query: URLSearchParams): readonly string[] {
  const hasEffect = new Set<string>([...Object.keys(LISTEN_QUERY.schema.shape), ...MISSING, "token"]);
  const given = [...query].filter(
    ([name, value]) => !hasEffect.has(name) && value !== "" && value !== "false",
  );
  // Both languages are always recognized.
  const language = query.get("language") ?? "multi";
  return [...(language === "multi" ? [] : ["language"]), ...given.map(([name]) => name)];
}

function channelCountOf({
  channels,
  multichannel,
  encoding,
}: {
  readonly channels: number;
  readonly multichannel: boolean;
  readonly encoding: LiveEncoding;
}): number | null {
  if (multichannel && channels > 1 && (encoding === "opus" || encoding === "ogg-opus")) {
    throw invalid(`encoding must be samples with multichannel=true, received ${shown(encoding)}`);
  }
  if (multichannel) return channels;
  if (channels === 1) return null;
  throw invalid(`channels must be 1 without multichannel=true, received ${shown(channels)}`);
}

function endpointingMs(value: string | undefined): number {
  if (value === undefined || value === "true") return ENDPOINTING_MS.otherwise;
  if (value === "false") return ENDPOINTING_MS.max;
  const ms = wholeNumber(value);
  if (ms === null || ms > ENDPOINTING_MS.max) {
    throw invalid(
      `endpointing must be false or an integer up to ${ENDPOINTING_MS.max}, received ${shown(value)}`,
    );
  }
  return Math.max(ms, ENDPOINTING_MS.min);
}

function utteranceEndMs(value: string | undefined): number | null {
  if (value === undefined || value === "false") return null;
  const ms = wholeNumber(value);
  if (ms !== null && ms >= 1_000 && ms <= 5_000) return ms;
  throw invalid(`utterance_end_ms must be an integer from 1000 to 5000, received ${shown(value)}`);
}

function wholeNumber(value: string): number | null {
  return /^\d{1,6}$/.test(value) ? Number(value) : null;
}
