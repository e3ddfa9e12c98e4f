import { z } from "zod";
import { type ErrorCode, ServiceError } from "../domain/errors.js";
import { LONGEST_SPEECH_SECONDS, LONGEST_SPOKEN_CHARACTERS } from "../domain/synthesis/longest-speech.js";
import { countCodePoints } from "../domain/text/code-points.js";
import { brokenPauseRule } from "../domain/text/pause-marks.js";
import {
  body,
  boolean,
  type DeepReadonly,
  integer,
  number,
  optionalInteger,
  optionalString,
  parseWith,
} from "./fields.js";
import { STORED_PRONUNCIATIONS_FIELD } from "./organization-defaults.js";
import { PRONUNCIATIONS, requireBoundedGrowth } from "./pronunciations.js";

/** Maximum length of a text in Unicode code points, the billed unit. */
export const LONGEST_TEXT = 5_000;
export const SPEED_RULE = { min: 0.5, max: 2, otherwise: 1 };
export const NFE_RULE = { min: 4, max: 64, otherwise: 32 };
/** Solver steps of streams: with half the usual ones, the first audio arrives in half the time. */
export const STREAMED_NFE = 16;

export const SYNTHESIS_MODEL_MEANS =
  "Model id; the default model when absent, which is `svc-kk-v1` unless the operator has chosen another";
export const SPEED = number("speed", SPEED_RULE).meta({ description: "Multiplier of the voice's own tempo" });
export const VOICE = optionalString("voice").meta({
  description: "A voice from the catalog; the model's default voice when absent",
  examples: ["aigul"],
});

export const SEED = optionalInteger("seed", { min: 0, max: 0xffff_ffff }).meta({
  description:
    "Seed of the noise that speech is synthesized from: each gives another take. By default " +
    "derived from the text",
});

export const ROOM_TONE = boolean("room_tone", true).meta({
  description:
    "Noise at -70 dB under the whole response, as in a room; false leaves digital silence between words",
});

export const SYNTHESIS_REQUEST = body({
  text: textField("text"),
  model: optionalString("model").meta({ description: SYNTHESIS_MODEL_MEANS }),
  voice: VOICE,
  speed: SPEED,
  nfe: integer("nfe", NFE_RULE).meta({ description: "Solver steps: 16 is faster, 32 sounds better" }),
  normalize: boolean("normalize", true).meta({
    description: "Expands numbers, currency and dates into spoken Kazakh, or Russian for a Russian voice",
  }),
  seed: SEED,
  pronunciations: PRONUNCIATIONS,
  organization_defaults: STORED_PRONUNCIATIONS_FIELD,
  room_tone: ROOM_TONE,
});

/** A validated `/v1/tts` body; defaults filled in. Model and voice are checked against the catalog later. */
export type SynthesisRequest = DeepReadonly<z.output<typeof SYNTHESIS_REQUEST>>;

/** @throws {ServiceError} `TEXT_REQUIRED`, `TEXT_TOO_LONG`, `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseSynthesisRequest(value: unknown): SynthesisRequest {
  const request = parseWith(SYNTHESIS_REQUEST, withText(value, "text"));
  requireBoundedGrowth(request.text, request.pronunciations);
  return request;
}

/** The text to speak, in an endpoint's field `name`. */
export function textField(name: string) {
  return z
    .string({ error: ({ input }) => `${name} must be a string, received ${typeof input}` })
    .check((context) => {
      const broken = brokenTextRule(name, context.value);
      if (broken === null) return;
      const { code, message } = broken;
      context.issues.push({ code: "custom", message, params: { code }, input: context.value });
    })
    .meta({
      minLength: 1,
      maxLength: LONGEST_TEXT,
      examples: ["Сәлеметсіз бе!"],
      description:
        `Text to speak, at most ${LONGEST_TEXT} Unicode code points, and ${LONGEST_SPOKEN_CHARACTERS} characters or ` +
        `${LONGEST_SPEECH_SECONDS} s when it is spoken. \`[pause 500ms]\` and \`[pause 1.5s]\` are silence of that ` +
        "length, up to 10 s each and 120 s together",
    });
}

/** Fails with `TEXT_REQUIRED` for a text that is absent or null, before other fields are checked. */
export function withText(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const text = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : null;
  if ((text ?? null) === null)
    throw new ServiceError("TEXT_REQUIRED", `${name} is required`, { param: name });
  return value;
}

function brokenTextRule(
  name: string,
  text: string,
): { readonly code: ErrorCode; readonly message: string } | null {
  if (text.trim() === "") return { code: "TEXT_REQUIRED", message: `${name} is required` };
  if (!text.isWellFormed()) {
    const message = `${name} must be well-formed Unicode, received a lone surrogate`;
    return { code: "INVALID_REQUEST", message };
  }
  const codePoints = countCodePoints(text);
  if (codePoints > LONGEST_TEXT) {
    const message = `${name} must be at most ${LONGEST_TEXT} characters, received ${codePoints}`;
    return { code: "TEXT_TOO_LONG", message };
  }
  const brokenPause = brokenPauseRule(text);
  return brokenPause === null ? null : { code: "INVALID_REQUEST", message: `${name}: ${brokenPause}` };
}
