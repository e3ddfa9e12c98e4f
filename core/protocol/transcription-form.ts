import { z } from "zod";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import type { ErrorCode } from "../domain/errors.js";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import { oneOf, optionalFlag, parseWith, refuseNearMisses } from "./fields.js";
import { READING_FIELDS, readingOf } from "./reading-query.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

const FORMATS = ["json", "text", "verbose_json", "srt", "vtt"] as const;
/** OpenAI's model ids, which mean the default model. */
const ALIASES = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"];

/** People read these, so their text is readable unless the client asks for plain words. */
const SUBTITLES: readonly TranscriptFormat[] = ["srt", "vtt"];

export type TranscriptFormat = (typeof FORMATS)[number];

const IGNORED = { description: "Accepted and ignored" };

const STREAM = "stream";

const EFFECTIVE_FIELDS = {
  model: z
    .string()
    .optional()
    .meta({ description: `${RECOGNIZER_MEANS}; ${ALIASES.join(", ")} mean it too` }),
  response_format: oneOf("response_format", FORMATS, { otherwise: "json", code: "UNSUPPORTED_FORMAT" }),
  ...READING_FIELDS,
  display: optionalFlag("display").meta({
    description:
      "Readable text, with capitals, punctuation and figures; default: true for subtitles, otherwise false; an extension",
  }),
  numerals: READING_FIELDS.numerals.meta({
    description:
      "Numbers in readable text: `auto` writes figures from ten on and before months, units and money, `all` always, " +
      "`none` never; an extension",
  }),
};
/** A client that requests events would wait for them in vain. */
const REFUSED_FIELDS = {
  [STREAM]: z
    .string()
    .refine((value) => !/^(true|1)$/i.test(value), {
      error: "stream must be false: transcripts are sent as a whole; use /v1/stream for live transcription",
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

/** Fields of a `/v1/audio/transcriptions` form, without the file. */
export const TRANSCRIPTION_FIELDS = z.object({
  ...EFFECTIVE_FIELDS,
  ...REFUSED_FIELDS,
  ...IGNORED_FIELDS,
});

/** Fields with an effect. */
const KNOWN = ["file", ...Object.keys(EFFECTIVE_FIELDS)];
/** Other fields of OpenAI's clients, which are ignored. */
const PASSED = [
  ...Object.keys(IGNORED_FIELDS),
  ...["timestamp_granularities", "include", "chunking_strategy", STREAM],
  ...["known_speaker_names", "known_speaker_references"],
];

/** The parsed fields of a form. */
export interface TranscriptionForm {
  readonly model: HearingModel;
  /** Whether the model was given by its id. */
  readonly isModelNamed: boolean;
  readonly format: TranscriptFormat;
  /** Null for the plain transcript. */
  readonly reading: ReadingOptions | null;
  /** Whether `reading` is that of a form with no other field than the format. */
  readonly isReadingDefault: boolean;
  /** Fields without effect. */
  readonly ignored: readonly string[];
}

/**
 * Parses the fields of a form. Other and empty fields are ignored, except near misses of fields with an
 * effect.
 *
 * @throws {ServiceError} `UNSUPPORTED_FORMAT`, `UNKNOWN_PARAMETER`, or `INVALID_REQUEST` for an unknown model
 */
export function parseTranscriptionForm(
  fields: ReadonlyMap<string, string>,
  models: ModelList<HearingModel>,
): TranscriptionForm {
  refuseNearMisses("field", fields.keys(), { known: KNOWN, ignored: PASSED });
  const filled = Object.fromEntries([...fields].filter(([, value]) => value !== ""));
  const parsed = parseWith(TRANSCRIPTION_FIELDS, filled);
  const { model: name = null, response_format: format, numerals, redact } = parsed;
  const isReadable = SUBTITLES.includes(format);
  const { display = isReadable } = parsed;
  const reading = readingOf({ display, numerals, redact });
  const isReadingDefault =
    display === isReadable && redact.length === 0 && (numerals === "auto" || reading === null);
  const isModelNamed = name !== null && !ALIASES.includes(name);
  const model = models.require(isModelNamed ? name : null, "INVALID_REQUEST");
  const ignored = Object.keys(filled).filter((field) => !KNOWN.includes(field) && field !== STREAM);
  return { model, isModelNamed, format, reading, isReadingDefault, ignored };
}
