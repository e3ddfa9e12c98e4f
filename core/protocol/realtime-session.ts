import { z } from "zod";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import type { Endpointing } from "../domain/endpointing/patience.js";
import { ServiceError } from "../domain/errors.js";
import { shown } from "./fields.js";
import { hotWordsIn } from "./hot-words.js";
import { realtimeModel } from "./realtime-query.js";

/** Formats by their older names. */
export const REALTIME_FORMATS = ["pcm16", "g711_ulaw", "g711_alaw"] as const;
type RealtimeFormat = (typeof REALTIME_FORMATS)[number];

/** The only rate supported for `audio/pcm`. */
export const REALTIME_PCM_HZ = 24_000;
const MEDIA_TYPES = { pcm16: "audio/pcm", g711_ulaw: "audio/pcmu", g711_alaw: "audio/pcma" } as const;

const SILENCE_MS = { min: 100, max: 2_000, otherwise: 500 };
const PADDING_MS = 300;
const THRESHOLD = 0.5;
const EAGERNESS = ["low", "medium", "high", "auto"] as const;
/** Shortest silence that ends a turn; the language model's doubt extends it up to three times. */
const EAGER_MS = { high: 200, medium: 300, auto: 300, low: 600 } as const;
const LOGPROBS = "item.input_audio_transcription.logprobs";
const MOST_KEYWORDS = 100;

const text = (max: number) => z.string().max(max);
const TRANSCRIPTION = z.object({
  model: text(100).nullish(),
  language: text(35).nullish(),
  keywords: z.array(text(60)).max(MOST_KEYWORDS).nullish(),
});
const NOISE_REDUCTION = z.object({ type: z.enum(["near_field", "far_field"]).default("near_field") });
const TURN_DETECTION = z.object({
  type: z.enum(["server_vad", "semantic_vad"]).default("server_vad"),
  threshold: z.number().min(0).max(1).nullish(),
  prefix_padding_ms: z.number().min(0).max(10_000).nullish(),
  silence_duration_ms: z.number().min(0).max(60_000).nullish(),
  eagerness: z.enum(EAGERNESS).nullish(),
});
const FORMAT = z.object({
  type: z.enum([MEDIA_TYPES.pcm16, MEDIA_TYPES.g711_ulaw, MEDIA_TYPES.g711_alaw]).default("audio/pcm"),
  rate: z.number().nullish(),
});
const INCLUDE = z.array(text(100)).max(20).nullish();

/** A session's configuration as clients send it, in either form; absent members keep their value. */
export const REALTIME_SESSION = z
  .object({
    type: text(40).optional().meta({ description: "`transcription`" }),
    audio: z
      .object({
        input: z
          .object({
            format: FORMAT.nullish(),
            transcription: TRANSCRIPTION.nullish(),
            noise_reduction: NOISE_REDUCTION.nullish(),
            turn_detection: TURN_DETECTION.nullish(),
          })
          .nullish(),
      })
      .nullish(),
    include: INCLUDE,
    input_audio_format: z.enum(REALTIME_FORMATS).nullish(),
    input_audio_transcription: TRANSCRIPTION.nullish(),
    input_audio_noise_reduction: NOISE_REDUCTION.nullish(),
    turn_detection: TURN_DETECTION.nullish(),
  })
  .meta({
    description:
      "`audio.input` has `format`, `transcription`, `noise_reduction` and `turn_detection`; the members `input_audio_...` " +
      "and `turn_detection` are the older form. `language`, `prompt`, `noise_reduction`, `threshold` and `prefix_padding_ms` have no effect",
  });

type SessionFields = z.output<typeof REALTIME_SESSION>;

/** How turns end; null if only commits end them. */
type TurnDetection =
  | {
      readonly type: "server_vad";
      readonly threshold: number;
      readonly prefixPaddingMs: number;
      readonly silenceMs: number;
    }
  | { readonly type: "semantic_vad"; readonly eagerness: (typeof EAGERNESS)[number] };

/** The configuration of a realtime transcription session. */
export interface RealtimeConfig {
  readonly model: string;
  readonly format: RealtimeFormat;
  readonly language: string | null;
  readonly noiseReduction: "near_field" | "far_field" | null;
  readonly turnDetection: TurnDetection | null;
  readonly keywords: readonly string[];
  readonly logprobs: boolean;
}

/** OpenAI models without turn detection, whose clients commit turns. */
const COMMITTED_MODEL = /^gpt-(?:realtime-whisper|live-transcribe)/;

/** OpenAI's defaults. @param name the model's name as the client wrote it */
export function defaultRealtimeConfig(model: HearingModel, name: string | null = null): RealtimeConfig {
  const detects = name === null || !COMMITTED_MODEL.test(name);
  return {
    model: model.name,
    format: "pcm16",
    language: null,
    noiseReduction: null,
    turnDetection: detects ? toTurnDetection({ type: "server_vad" }) : null,
    keywords: [],
    logprobs: false,
  };
}

/**
 * Applies a client's `session`, in either form. Silence outside the supported range is clamped to it.
 * @throws {ServiceError} `INVALID_REQUEST`, with the member's path as `param`
 */
