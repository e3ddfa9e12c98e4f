import { z } from "zod";
import type { StreamedFormat } from "../domain/audio/streamed-pcm.js";
import type { ModelList, SpeakingModel } from "../domain/catalog/catalog.js";
import { invalid } from "../domain/errors.js";
import { looseBody, oneOf, parseWith, shown } from "./fields.js";
import { refuseFeatures } from "./listen-query.js";
import { STORED_PRONUNCIATIONS } from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { SPEED_RULE, STREAMED_NFE, type SynthesisRequest, textField, withText } from "./synthesis-request.js";

const ENCODINGS = ["linear16", "mulaw", "alaw"] as const satisfies readonly StreamedFormat[];
const CONTAINERS = ["wav", "none"] as const;
/** Sample rates by encoding; the first is the default. */
const SAMPLE_RATES_HZ: Readonly<Record<StreamedFormat, readonly number[]>> = {
  linear16: [24_000, 8_000, 16_000, 32_000, 48_000],
  mulaw: [8_000, 16_000],
  alaw: [8_000, 16_000],
};
/** Deepgram's voice names, which mean the default voice. */
const VOICE_ALIAS = /^aura(?:-\d)?-[a-z]{1,30}(?:-[a-z]{2})?$/;

/** Parameters that would send results to another address, which this service never does. */
const MISSING = ["callback"];
/** Other Deepgram parameters, which are ignored. */
const IGNORED = ["bit_rate", "callback_method", "mip_opt_out", "tag"];

export const SPEECH_FORMAT_FIELDS = {
  encoding: oneOf("encoding", ENCODINGS, { otherwise: "linear16", code: "UNSUPPORTED_FORMAT" }),
  sample_rate: z
    .string()
    .optional()
    .meta({
      type: "integer",
      description:
        "24000 by default, 8000 for mulaw and alaw; linear16 also supports 8000, 16000, 32000 and " +
        "48000, the others 16000",
    }),
};

export const SPEED_FIELD = z
  .string()
  .optional()
  .meta({
    type: "number",
    description: `Multiplier of the voice's own tempo, ${SPEED_RULE.min} to ${SPEED_RULE.max}`,
  });

const SHARED = {
  model: z
    .string()
    .optional()
    .meta({
      description:
        "A voice of the catalog, the id of a model, for its default voice, or both with a hyphen between; names that begin " +
        "with `aura` mean the default voice",
      examples: ["aigul"],
    }),
  ...SPEECH_FORMAT_FIELDS,
  speed: SPEED_FIELD,
  organization_defaults: STORED_PRONUNCIATIONS,
};
const OTHERS = { passed: IGNORED, alsoKnown: MISSING };

/** Query of the WebSocket `/v1/speak`. */
export const SPEAK_STREAM_QUERY = {
  schema: z.object(SHARED),
  others: { ...OTHERS, alsoKnown: [...MISSING, "token"] },
} as const satisfies Query;

/** Query of `POST /v1/speak`. */
export const SPEAK_QUERY = {
  schema: z.object({
    ...SHARED,
    container: oneOf("container", CONTAINERS, { otherwise: "wav", code: "UNSUPPORTED_FORMAT" }).meta({
      description: "`none` for samples without a header",
    }),
  }),
  others: OTHERS,
} as const satisfies Query;

/** Body of `POST /v1/speak`. */
export const SPEAK_REQUEST = looseBody({ text: textField("text") });

/** How audio is sent. */
export interface SpeechFormat {
  readonly encoding: StreamedFormat;
  readonly sampleRateHz: number;
}

/** Options of a client of `/v1/speak`. */
export interface SpeakOptions extends SpeechFormat {
  /** Everything except the text. */
  readonly manner: Omit<SynthesisRequest, "text">;
  readonly model: SpeakingModel;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
}

/**
 * Parses the options of a WebSocket. Unknown names are ignored, except near misses of ours.
 * @throws {ServiceError} `INVALID_REQUEST`, `UNSUPPORTED_FORMAT`, `UNKNOWN_PARAMETER`
 */
