import { z } from "zod";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { ErrorCode } from "../domain/errors.js";
import { oneOf, parseWith } from "./fields.js";
import { refuseNearMisses } from "./known-names.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

const FORMATS = ["json", "text", "verbose_json", "srt", "vtt"] as const;
/** Model ids of clients that were written for the OpenAI shape; they mean the default model. */
const ALIASES = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"];

export type TranscriptFormat = (typeof FORMATS)[number];

const IGNORED = { description: "Accepted and ignored" };

const STREAM = "stream";

const EFFECTIVE_FIELDS = {
  model: z
    .string()
    .optional()
    .meta({ description: `${RECOGNIZER_MEANS}; ${ALIASES.join(", ")} mean it too` }),
  response_format: oneOf("response_format", FORMATS, { otherwise: "json", code: "UNSUPPORTED_FORMAT" }),
};
/** A client that asks for events would wait for them in vain. */
const REFUSED_FIELDS = {
  [STREAM]: z
    .string()
    .refine((value) => !/^(true|1)$/i.test(value), {
      error:
        "stream must be false: transcripts come whole; for text while somebody speaks there is /v1/stream",
      params: { code: "UNSUPPORTED_FORMAT" satisfies ErrorCode },
    })
    .optional()
    .meta({ type: "boolean", description: "`false`: transcripts come whole" }),
};
const IGNORED_FIELDS = {
  language: z.string().optional().meta(IGNORED),
  prompt: z.string().optional().meta(IGNORED),
  temperature: z
    .string()
    .optional()
    .meta({ ...IGNORED, type: "number" }),
};

/** The fields of a `/v1/audio/transcriptions` form beside the file. */
export const TRANSCRIPTION_FIELDS = z.object({
  ...EFFECTIVE_FIELDS,
  ...REFUSED_FIELDS,
  ...IGNORED_FIELDS,
});

/** Fields that have an effect, the file among them. */
const KNOWN = ["file", ...Object.keys(EFFECTIVE_FIELDS)];
/** What clients of the OpenAI shape send beside those, which is ignored. */
const PASSED = [
  ...Object.keys(IGNORED_FIELDS),
  ...["timestamp_granularities", "include", "chunking_strategy", STREAM],
  ...["known_speaker_names", "known_speaker_references"],
];

/** The fields of a form as they were understood. */
export interface TranscriptionForm {
  readonly model: HearingModel;
  /** By its id, and not as the default. */
  readonly isModelNamed: boolean;
  readonly format: TranscriptFormat;
  /** Fields that were given and have no effect. */
  readonly ignored: readonly string[];
}

/**
 * Reads the fields of a form: how to answer. Whatever else clients send is ignored, and so is a field that is empty; a near
 * miss of a field that has an effect is refused, since it was meant to have it.
 *
 * @throws {ServiceError} `UNSUPPORTED_FORMAT`, `UNKNOWN_PARAMETER`, or `INVALID_REQUEST` for a model that is none of ours
 */
export function parseTranscriptionForm(
  fields: ReadonlyMap<string, string>,
  models: ModelList<HearingModel>,
): TranscriptionForm {
  refuseNearMisses("field", fields.keys(), { known: KNOWN, ignored: PASSED });
  const filled = Object.fromEntries([...fields].filter(([, value]) => value !== ""));
  const { model: name = null, response_format: format } = parseWith(TRANSCRIPTION_FIELDS, filled);
  const isModelNamed = name !== null && !ALIASES.includes(name);
  const model = models.require(isModelNamed ? name : null, "INVALID_REQUEST");
  const ignored = Object.keys(filled).filter((field) => !KNOWN.includes(field) && field !== STREAM);
  return { model, isModelNamed, format, ignored };
}