export function updatedConfig(
  config: RealtimeConfig,
  value: unknown,
  models: ModelList<HearingModel>,
): RealtimeConfig {
  const fields = sessionFields(value);
  const { type = "transcription", include } = fields;
  if (type !== "transcription") {
    const message = `session.type must be transcription: this service does not converse, received ${shown(type)}`;
    throw new ServiceError("INVALID_REQUEST", message, { param: "session.type" });
  }
  const input = inputOf(fields);
  const { format, transcription, noiseReduction, turnDetection } = input;
  const name = transcription?.model ?? null;
  const updated = {
    ...config,
    ...(name !== null && { model: realtimeModel(name, models, "transcription.model").name }),
    ...(format != null && { format }),
    ...(transcription?.language !== undefined && { language: transcription.language }),
    ...(transcription?.keywords != null && { keywords: transcription.keywords }),
    ...(noiseReduction !== undefined && { noiseReduction: noiseReduction?.type ?? null }),
    ...(name !== null && COMMITTED_MODEL.test(name) && { turnDetection: null }),
    ...(turnDetection !== undefined && { turnDetection: toTurnDetection(turnDetection) }),
    ...(include !== undefined && { logprobs: include?.includes(LOGPROBS) === true }),
  };
  hotWordsOf(updated, models);
  return updated;
}

/** Options of the live session. @throws {ServiceError} `INVALID_REQUEST` */
export function hotWordsOf(
  { model, keywords }: RealtimeConfig,
  models: ModelList<HearingModel>,
): readonly HotWord[] {
  return keywords.length === 0 ? [] : hotWordsIn("keywords", keywords.join(","), models.require(model));
}

/** Silence that ends an utterance; the longest allowed if there is no turn detection. */
export function endpointingOf({ turnDetection }: RealtimeConfig): {
  readonly endOfUtteranceMs: number;
  readonly endpointing: Endpointing;
} {
  if (turnDetection === null) return { endOfUtteranceMs: SILENCE_MS.max, endpointing: "fixed" };
  if (turnDetection.type === "server_vad") {
    return { endOfUtteranceMs: turnDetection.silenceMs, endpointing: "fixed" };
  }
  return { endOfUtteranceMs: EAGER_MS[turnDetection.eagerness], endpointing: "adaptive" };
}

/** Renders the effective configuration in the current form. */
export function sessionObject(config: RealtimeConfig, id: string): object {
  const { format, logprobs } = config;
  return {
    type: "transcription",
    object: "realtime.transcription_session",
    id,
    audio: {
      input: {
        format: {
          type: MEDIA_TYPES[format],
          ...(format === "pcm16" && { rate: REALTIME_PCM_HZ }),
        },
        transcription: transcriptionObject(config),
        noise_reduction: noiseObject(config),
        turn_detection: turnObject(config),
      },
    },
    include: logprobs ? [LOGPROBS] : null,
  };
}

/** Renders the effective configuration in the beta's form. */
export function betaSessionObject(config: RealtimeConfig, id: string): object {
  return {
    object: "realtime.transcription_session",
    id,
    input_audio_format: config.format,
    input_audio_transcription: transcriptionObject(config),
    input_audio_noise_reduction: noiseObject(config),
    turn_detection: turnObject(config),
    include: config.logprobs ? [LOGPROBS] : null,
  };
}

function sessionFields(value: unknown): SessionFields {
  const result = REALTIME_SESSION.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = ["session", ...(issue?.path ?? [])].join(".");
  throw new ServiceError("INVALID_REQUEST", `${param} is invalid: ${issue?.message ?? "unknown"}`, { param });
}

/** Returns the members of either form; those of the current form take precedence. */
function inputOf(fields: SessionFields) {
  const { audio, input_audio_format, input_audio_transcription, input_audio_noise_reduction } = fields;
  const input = audio?.input;
  return {
    format: input?.format == null ? input_audio_format : formatOf(input.format),
    transcription: input?.transcription ?? input_audio_transcription,
    noiseReduction:
      input?.noise_reduction === undefined ? input_audio_noise_reduction : input.noise_reduction,
    turnDetection: input?.turn_detection === undefined ? fields.turn_detection : input.turn_detection,
  };
}

function formatOf({ type, rate }: z.output<typeof FORMAT>): RealtimeFormat {
  if (type === MEDIA_TYPES.pcm16 && rate != null && rate !== REALTIME_PCM_HZ) {
    const message = `session.audio.input.format.rate must be ${REALTIME_PCM_HZ}, received ${rate}`;
    throw new ServiceError("INVALID_REQUEST", message, { param: "session.audio.input.format.rate" });
  }
  return REALTIME_FORMATS.find((format) => MEDIA_TYPES[format] === type) ?? "pcm16";
}

function toTurnDetection(wanted: z.output<typeof TURN_DETECTION> | null): TurnDetection | null {
  if (wanted === null) return null;
  const { type, threshold, prefix_padding_ms, silence_duration_ms, eagerness } = wanted;
  if (type === "semantic_vad") return { type, eagerness: eagerness ?? "auto" };
  const silenceMs = Math.round(silence_duration_ms ?? SILENCE_MS.otherwise);
  return {
    type,
    threshold: threshold ?? THRESHOLD,
    prefixPaddingMs: prefix_padding_ms ?? PADDING_MS,
    silenceMs: Math.min(SILENCE_MS.max, Math.max(SILENCE_MS.min, silenceMs)),
  };
}

function transcriptionObject({ model, language, keywords }: RealtimeConfig): object {
  return { model, language, prompt: "", ...(keywords.length > 0 && { keywords }) };
}

function noiseObject({ noiseReduction }: RealtimeConfig): object | null {
  return noiseReduction === null ? null : { type: noiseReduction };
}

function turnObject({ turnDetection }: RealtimeConfig): object | null {
  if (turnDetection === null) return null;
  if (turnDetection.type === "semantic_vad") return turnDetection;
  const { type, threshold, prefixPaddingMs, silenceMs } = turnDetection;
  return {
    type,
    threshold,
    prefix_padding_ms: prefixPaddingMs,
    silence_duration_ms: silenceMs,
  };
}
