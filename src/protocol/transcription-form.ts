import { SpeechError } from "../domain/errors.js";

const FORMATS = ["json", "text", "verbose_json", "srt", "vtt"] as const;
/** Model ids of clients that were written for the OpenAI shape; they mean the default model. */
const ALIASES = new Set(["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]);

export type TranscriptFormat = (typeof FORMATS)[number];

/**
 * Reads the fields of a `/v1/audio/transcriptions` form: how to answer. Language, prompt, temperature and whatever else
 * clients send are ignored.
 *
 * @param models names of the models that transcribe
 * @throws {SpeechError} `UNSUPPORTED_FORMAT`, or `INVALID_REQUEST` for a model that is none of ours
 */
export function parseTranscriptionForm(
  fields: ReadonlyMap<string, string>,
  models: readonly string[],
): TranscriptFormat {
  const model = fields.get("model");
  if (model !== undefined && model !== "" && !ALIASES.has(model) && !models.includes(model)) {
    throw new SpeechError(
      "INVALID_REQUEST",
      `model must be one of ${models.join(", ")}, received ${shown(model)}`,
    );
  }
  const name = fields.get("response_format") || "json";
  const format = FORMATS.find((known) => known === name);
  if (format !== undefined) return format;
  throw new SpeechError(
    "UNSUPPORTED_FORMAT",
    `response_format must be one of ${FORMATS.join(", ")}, received ${shown(name)}`,
  );
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 60));
}
