import { SpeechError } from "../domain/errors.js";
import type { JsonFields } from "./json-fields.js";
import {
  DEFAULT_SYNTHESIS_MODEL,
  NFE_RULE,
  parseText,
  SPEED_RULE,
  type SynthesisRequest,
} from "./synthesis-request.js";

/** Model ids of clients that were written for the OpenAI shape; they mean the default model. */
const ALIASES = new Set(["tts-1", "tts-1-hd", "gpt-4o-mini-tts"]);
const FORMATS = ["wav", "pcm"] as const;

/** A parsed `/v1/audio/speech` body: what to say and how to deliver it. */
export interface SpeechRequest {
  readonly synthesis: SynthesisRequest;
  readonly format: (typeof FORMATS)[number];
}

/** @throws {SpeechError} `TEXT_REQUIRED`, `TEXT_TOO_LONG`, `UNSUPPORTED_FORMAT`, `INVALID_REQUEST` */
export function parseSpeechRequest(fields: JsonFields): SpeechRequest {
  const format = parseFormat(fields.string("response_format"));
  const model = fields.string("model") ?? DEFAULT_SYNTHESIS_MODEL;
  const synthesis = {
    text: parseText(fields, "input"),
    model: ALIASES.has(model) ? DEFAULT_SYNTHESIS_MODEL : model,
    voice: fields.string("voice"),
    speed: fields.number("speed", SPEED_RULE),
    nfe: NFE_RULE.otherwise,
    normalize: true,
  };
  return { synthesis, format };
}

function parseFormat(value: string | null): SpeechRequest["format"] {
  const name = value ?? "wav";
  const format = FORMATS.find((known) => known === name);
  if (format !== undefined) return format;
  const shown = JSON.stringify(name.slice(0, 40));
  throw new SpeechError(
    "UNSUPPORTED_FORMAT",
    `response_format must be one of ${FORMATS.join(", ")}, received ${shown}`,
  );
}
