import { z } from "zod";
import type { ChannelHandling, RawAudio } from "../domain/audio/channels.js";
import type { StreamedFormat } from "../domain/audio/streamed-pcm.js";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import { invalid } from "../domain/errors.js";
import { body, flag, parseWith, queryInteger, shown } from "./fields.js";
import { hotWords, hotWordsIn } from "./hot-words.js";
import {
  LISTEN_LANGUAGES,
  LISTEN_MODEL_MEANS,
  listenModel,
  refuseFeatures,
  SAMPLE_RATE_HZ,
} from "./listen-query.js";
import { LISTEN_READING_FIELDS, type ListenReading, listenReading } from "./listen-reading.js";
import {
  type OrganizationDefaults,
  organizationDefaultsOf,
  STORED_HOT_WORDS,
} from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { splitWithSpeakers } from "./speakers-query.js";

const RAW_FORMATS: readonly StreamedFormat[] = ["linear16", "mulaw", "alaw"];
const TELEPHONE_RATE_HZ = 8_000;
const CHANNELS = { min: 1, max: 32, otherwise: 1 };
/** Silence in seconds that ends an utterance. */
const UTTERANCE_SPLIT = { min: 0.1, max: 60, otherwise: 0.8 };

/** Features that change the meaning of a response, and are therefore rejected instead of ignored. */
const MISSING = [
  ...["callback", "custom_intent", "custom_topic", "detect_entities", "diarize_model", "dictation"],
  ...["intents", "replace", "search", "sentiment", "summarize", "topics"],
];

/** Other Deepgram parameters, which do not change the meaning of a response. */
const IGNORED = [
  ...["alternatives", "callback_method", "custom_intent_mode", "custom_topic_mode", "diarize_version"],
  ...["extra", "filler_words", "measurements", "mip_opt_out", "profanity_filter", "tag", "tier", "version"],
];

const DETECT_LANGUAGE = "detect_language";

/** Query of `POST /v1/listen`. */
export const LISTEN_FILE_QUERY = {
  schema: z.object({
    model: z.string().optional().meta({ description: LISTEN_MODEL_MEANS }),
    language: z
      .string()
      .optional()
      .meta({ description: "`kk`, `ru` or `multi`: both are always recognized" }),
    [DETECT_LANGUAGE]: z.string().optional().meta({
      description:
        "`true`, or `kk` and `ru`: adds `detected_language`, the language of most words, to each channel",
    }),
    encoding: z.string().optional().meta({
      description:
        "`linear16`, `mulaw` or `alaw`: the body may be raw samples of this format; files are recognized by their bytes",
    }),
    sample_rate: queryInteger("sample_rate", { ...SAMPLE_RATE_HZ, otherwise: 16_000 }).meta({
      description: "Sample rate of raw samples; 8000 by default for mulaw and alaw",
    }),
    channels: queryInteger("channels", CHANNELS).meta({ description: "Number of channels of raw samples" }),
    multichannel: flag("multichannel", false).meta({
      description:
        "Transcribes and charges each channel separately, up to 8; otherwise all are mixed into one",
    }),
    utterances: flag("utterances", false).meta({ description: "Adds `results.utterances`" }),
    utt_split: z
      .string()
      .optional()
      .meta({ description: "Silence in seconds that ends an utterance, 0.1 to 60; 0.8 by default" }),
    diarize: flag("diarize", false).meta({
      description:
        "Adds `speaker` to words, utterances and paragraphs; requires an installed diarization " + "model",
    }),
    paragraphs: flag("paragraphs", false).meta({ description: "Adds `paragraphs` to the alternative" }),
    ...LISTEN_READING_FIELDS,
    smart_format: LISTEN_READING_FIELDS.smart_format.meta({
      description: "As `punctuate`, `numerals` and `paragraphs`",
    }),
    keyterm: hotWords("keyterm"),
    keywords: hotWords("keywords"),
    organization_defaults: STORED_HOT_WORDS,
  }),
  others: { passed: IGNORED, alsoKnown: MISSING },
} as const satisfies Query;

