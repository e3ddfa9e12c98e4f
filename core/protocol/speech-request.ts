import { z } from "zod";
import { integer, looseBody, oneOf, optionalString, parseWith, refuseNearMisses } from "./fields.js";
import { STORED_PRONUNCIATIONS_FIELD } from "./organization-defaults.js";
import { PRONUNCIATIONS, requireBoundedGrowth } from "./pronunciations.js";
import {
  NFE_RULE,
  ROOM_TONE,
  SEED,
  SPEED,
  STREAMED_NFE,
  type SynthesisRequest,
  textField,
  VOICE,
  withText,
} from "./synthesis-request.js";

/** OpenAI's model ids, which mean the default model. */
const ALIASES = ["tts-1", "tts-1-hd", "gpt-4o-mini-tts"];
const FORMATS = ["wav", "pcm"] as const;

export const SPEECH_REQUEST = looseBody({
  input: textField("input"),
  model: optionalString("model").meta({
    description: `Model id; ${ALIASES.join(", ")} mean the default model, \`svc-kk-v1\` unless the operator has chosen another`,
  }),
  voice: VOICE,
  response_format: oneOf("response_format", FORMATS, {
    otherwise: "wav",
    code: "UNSUPPORTED_FORMAT",
  }).meta({ description: "`pcm` is raw 16-bit little-endian PCM, mono, sent as it is synthesized" }),
  speed: SPEED,
  nfe: integer("nfe", { ...NFE_RULE, otherwise: STREAMED_NFE }).meta({
    description: "Solver steps: 16 suits playback that starts with the first audio, 32 sounds better",
  }),
  seed: SEED,
  pronunciations: PRONUNCIATIONS,
  organization_defaults: STORED_PRONUNCIATIONS_FIELD,
  room_tone: ROOM_TONE,
  stream_format: z.unknown().optional().meta({
    type: "string",
    description: "`sse`: server-sent events with audio in base64; otherwise the audio itself",
  }),
});

/** Event of streamed speech: a chunk of audio. */
export const SPEECH_DELTA = z.object({
  type: z.literal("speech.audio.delta"),
  audio: z.string().meta({ contentEncoding: "base64" }),
});

/** Last event of streamed speech. */
export const SPEECH_DONE = z.object({
  type: z.literal("speech.audio.done"),
  usage: z.object({
    input_tokens: z.int().meta({ description: "Billed characters" }),
    output_tokens: z.int().meta({ description: "Always 0" }),
    total_tokens: z.int(),
  }),
});

/** Other fields of OpenAI clients, which are ignored but are not typos. */
const PASSED = ["instructions", "stream", "stream_format"];
/** Fields that a typo may stand for. */
const KNOWN = Object.keys(SPEECH_REQUEST.shape).filter((name) => !PASSED.includes(name));

/** A parsed `/v1/audio/speech` body. */
export interface SpeechRequest {
  readonly synthesis: SynthesisRequest;
  readonly format: (typeof FORMATS)[number];
  /** The response is a stream of events. */
  readonly isEvents: boolean;
  /** Fields without effect. */
  readonly ignored: readonly string[];
}

/**
 * Parses a body. Other fields are ignored, except near misses of ours, which the client meant to have an
 * effect.
 *
 * @throws {ServiceError} `TEXT_REQUIRED`, `TEXT_TOO_LONG`, `UNSUPPORTED_FORMAT`, `INVALID_REQUEST`,
 * `UNKNOWN_PARAMETER`
 */
export function parseSpeechRequest(value: unknown): SpeechRequest {
  const request = parseWith(SPEECH_REQUEST, withText(value, "input"));
  const names = Object.keys(value as object);
  refuseNearMisses("field", names, { known: KNOWN, ignored: PASSED });
  const {
    input: text,
    response_format: format,
    voice,
    speed,
    nfe,
    seed,
    pronunciations,
    organization_defaults,
    room_tone,
  } = request;
  requireBoundedGrowth(text, pronunciations);
  const model = request.model === null || ALIASES.includes(request.model) ? null : request.model;
  const synthesis = {
    ...{ text, model, voice, speed, nfe, normalize: true, seed, pronunciations, room_tone },
    ...(organization_defaults === false && { organization_defaults }),
  };
  const isEvents = request.stream_format === "sse";
  return {
    synthesis,
    format,
    isEvents,
    ignored: names.filter((name) => !Object.hasOwn(SPEECH_REQUEST.shape, name)),
  };
}
