import { z } from "zod";
import type { DeepReadonly } from "./fields.js";
import type { Query } from "./query.js";
import { SYNTHESIS_MODEL_MEANS } from "./synthesis-request.js";

const MODEL_BASE = {
  id: z.string().meta({ description: "Same as `name`, for OpenAI clients" }),
  object: z.literal("model"),
  created: z.int().meta({ description: "When its weights were created, Unix seconds; 0 if unknown" }),
  owned_by: z.literal("dauys"),
  name: z.string().meta({ description: "Model id" }),
  notes: z
    .string()
    .nullable()
    .meta({ description: "Its limitations, in plain sentences; null if its package lists none" }),
  default: z.boolean().meta({ description: "Used by requests that specify no model" }),
};

export const MODEL = z.object({
  ...MODEL_BASE,
  lang: z.string().meta({ description: "Language code" }),
  sample_rate: z.int().meta({ description: "Output sample rate in Hz" }),
  voices: z.array(z.string()),
  default_voice: z.string(),
  word_times: z.boolean().meta({ description: "Reports the time of each word: supports `timestamps=true`" }),
  solver_steps: z.boolean().meta({ description: "Supports `nfe`; other models ignore it" }),
});
/** Not part of `data`, which lists models for speech. */
export const RECOGNIZER = z.object({
  ...MODEL_BASE,
  lang: z.string().meta({ description: "Language codes, with hyphens between" }),
  sample_rate: z.int().meta({ description: "Sample rate of its input in Hz; other audio is converted" }),
  live_partials: z.boolean().meta({ description: "Sends partials before an utterance has ended" }),
  hot_words: z.boolean().meta({ description: "Supports words and phrases to prefer" }),
  diarize: z
    .boolean()
    .optional()
    .meta({ description: "Tells the speakers of a file apart: accepts `diarize=true`" }),
});
export const MODELS = z.object({
  object: z.literal("list"),
  data: z.array(MODEL).meta({ description: "Models that speak, the default first" }),
  transcription: z.array(RECOGNIZER).meta({ description: "Models that transcribe, the default first" }),
});

export const VOICE_ENTRY = z.object({
  name: z.string(),
  gender: z.string().nullable(),
  style: z.string().nullable(),
  best_for: z.string().nullable(),
});
export const VOICES = z.object({ model: z.string(), voices: z.array(VOICE_ENTRY) });
/** Open paths accept other names, since clients add parameters to bypass caches. */
export const VOICES_QUERY = {
  schema: z.object({ model: z.string().optional().meta({ description: SYNTHESIS_MODEL_MEANS }) }),
  others: { passed: [] },
} as const satisfies Query;

export const HEALTH = z.object({ status: z.literal("ok"), models: z.array(z.string()) });
export const READINESS = z.object({ status: z.literal("ready") });

const NAMED = z.object({ id: z.string(), name: z.string() });
/** Lists that chat front ends request when they use the OpenAI interface. */
export const AUDIO_MODELS = z.object({ models: z.array(NAMED) });
export const AUDIO_VOICES = z.object({ voices: z.array(NAMED) });

/** For paths without parameters. */
export const NO_QUERY = { schema: z.object({}), others: "refused" } as const satisfies Query;
export const STREAM_TOKEN = z.object({
  token: z.string().meta({ description: "Opens one live socket, as `?token=` or as the subprotocol" }),
  expires_in: z.int().meta({ description: "Seconds" }),
});

/** Body of every error, except for OpenAI clients. */
export const ERROR = z.object({ detail: z.string() });

/** Error body for OpenAI clients. */
export const OPENAI_ERROR = ERROR.extend({
  error: z.object({
    message: z.string().meta({ description: "Same as `detail`" }),
    type: z.string(),
    param: z.string().nullable().meta({ description: "Field or parameter that broke its rule" }),
    code: z.string(),
  }),
});

/** Error body on the paths of Deepgram's interface. */
export const DEEPGRAM_ERROR = ERROR.extend({
  err_code: z.string().meta({ description: "Deepgram's name for the failure, such as `INVALID_AUTH`" }),
  err_msg: z.string().meta({ description: "Same as `detail`" }),
  request_id: z.string(),
});

export type Model = DeepReadonly<z.output<typeof MODEL>>;
export type Models = DeepReadonly<z.output<typeof MODELS>>;
export type ErrorBody = DeepReadonly<z.output<typeof ERROR>>;
export type DeepgramErrorBody = DeepReadonly<z.output<typeof DEEPGRAM_ERROR>>;
export type OpenAiErrorBody = DeepReadonly<z.output<typeof OPENAI_ERROR>>;
export type Voices = DeepReadonly<z.output<typeof VOICES>>;