/** Options of a client of `POST /v1/listen`. */
export interface ListenFileOptions extends ListenReading, OrganizationDefaults {
  readonly model: HearingModel;
  readonly isModelNamed: boolean;
  readonly hotWords: readonly HotWord[];
  /** Format of a body without a file header; null if the client did not specify it. */
  readonly raw: RawAudio | null;
  readonly detectsLanguage: boolean;
  readonly channels: ChannelHandling;
  readonly utterances: boolean;
  readonly utteranceSplitSeconds: number;
  readonly paragraphs: boolean;
  readonly diarize: boolean;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
}

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseListenFileQuery(
  query: URLSearchParams,
  models: ModelList<HearingModel>,
): ListenFileOptions {
  refuseFeatures(query, MISSING);
  const fields = readQuery(LISTEN_FILE_QUERY, query);
  if (fields.diarize && fields.multichannel) throw splitWithSpeakers("multichannel=true");
  const { language = "multi" } = fields;
  const { model, isModelNamed } = listenModel(fields.model ?? null, models);
  if (!LISTEN_LANGUAGES.includes(language)) {
    throw invalid(`language must be one of ${LISTEN_LANGUAGES.join(", ")}, received ${shown(language)}`);
  }
  return {
    model,
    isModelNamed,
    hotWords: ["keyterm", "keywords"].flatMap((name) =>
      hotWordsIn(name, query.getAll(name).join(","), model),
    ),
    raw: rawAudio(query, fields),
    detectsLanguage: detectsLanguage(query),
    channels: fields.multichannel ? "split" : "mix",
    utterances: fields.utterances,
    utteranceSplitSeconds: utteranceSplit(fields.utt_split),
    paragraphs: fields.paragraphs || fields.smart_format,
    diarize: fields.diarize,
    ...listenReading(query, fields),
    ...organizationDefaultsOf(fields),
    ignored: ignoredNames(query, language),
  };
}

const REMOTE_FILE = body({ url: z.string({ error: "url must be a string: the address of the audio" }) });

/** Parses a JSON body with an address. @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseListenUrl(value: unknown): string {
  return parseWith(REMOTE_FILE, value).url;
}

function rawAudio(
  query: URLSearchParams,
  {
    encoding,
    sample_rate,
    channels,
  }: { encoding?: string | undefined; sample_rate: number; channels: number },
): RawAudio | null {
  const format = RAW_FORMATS.find((candidate) => candidate === encoding);
  if (format === undefined) return null;
  const isTelephone = format !== "linear16" && !query.has("sample_rate");
  return { format, sampleRateHz: isTelephone ? TELEPHONE_RATE_HZ : sample_rate, channels };
}

function detectsLanguage(query: URLSearchParams): boolean {
  const asked = query.getAll(DETECT_LANGUAGE).filter((value) => value !== "" && value !== "false");
  const unknown = asked.find((value) => value !== "true" && !LISTEN_LANGUAGES.includes(value));
  if (unknown === undefined) return asked.length > 0;
  throw invalid(`${DETECT_LANGUAGE} must be true, kk or ru, received ${shown(unknown)}`);
}

function utteranceSplit(value: string | undefined): number {
  if (value === undefined || value === "") return UTTERANCE_SPLIT.otherwise;
  const seconds = /^\d{1,3}(\.\d{1,6})?$/.test(value) ? Number(value) : Number.NaN;
  const { min, max } = UTTERANCE_SPLIT;
  if (seconds >= min && seconds <= max) return seconds;
  throw invalid(`utt_split must be a number of seconds from ${min} to ${max}, received ${shown(value)}`);
}

function ignoredNames(query: URLSearchParams, language: string): readonly string[] {
  const hasEffect = new Set<string>([...Object.keys(LISTEN_FILE_QUERY.schema.shape), ...MISSING]);
  const given = [...query].filter(
    ([name, value]) => !hasEffect.has(name) && value !== "" && value !== "false",
  );
  return [...(language === "multi" ? [] : ["language"]), ...given.map(([name]) => name)];
}
