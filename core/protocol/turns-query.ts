import { z } from "zod";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { HotWord } from "../domain/decoding/hot-words.js";
import { invalid } from "../domain/errors.js";
import { oneOf, queryInteger, shown } from "./fields.js";
import { hotWords, hotWordsIn } from "./hot-words.js";
import { LIVE_ENCODINGS, type LiveEncoding, SAMPLE_RATE_HZ, sampleFormat } from "./listen-query.js";
import { LISTEN_READING_FIELDS, type ListenReading, listenReading } from "./listen-reading.js";
import {
  type OrganizationDefaults,
  organizationDefaultsOf,
  STORED_HOT_WORDS,
} from "./organization-defaults.js";
import { type Query, readQuery } from "./query.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

/** Deepgram's model names for turns, which mean the default model. */
const MODEL_ALIAS = /^flux(?:-[a-z]{1,20}){0,3}$/;
const END = { min: 0.5, max: 1, otherwise: 0.7 };
const EAGER = { min: 0.3, max: 0.9 };
const TIMEOUT_MS = { min: 500, max: 60_000, otherwise: 5_000 };
/** Silence after which no more speech is expected; a confidence is a share of it. */
const SURE_MS = 700;
/** Limits of the silence that ends an utterance. */
const UTTERANCE_MS = { min: 100, max: 2_000 };

const IGNORED = ["language_hint", "mip_opt_out", "profanity_filter", "tag"];

/** Query of `/v2/listen`. */
export const TURNS_QUERY = {
  schema: z.object({
    model: z
      .string()
      .optional()
      .meta({ description: `${RECOGNIZER_MEANS}; names that start with \`flux\` also mean it` }),
    encoding: oneOf("encoding", LIVE_ENCODINGS, { otherwise: "linear16", code: "INVALID_REQUEST" }).meta({
      description:
        "Format of raw samples; `opus`: one Opus packet per message. WAV, and WebM and Ogg with " +
        "Opus, are recognized by their first bytes",
    }),
    sample_rate: queryInteger("sample_rate", { ...SAMPLE_RATE_HZ, otherwise: 16_000 }).meta({
      description: "Samples per second; 8000 by default for mulaw and alaw",
    }),
    eot_threshold: z
      .string()
      .optional()
      .meta({
        type: "number",
        description:
          `Confidence at which a turn ends, ${END.min} to ${END.max}: a share of ${SURE_MS} ms of ` +
          `silence. ${END.otherwise} by default; with 1, only \`eot_timeout_ms\` and ` +
          `\`ForceEndTurn\``,
      }),
    eager_eot_threshold: z
      .string()
      .optional()
      .meta({
        type: "number",
        description: `${EAGER.min} to ${EAGER.max}: sends \`EagerEndOfTurn\` at this confidence, and \`TurnResumed\``,
      }),
    eot_timeout_ms: queryInteger("eot_timeout_ms", TIMEOUT_MS).meta({
      description: "Silence that ends a turn regardless of confidence",
    }),
    keyterm: hotWords("keyterm"),
    organization_defaults: STORED_HOT_WORDS,
    ...LISTEN_READING_FIELDS,
  }),
  others: { passed: IGNORED, alsoKnown: ["token"] },
} as const satisfies Query;

/** Options of a client of `/v2/listen`. */
export interface TurnsOptions extends ListenReading, OrganizationDefaults {
  readonly model: HearingModel;
  readonly encoding: LiveEncoding;
  readonly sampleRateHz: number;
  readonly hotWords: readonly HotWord[];
  /** Silence after which the session ends an utterance. */
  readonly utteranceMs: number;
  /** Silence that ends a turn. */
  readonly turnMs: number;
  /** Whether the end of an utterance is reported before the end of the turn. */
  readonly isEager: boolean;
  /** Silence at which the confidence is 1. */
  readonly sureMs: number;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
}

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseTurnsQuery(query: URLSearchParams, models: ModelList<HearingModel>): TurnsOptions {
  const fields = readQuery(TURNS_QUERY, query);
  const { model: name = null, encoding, eot_timeout_ms: timeoutMs } = fields;
  const isAlias = name !== null && models.find(name) === undefined && MODEL_ALIAS.test(name);
  const model = models.require(isAlias ? null : name, "INVALID_REQUEST");
  const end = threshold("eot_threshold", fields.eot_threshold, END) ?? END.otherwise;
  const eager = threshold("eager_eot_threshold", fields.eager_eot_threshold, EAGER);
  if (eager !== null && eager > end) {
    throw invalid(`eager_eot_threshold must be at most eot_threshold, received ${eager} and ${end}`);
  }
  const turnMs = end === 1 ? timeoutMs : Math.min(timeoutMs, Math.round(SURE_MS * end));
  const utteranceMs = eager === null ? turnMs : Math.round(SURE_MS * eager);
  const isTelephone = sampleFormat(encoding) !== "linear16" && !query.has("sample_rate");
  const hasEffect = new Set<string>([...Object.keys(TURNS_QUERY.schema.shape), "token"]);
  return {
    model,
    encoding,
    sampleRateHz: isTelephone ? 8_000 : fields.sample_rate,
    hotWords: hotWordsIn("keyterm", query.getAll("keyterm").join(","), model),
    utteranceMs: Math.min(UTTERANCE_MS.max, Math.max(UTTERANCE_MS.min, utteranceMs)),
    turnMs,
    isEager: eager !== null,
    sureMs: end === 1 ? timeoutMs : SURE_MS,
    ...listenReading(query, fields),
    ...organizationDefaultsOf(fields),
    ignored: [...query]
      .filter(([name, value]) => !hasEffect.has(name) && value !== "" && value !== "false")
      .map(([name]) => name),
  };
}

function threshold(
  name: string,
  value: string | undefined,
  { min, max }: { readonly min: number; readonly max: number },
): number | null {
  if (value === undefined || value === "") return null;
  const share = /^[01](\.\d{1,6})?$/.test(value) ? Number(value) : Number.NaN;
  if (share >= min && share <= max) return share;
  throw invalid(`${name} must be ${min} to ${max}, received ${shown(value)}`);
}
