import { z } from "zod";
import type { ChannelHandling } from "../domain/audio/channels.js";
import type { HearingModel, ModelList } from "../domain/catalog/catalog.js";
import { ServiceError } from "../domain/errors.js";
import type { ReadingOptions } from "../domain/text/display/reading.js";
import { CHANNELS } from "./channels-query.js";
import { oneOf, optionalFlag, parseWith, refuseNearMisses, shown } from "./fields.js";
import {
  type OrganizationDefaults,
  organizationDefaultsOf,
  STORED_HOT_WORDS,
} from "./organization-defaults.js";
import { READING_FIELDS, readingOf } from "./reading-query.js";
import { RECOGNIZER_MEANS } from "./transcribe-query.js";

const FORMATS = ["json", "text", "verbose_json", "srt", "vtt"] as const;
/** OpenAI's model ids, which mean the default model. */
const ALIASES = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"];

/** People read these formats, so their text is readable unless the client requests plain words. */
const SUBTITLES: readonly TranscriptFormat[] = ["srt", "vtt"];

type TranscriptFormat = (typeof FORMATS)[number];

const IGNORED = { description: "Accepted and ignored" };

const GRANULARITIES = ["word", "segment"] as const;
type Granularity = (typeof GRANULARITIES)[number];
const GRANULARITY_FIELD = "timestamp_granularities";

const EFFECTIVE_FIELDS = {
  model: z
    .string()
    .optional()
    .meta({ description: `${RECOGNIZER_MEANS}; ${ALIASES.join(", ")} also mean it` }),
  response_format: oneOf("response_format", FORMATS, { otherwise: "json", code: "UNSUPPORTED_FORMAT" }),
  ...READING_FIELDS,
  display: optionalFlag("display").meta({
    description:
      "Readable text, with capitals, punctuation and digits; default: true for subtitles, " +
      "otherwise false; an extension",
  }),
  numerals: READING_FIELDS.numerals.meta({
    description:
      "Numbers in readable text: `auto` writes digits from ten on and before months, units and " +
      "money, `all` always, " +
      "`none` never; an extension",
  }),
  stream: z.string().optional().meta({
    type: "boolean",
    description: "`true`: server-sent events with the text while it is transcribed; for `json` and `text`",
  }),
  channels: CHANNELS,
  organization_defaults: STORED_HOT_WORDS,
  [GRANULARITY_FIELD]: z.string().optional().meta({
    description: "Content of `verbose_json`: `word`, `segment` or both, as a list; both by default",
  }),
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
  ...IGNORED_FIELDS,
});

/** Fields with an effect. */
const KNOWN = ["file", ...Object.keys(EFFECTIVE_FIELDS)];
/** Other fields of OpenAI clients, which are ignored. */
const PASSED = [
  ...Object.keys(IGNORED_FIELDS),
  ...["include", "chunking_strategy"],
  ...["known_speaker_names", "known_speaker_references"],
];

/** The parsed fields of a form. */
export interface TranscriptionForm extends OrganizationDefaults {
  readonly model: HearingModel;
  /** Whether the model was given by its id. */
  readonly isModelNamed: boolean;
  readonly format: TranscriptFormat;
  /** Null for the plain transcript. */
  readonly reading: ReadingOptions | null;
  /** Whether `reading` is the default for the format. */
  readonly isReadingDefault: boolean;
  readonly channels: ChannelHandling;
  /** The response is a stream of events. */
  readonly isStreamed: boolean;
  /** Lists in the `verbose_json` response. */
  readonly granularities: readonly Granularity[];
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
  const asked = parseWith(TRANSCRIPTION_FIELDS, filled);
  const { model: name = null, response_format: format, numerals, redact, channels, stream = "" } = asked;
  const isReadable = SUBTITLES.includes(format);
  const { display = isReadable } = asked;
  const reading = readingOf({ display, numerals, redact });
  const isReadingDefault =
    display === isReadable && redact.length === 0 && (numerals === "auto" || reading === null);
  const isStreamed = /^(true|1)$/i.test(stream);
  if (isStreamed) requireStreamable(format, reading, channels);
  const isModelNamed = name !== null && !ALIASES.includes(name);
  const model = models.require(isModelNamed ? name : null, "INVALID_REQUEST");
  const isVerbose = format === "verbose_json";
  const granularities = granularitiesOf(isVerbose ? asked[GRANULARITY_FIELD] : undefined);
  const hasEffect = (field: string) => KNOWN.includes(field) && (field !== GRANULARITY_FIELD || isVerbose);
  const ignored = Object.keys(filled).filter((field) => !hasEffect(field));
  return {
    ...{ model, isModelNamed, format, reading, isReadingDefault, channels },
    ...{ isStreamed, granularities, ignored },
    ...organizationDefaultsOf(asked),
  };
}

/** Rejects streams of readable or masked text and of ordered turns, which need the whole file. */
function requireStreamable(
  format: TranscriptFormat,
  reading: ReadingOptions | null,
  channels: ChannelHandling,
): void {
  if (channels === "split") {
    const message = "stream must be false with channels=split: turns are ordered at the end";
    throw new ServiceError("UNSUPPORTED_FORMAT", message, { param: "stream" });
  }
  const isPlain = format === "json" || format === "text";
  if (isPlain && reading === null) return;
  const what = isPlain ? "display or redact" : `response_format ${format}`;
  const message = `stream must be false with ${what}: events hold plain text`;
  throw new ServiceError("UNSUPPORTED_FORMAT", message, { param: "stream" });
}

function granularitiesOf(value: string | undefined): readonly Granularity[] {
  if (value === undefined) return GRANULARITIES;
  const names = value.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !GRANULARITIES.some((known) => known === name));
  if (wrong === undefined) return GRANULARITIES.filter((known) => names.includes(known));
  const message = `${GRANULARITY_FIELD} must be ${GRANULARITIES.join(" or ")}, received ${shown(wrong)}`;
  throw new ServiceError("INVALID_REQUEST", message, { param: GRANULARITY_FIELD });
}
