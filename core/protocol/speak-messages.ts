import { z } from "zod";
import { type ClientMessage, parseClientMessage } from "./client-message.js";
import type { DeepReadonly } from "./fields.js";

const SEQUENCE = z.int().meta({
  description: "Counts the `Flushed` and `Cleared` messages of a socket, from 0",
});

/** Text messages from the WebSocket `/v1/speak` to the client; audio is binary. */
export const SPEAK_SERVER_MESSAGE = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("Metadata"),
      request_id: z.string(),
      model_name: z.string().meta({ description: "The voice" }),
      model_version: z.string(),
      model_uuid: z.string(),
    })
    .meta({ description: "First message of a socket" }),
  z
    .object({ type: z.literal("Flushed"), sequence_id: SEQUENCE })
    .meta({ description: "All speech of the text before `Flush` was sent" }),
  z
    .object({ type: z.literal("Cleared"), sequence_id: SEQUENCE })
    .meta({ description: "No speech of the text before `Clear` follows" }),
  z
    .object({
      type: z.literal("Warning"),
      code: z.string(),
      description: z.string(),
      warn_code: z.string().meta({ description: "Same as `code`" }),
      warn_msg: z.string().meta({ description: "Same as `description`" }),
    })
    .meta({ description: "A message or a sentence was skipped; the socket stays open" }),
  z
    .object({
      type: z.literal("Error"),
      code: z.string(),
      description: z.string(),
      err_code: z.string(),
      err_msg: z.string().meta({ description: "Same as `description`" }),
      request_id: z.string(),
    })
    .meta({ description: "The socket closes" }),
]);

export type SpeakServerMessage = DeepReadonly<z.output<typeof SPEAK_SERVER_MESSAGE>>;

/** Text messages from the client to the WebSocket `/v1/speak`. */
export const SPEAK_CLIENT_MESSAGE = z.discriminatedUnion("type", [
  z
    .object({ type: z.literal("Speak"), text: z.string() })
    .meta({ description: "A piece of text of any length; pieces are joined without a separator" }),
  z.object({ type: z.literal("Flush") }).meta({ description: "Speak the rest now; answered by `Flushed`" }),
  z
    .object({ type: z.literal("Clear") })
    .meta({ description: "Drop all text and speech that was not sent; answered by `Cleared`" }),
  z.object({ type: z.literal("KeepAlive") }).meta({ description: "Keeps the idle socket open" }),
  z
    .object({ type: z.literal("Close") })
    .meta({ description: "Send the speech of flushed text, drop other text, and close with 1000" }),
]);

type SpeakClientMessage = ClientMessage<typeof SPEAK_CLIENT_MESSAGE>;

/** Parses a text message of the client; null when it is not JSON. */
export function parseSpeakClientMessage(text: string): SpeakClientMessage | null {
  return parseClientMessage(SPEAK_CLIENT_MESSAGE, text);
}
