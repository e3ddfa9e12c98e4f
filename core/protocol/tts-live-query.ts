import { z } from "zod";
import type { ModelList, SpeakingModel } from "../domain/catalog/catalog.js";
import { ServiceError } from "../domain/errors.js";
import { flag, queryInteger, shown } from "./fields.js";
import { STORED_PRONUNCIATIONS } from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import {
  SPEECH_FORMAT_FIELDS,
  SPEED_FIELD,
  type SpeechFormat,
  sampleRateOf,
  speedOf,
} from "./speak-query.js";
import { NFE_RULE, STREAMED_NFE, SYNTHESIS_MODEL_MEANS, type SynthesisRequest } from "./synthesis-request.js";

const MOST_SEED = 0xffff_ffff;

/** Query of the WebSocket `/v1/tts/live`. */
export const TTS_LIVE_QUERY = {
  schema: z.object({
    model: z.string().optional().meta({ description: SYNTHESIS_MODEL_MEANS }),
    voice: z
      .string()
      .optional()
      .meta({ description: "A voice from the catalog; the model's default voice when absent" }),
    speed: SPEED_FIELD,
    nfe: queryInteger("nfe", { ...NFE_RULE, otherwise: STREAMED_NFE }).meta({
      description: "Solver steps: 16 is fast, 32 is quality",
    }),
    normalize: flag("normalize", true).meta({ description: "Reads numbers, dates and the like as words" }),
    seed: z.string().optional().meta({
      type: "integer",
      description: "Each seed gives another take; by default derived from the text of each sentence",
    }),
    room_tone: flag("room_tone", true).meta({
      description: "Noise at -70 dB under the audio; false leaves digital silence between words",
    }),
    organization_defaults: STORED_PRONUNCIATIONS,
    ...SPEECH_FORMAT_FIELDS,
    token: z.string().optional().meta({ description: "A token from `POST /v1/stream/token`; never a key" }),
  }),
  others: "refused",
} as const satisfies Query;

/** Options of a client of `/v1/tts/live`. */
export interface TtsLiveOptions extends SpeechFormat {
  /** Everything except the text. */
  readonly manner: Omit<SynthesisRequest, "text">;
  readonly model: SpeakingModel;
  readonly voice: string;
}

/**
 * Parses the query.
 * @throws {ServiceError} `INVALID_REQUEST`, `UNSUPPORTED_FORMAT`, `UNKNOWN_PARAMETER`, `UNKNOWN_MODEL`,
 *   `UNKNOWN_VOICE`
 */
export function parseTtsLiveQuery(query: URLSearchParams, models: ModelList<SpeakingModel>): TtsLiveOptions {
  const fields = readQuery(TTS_LIVE_QUERY, query);
  const model = models.require(fields.model ?? null);
  const voice = voiceOf(fields.voice, model);
  const { nfe, normalize, room_tone, encoding } = fields;
  return {
    manner: {
      ...{ model: model.name, voice, speed: speedOf(fields.speed), nfe, normalize, room_tone },
      ...{ seed: seedOf(fields.seed), pronunciations: undefined },
      ...(!fields.organization_defaults && { organization_defaults: false }),
    },
    ...{ model, voice, encoding, sampleRateHz: sampleRateOf(fields.sample_rate, encoding) },
  };
}

function voiceOf(name: string | undefined, { voices, default_voice }: SpeakingModel): string {
  if (name === undefined) return default_voice;
  const names = voices.map((voice) => voice.name);
  if (names.includes(name)) return name;
  const message = `voice must be one of ${names.join(", ")}, received ${shown(name)}`;
  throw new ServiceError("UNKNOWN_VOICE", message, { param: "voice" });
}

function seedOf(value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  const seed = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
  if (seed <= MOST_SEED) return seed;
  const message = `seed must be an integer from 0 to ${MOST_SEED}, received ${shown(value)}`;
  throw new ServiceError("INVALID_REQUEST", message, { param: "seed" });
}
