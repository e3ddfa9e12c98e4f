import { z } from "zod";
import type { ChannelHandling, RawAudio } from "../domain/audio/channels.js";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import type { SpeakerWishes } from "../domain/diarization/speaker-turns.js";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import { CHANNELS, RAW_FIELDS, rawAudioOf } from "./channels-query.js";
import { flag } from "./fields.js";
import { hotWords, requireHotWords } from "./hot-words.js";
import {
  type OrganizationDefaults,
  organizationDefaultsOf,
  STORED_HOT_WORDS,
} from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { READING_FIELDS, readingOf } from "./reading-query.js";
import { SPEAKER_FIELDS, speakersOf, splitWithSpeakers } from "./speakers-query.js";

export const RECOGNIZER_MEANS =
  "Model id; the default model when absent, which is `svc-kk-ru-v2` unless the operator has chosen another";

/** Query of `/v1/transcribe`. */
export const TRANSCRIBE_QUERY = {
  schema: z.object({
    hotwords: hotWords("hotwords"),
    organization_defaults: STORED_HOT_WORDS,
    model: z
      .string()
      .optional()
      .meta({ description: `${RECOGNIZER_MEANS}; an extension` }),
    timestamps: flag("timestamps", false).meta({ description: "Adds `words` and `segments`" }),
    url: z
      .string()
      .optional()
      .meta({ format: "uri", description: "Public address of the audio, instead of a body" }),
    ...SPEAKER_FIELDS,
    ...READING_FIELDS,
    channels: CHANNELS,
    ...RAW_FIELDS,
  }),
  others: "refused",
  // A second URL is reported as a second source of audio.
  repeatable: ["url"],
} as const satisfies Query;

/** Options of a transcription request. */
export interface TranscribeOptions extends OrganizationDefaults {
  readonly model: HearingModel;
  /** Whether the model was given by its id. */
  readonly isModelNamed: boolean;
  /** Whether the response lists words and segments; true with speakers. */
  readonly timestamps: boolean;
  readonly hotWords: readonly HotWord[];
  /** Null for the plain transcript. */
  readonly reading: ReadingOptions | null;
  /** Null unless the client requested speakers. */
  readonly speakers: SpeakerWishes | null;
  readonly channels: ChannelHandling;
  /** Null unless the client described samples without a header. */
  readonly raw: RawAudio | null;
  /** URLs of the audio; the caller rejects more than one. */
  readonly urls: readonly string[];
}

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`, `UNKNOWN_MODEL` */
export function parseTranscribeQuery(
  query: URLSearchParams,
  models: ModelList<HearingModel>,
): TranscribeOptions {
  const fields = readQuery(TRANSCRIBE_QUERY, query);
  const { model: name = null, timestamps, hotwords, channels, diarize } = fields;
  const speakers = speakersOf(fields);
  if (diarize && channels === "split") throw splitWithSpeakers("channels=split");
  const model = models.require(name);
  requireHotWords("hotwords", hotwords, model);
  const urls = query.getAll("url").filter((value) => value !== "");
  return {
    model,
    isModelNamed: name !== null,
    timestamps: timestamps || diarize,
    hotWords: hotwords,
    ...organizationDefaultsOf(fields),
    reading: readingOf(fields),
    channels,
    raw: rawAudioOf(query, fields),
    speakers,
    urls,
  };
}
