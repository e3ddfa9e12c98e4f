import { SpeechError } from "../domain/errors.js";
import type { JsonFields } from "./json-fields.js";

export const DEFAULT_SYNTHESIS_MODEL = "svc-kk-v1";
/** In Unicode code points of the submitted text, the same count that is billed. */
export const LONGEST_TEXT = 5_000;
export const SPEED_RULE = { min: 0.5, max: 2, otherwise: 1 } as const;
export const NFE_RULE = { min: 4, max: 64, otherwise: 32 } as const;

/** A parsed and validated `/v1/tts` body; defaults filled in. Model and voice are checked against the catalog later. */
export interface SynthesisRequest {
  readonly text: string;
  readonly model: string;
  /** Null means the model's default voice. */
  readonly voice: string | null;
  readonly speed: number;
  readonly nfe: number;
  readonly normalize: boolean;
}

/** @throws {SpeechError} `TEXT_REQUIRED`, `TEXT_TOO_LONG`, `INVALID_REQUEST` */
export function parseSynthesisRequest(fields: JsonFields): SynthesisRequest {
  return {
    text: parseText(fields, "text"),
    model: fields.string("model") ?? DEFAULT_SYNTHESIS_MODEL,
    voice: fields.string("voice"),
    speed: fields.number("speed", SPEED_RULE),
    nfe: fields.integer("nfe", NFE_RULE),
    normalize: fields.boolean("normalize", true),
  };
}

/** The text to speak, under the name that this endpoint gives it. */
export function parseText(fields: JsonFields, name: string): string {
  const text = fields.string(name);
  if (text === null || text.trim() === "") throw new SpeechError("TEXT_REQUIRED", `${name} is required`);
  if (!text.isWellFormed()) {
    throw new SpeechError(
      "INVALID_REQUEST",
      `${name} must be well-formed Unicode, received a lone surrogate`,
    );
  }
  const codePoints = countCodePoints(text);
  if (codePoints > LONGEST_TEXT) {
    throw new SpeechError(
      "TEXT_TOO_LONG",
      `${name} must be at most ${LONGEST_TEXT} characters, received ${codePoints}`,
    );
  }
  return text;
}

/** Unicode code points of well-formed `text`. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
