import { z } from "zod";
import { type ClientMessage, parseClientMessage } from "./client-message.js";
import { body, type DeepReadonly, parseWith } from "./fields.js";
import { PRONUNCIATIONS } from "./pronunciations.js";
import { WORD_TIME } from "./timed-speech.js";

const TURN = z.int().min(0).meta({
  description: "Turn of the text: number of `flush` and `cancel` messages that the client sent before it",
});

/** Amount and price of the delivered speech. */
const DELIVERED = {
  audio_seconds: z.number().meta({ description: "Seconds of audio that were sent" }),
  characters: z.int().min(0).meta({ description: "Billed characters: code points of the delivered text" }),
  credits_charged: z.int().min(0),
};

/** Text messages from the WebSocket `/v1/tts/live` to the client; audio is binary. */
export const TTS_LIVE_SERVER_MESSAGE = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("ready"),
      session_id: z.string().meta({ description: "The request's id; charges have it with `-0`, `-1`, ..." }),
      model: z.string(),
      voice: z.string(),
      encoding: z.enum(["linear16", "mulaw", "alaw"]),
      sample_rate: z.int().meta({ description: "Hz" }),
    })
    .meta({ description: "First message of a socket" }),
  z
    .object({
      type: z.literal("audio"),
      turn: TURN,
      sentence: z.int().min(0).meta({ description: "Number of the sentence within the socket" }),
      text: z
        .string()
        .optional()
        .meta({ description: "Text of the sentence, sent with its first audio only" }),
      from: z
        .int()
        .min(0)
        .meta({ description: "Start of the sentence in the turn's text, in Unicode code points" }),
      start: z.number().meta({ description: "Seconds of the turn's audio before this part" }),
      bytes: z
        .int()
        .min(0)
        .meta({ description: "Length of the binary message that follows; 0 if none follows" }),
      words: z.array(WORD_TIME).meta({
        description:
          "Words that start in this audio, with times from its start; `from` and `to` are " +
          "positions in the turn's text. Empty for " +
          "models without word times",
      }),
      last: z.boolean().meta({ description: "Whether this is the sentence's last part" }),
    })
    .meta({ description: "Describes the binary message after it" }),
  z
    .object({ type: z.literal("flushed"), turn: TURN, ...DELIVERED })
    .meta({ description: "All audio of the turn was sent" }),
  z
    .object({
      type: z.literal("cancelled"),
      turn: TURN,
      ...DELIVERED,
      heard: z
        .object({ turn: TURN, characters: z.int().min(0) })
        .optional()
        .meta({
          description:
            "With `played_seconds` and word times: the turn that was playing, and how much of " +
            "its text was played, up to the " +
            "end of the last word that had started",
        }),
    })
    .meta({ description: "No audio of this turn or an earlier one follows" }),
  z
    .object({
      type: z.literal("warning"),
      code: z.string(),
      detail: z.string(),
      skipped: z
        .object({ turn: TURN, to: z.int().min(0) })
        .optional()
        .meta({ description: "End of the skipped sentence in the turn's text" }),
    })
    .meta({ description: "A message or a sentence was skipped; the socket stays open" }),
  z.object({ type: z.literal("going_away"), deadline_s: z.number() }),
  z
    .object({
      type: z.literal("error"),
      code: z.string(),
      detail: z.string(),
      retryable: z.boolean(),
    })
    .meta({ description: "The socket closes" }),
  z
    .object({ type: z.literal("done"), ...DELIVERED })
    .meta({ description: "The session has ended and was charged: totals of all turns" }),
]);

export type TtsLiveServerMessage = DeepReadonly<z.output<typeof TTS_LIVE_SERVER_MESSAGE>>;

const TTS_LIVE_COMMANDS = [
  z
    .object({ type: z.literal("text"), text: z.string() })
    .meta({ description: "A piece of text of any length; pieces are joined without a separator" }),
  z.object({ type: z.literal("flush") }).meta({ description: "Speak the rest now; answered by `flushed`" }),
  z
    .object({
      type: z.literal("cancel"),
      played_seconds: z
        .number()
        .min(0)
        .optional()
        .meta({ description: "Seconds of a turn's audio that the listener has heard" }),
      played_turn: z
        .int()
        .min(0)
        .optional()
        .meta({ description: "The turn that was playing; the last one with audio when absent" }),
    })
    .meta({ description: "Drop all text and audio that was not sent; answered by `cancelled`" }),
  z.object({ type: z.literal("keepalive") }).meta({ description: "Keeps the idle socket open" }),
  z
    .object({ type: z.literal("close") })
    .meta({ description: "Speak the rest, send `flushed` and `done`, and close with 1000" }),
] as const;

const TTS_LIVE_SETTINGS = body({ type: z.literal("options"), pronunciations: PRONUNCIATIONS }).meta({
  description:
    "Options that are too long for a URL: once, before the first `text`; invalid ones close the socket",
});

/** Text messages from the client to the WebSocket `/v1/tts/live`. */
export const TTS_LIVE_CLIENT_MESSAGE = z.discriminatedUnion("type", [
  TTS_LIVE_SETTINGS,
  ...TTS_LIVE_COMMANDS,
]);

/** `options` are not validated, which takes time, before their place is known to be right. */
const ARRIVING_MESSAGE = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("options") }),
  ...TTS_LIVE_COMMANDS,
]);

/** Parses a text message of the client; null when it is not JSON. */
export function parseTtsLiveClientMessage(text: string): ClientMessage<typeof ARRIVING_MESSAGE> | null {
  return parseClientMessage(ARRIVING_MESSAGE, text);
}

/** @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER` */
export function parseTtsLiveSettings(message: object): DeepReadonly<z.output<typeof TTS_LIVE_SETTINGS>> {
  return parseWith(TTS_LIVE_SETTINGS, message);
}
