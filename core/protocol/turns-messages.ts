import { z } from "zod";
import { type ClientMessage, parseClientMessage } from "./client-message.js";
import type { DeepReadonly } from "./fields.js";

const SEQUENCE = z.int().meta({ description: "Counts the messages of a socket, from 0" });
const HEAD = { request_id: z.string(), sequence_id: SEQUENCE };

/** Messages of `/v2/listen` to the client. Times are seconds of audio from the start of the session. */
export const TURNS_SERVER_MESSAGE = z.discriminatedUnion("type", [
  z.object({ type: z.literal("Connected"), ...HEAD }).meta({ description: "First message of a socket" }),
  z
    .object({
      type: z.literal("TurnInfo"),
      ...HEAD,
      event: z.enum(["StartOfTurn", "Update", "EagerEndOfTurn", "TurnResumed", "EndOfTurn"]),
      turn_index: z.int(),
      audio_window_start: z.number(),
      audio_window_end: z.number(),
      transcript: z.string().meta({ description: "Transcript of the turn so far" }),
      words: z.array(
        z.object({
          word: z.string(),
          confidence: z.number().meta({ description: "0 until the word is final" }),
          start: z.number().optional(),
          end: z.number().optional(),
        }),
      ),
      end_of_turn_confidence: z.number().meta({
        description:
          "Silence since the last word, as a share of the silence after which the turn has " +
          "certainly ended",
      }),
      trigger: z.enum(["model", "manual", "timeout"]).optional().meta({ description: "Of `EndOfTurn`" }),
      languages: z
        .array(z.enum(["kk", "ru"]))
        .optional()
        .meta({ description: "Language of most words" }),
    })
    .meta({ description: "The turn of the speaker" }),
  z
    .object({ type: z.literal("ConfigureFailure"), ...HEAD })
    .meta({ description: "Options cannot change while a session is open" }),
  z.object({
    type: z.literal("Error"),
    sequence_id: SEQUENCE,
    code: z.string(),
    description: z.string(),
  }),
]);

export type TurnsServerMessage = DeepReadonly<z.output<typeof TURNS_SERVER_MESSAGE>>;
export type TurnInfo = Extract<TurnsServerMessage, { readonly type: "TurnInfo" }>;

/** Text messages of `/v2/listen` from the client. */
export const TURNS_CLIENT_MESSAGE = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ForceEndTurn") }).meta({ description: "End the turn now" }),
  z.object({ type: z.literal("Configure") }).meta({ description: "Answered by `ConfigureFailure`" }),
  z.object({ type: z.literal("KeepAlive") }),
  z.object({ type: z.literal("CloseStream") }).meta({ description: "End the turn and close with 1000" }),
]);

/** Parses a text message of the client; null when it is not JSON. */
export function parseTurnsClientMessage(text: string): ClientMessage<typeof TURNS_CLIENT_MESSAGE> | null {
  return parseClientMessage(TURNS_CLIENT_MESSAGE, text);
}