export function parseSpeakStreamQuery(
  query: URLSearchParams,
  models: ModelList<SpeakingModel>,
): SpeakOptions {
  refuseFeatures(query, MISSING);
  return optionsOf(query, readQuery(SPEAK_STREAM_QUERY, query), models);
}

/** Parses the options of an HTTP request. */
export function parseSpeakQuery(
  query: URLSearchParams,
  models: ModelList<SpeakingModel>,
): SpeakOptions & { readonly container: (typeof CONTAINERS)[number] } {
  refuseFeatures(query, MISSING);
  const fields = readQuery(SPEAK_QUERY, query);
  return { ...optionsOf(query, fields, models), container: fields.container };
}

/** @throws {ServiceError} `TEXT_REQUIRED`, `TEXT_TOO_LONG`, `INVALID_REQUEST` */
export function parseSpeakRequest(value: unknown): string {
  return parseWith(SPEAK_REQUEST, withText(value, "text")).text;
}

interface Fields {
  readonly model?: string | undefined;
  readonly encoding: StreamedFormat;
  readonly sample_rate?: string | undefined;
  readonly speed?: string | undefined;
  readonly organization_defaults: boolean;
}

function optionsOf(query: URLSearchParams, fields: Fields, models: ModelList<SpeakingModel>): SpeakOptions {
  const { model, voice } = voiceOf(fields.model ?? null, models);
  const manner = {
    ...{ model: model.name, voice, speed: speedOf(fields.speed), nfe: STREAMED_NFE, normalize: true },
    ...{ seed: null, pronunciations: undefined, room_tone: true },
    ...(!fields.organization_defaults && { organization_defaults: false }),
  };
  const { encoding } = fields;
  const sampleRateHz = sampleRateOf(fields.sample_rate, encoding);
  return { encoding, sampleRateHz, manner, model, ignored: ignoredNames(query) };
}

/** Finds a voice by its name, its model's id, or both. @throws {ServiceError} `INVALID_REQUEST` */
function voiceOf(
  name: string | null,
  models: ModelList<SpeakingModel>,
): { readonly model: SpeakingModel; readonly voice: string } {
  for (const model of models.all) {
    const known = model.voices.map((voice) => voice.name);
    const voice = name?.startsWith(`${model.name}-`) === true ? name.slice(model.name.length + 1) : name;
    if (voice !== null && known.includes(voice)) return { model, voice };
    if (name === model.name) return { model, voice: model.default_voice };
  }
  if (name === null || VOICE_ALIAS.test(name))
    return { model: models.default, voice: models.default.default_voice };
  const voices = models.all.flatMap((model) => model.voices.map((voice) => voice.name)).join(", ");
  throw invalid(`model must be a voice, one of ${voices}, received ${shown(name)}`, "model");
}

/** @throws {ServiceError} `INVALID_REQUEST` */
export function sampleRateOf(value: string | undefined, encoding: StreamedFormat): number {
  const rates = SAMPLE_RATES_HZ[encoding];
  if (value === undefined || value === "") return rates[0]!;
  const found = rates.find((rate) => String(rate) === value);
  if (found !== undefined) return found;
  const known = rates.toSorted((a, b) => a - b).join(", ");
  throw invalid(
    `sample_rate of ${encoding} must be one of ${known}, received ${shown(value)}`,
    "sample_rate",
  );
}

/** @throws {ServiceError} `INVALID_REQUEST` */
export function speedOf(value: string | undefined): number {
  if (value === undefined || value === "") return SPEED_RULE.otherwise;
  const { min, max } = SPEED_RULE;
  const speed = /^\d{1,2}(\.\d{1,6})?$/.test(value) ? Number(value) : Number.NaN;
  if (speed >= min && speed <= max) return speed;
  throw invalid(`speed must be ${min} to ${max}, received ${shown(value)}`, "speed");
}

function ignoredNames(query: URLSearchParams): readonly string[] {
  const hasEffect = new Set([...Object.keys(SPEAK_QUERY.schema.shape), ...MISSING, "token"]);
  return [...query]
    .filter(([name, value]) => !hasEffect.has(name) && value !== "" && value !== "false")
    .map(([name]) => name);
}
