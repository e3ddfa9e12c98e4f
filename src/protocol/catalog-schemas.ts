import { z } from "zod";
import { type DeepReadonly, defaultString } from "./fields.js";
import type { Query } from "./query.js";
import { DEFAULT_SYNTHESIS_MODEL } from "./synthesis-request.js";

export const MODEL = z.object({
  name: z.string().meta({ description: "Model id" }),
  lang: z.string().meta({ description: "Language code" }),
  sample_rate: z.int().meta({ description: "Output sample rate in Hz" }),
  voices: z.array(z.string()),
  default_voice: z.string(),
  word_times: z.boolean().meta({ description: "Tells when it says its words: takes `timestamps=true`" }),
});
export const MODELS = z.object({ data: z.array(MODEL) });

export const VOICE_ENTRY = z.object({
  name: z.string(),
  gender: z.string().nullable(),
  style: z.string().nullable(),
  best_for: z.string().nullable(),
});
export const VOICES = z.object({ model: z.string(), voices: z.array(VOICE_ENTRY) });
/** Open paths are fetched through caches and past them, which adds names of all kinds. */
export const VOICES_QUERY = {
  schema: z.object({ model: defaultString("model", DEFAULT_SYNTHESIS_MODEL) }),
  others: { passed: [] },
} as const satisfies Query;

export const HEALTH = z.object({ status: z.literal("ok"), models: z.array(z.string()) });
export const READINESS = z.object({ status: z.literal("ready") });

const NAMED = z.object({ id: z.string(), name: z.string() });
/** The two lists that chat front ends of the OpenAI shape ask a speech service for. */
export const AUDIO_MODELS = z.object({ models: z.array(NAMED) });
export const AUDIO_VOICES = z.object({ voices: z.array(NAMED) });

/** A token has no parameters. */
export const TOKEN_QUERY = { schema: z.object({}), others: "refused" } as const satisfies Query;
export const STREAM_TOKEN = z.object({
  token: z.string().meta({ description: "Opens one live socket, as `?token=` or as the subprotocol" }),
  expires_in: z.int().meta({ description: "Seconds" }),
});

/** The only body an error has. */
export const ERROR = z.object({ detail: z.string() });

export type Model = DeepReadonly<z.output<typeof MODEL>>;
export type Voices = DeepReadonly<z.output<typeof VOICES>>;
