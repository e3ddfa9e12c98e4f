import { z } from "zod";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import { invalid } from "../domain/errors.js";
import { shown } from "./fields.js";
import {
  type OrganizationDefaults,
  organizationDefaultsOf,
  STORED_HOT_WORDS,
} from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

/**
 * OpenAI's transcription and conversation models; all of them mean the default model. Clients must specify a
 * model in the URL, and even for transcription it is often a conversation model.
 */
const OPENAI_NAME = /^(?:whisper|gpt)-[\w.-]{1,60}$/;
const OPENAI_TASK = /transcribe|realtime|whisper/;

export const REALTIME_QUERY = {
  schema: z.object({
    intent: z.string().optional().meta({ description: "`transcription`, which is also the default" }),
    model: z
      .string()
      .optional()
      .meta({ description: `${RECOGNIZER_MEANS}; OpenAI's names for such models also mean it` }),
    organization_defaults: STORED_HOT_WORDS,
  }),
  others: { passed: ["api-version", "deployment", "language"], alsoKnown: ["call_id"] },
} as const satisfies Query;

/** Options of a realtime session that its query sets. */
interface RealtimeOptions extends OrganizationDefaults {
  readonly model: HearingModel;
}

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseRealtimeQuery(query: URLSearchParams, models: ModelList<HearingModel>): RealtimeOptions {
  if (query.has("call_id")) throw invalid("call_id is not supported: there are no calls here", "call_id");
  const fields = readQuery(REALTIME_QUERY, query);
  const { intent = "transcription", model = null } = fields;
  if (intent !== "transcription") {
    throw invalid(`intent must be transcription, received ${shown(intent)}`, "intent");
  }
  return { model: realtimeModel(model, models, "model"), ...organizationDefaultsOf(fields) };
}

/** Finds a model by its id or OpenAI's. @throws {ServiceError} `INVALID_REQUEST` */
export function realtimeModel(
  name: string | null,
  models: ModelList<HearingModel>,
  param: string,
): HearingModel {
  const known = name === null ? undefined : models.find(name);
  if (known !== undefined) return known;
  if (name === null || isAlias(name)) return models.default;
  const names = models.all.map((model) => model.name).join(", ");
  throw invalid(`${param} must be one of ${names}, or a name of OpenAI's, received ${shown(name)}`, param);
}

/**
 * Whether a name is an alias. Speaker labels would change a transcript's meaning, so models with them are
 * not.
 */
function isAlias(name: string): boolean {
  return OPENAI_NAME.test(name) && OPENAI_TASK.test(name) && !name.includes("diarize");
}
