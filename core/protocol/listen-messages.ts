import { z } from "zod";
import { type ClientMessage, parseClientMessage } from "./client-message.js";
import type { DeepReadonly } from "./fields.js";

const LISTEN_WORD = z.object({
  word: z.string(),
  start: z.number(),
  end: z.number(),
  confidence: z.number(),
  punctuated_word: z.string(),
});

/** Messages of `/v1/listen` to the client. Times are seconds of audio from the start of the session. */
export const LISTEN_SERVER_MESSAGE = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("Results"),
    channel_index: z.array(z.int()),
    start: z.number(),
    duration: z.number(),
    is_final: z.boolean(),
    speech_final: z.boolean(),
    from_finalize: z.boolean(),
    channel: z.object({
      alternatives: z.array(
        z.object({ transcript: z.string(), confidence: z.number(), words: z.array(LISTEN_WORD) }),
      ),
    }),
    metadata: z.object({
      request_id: z.string(),
      model_info: z.object({ name: z.string(), version: z.string(), arch: z.string() }),
      model_uuid: z.string(),
    }),
  }),
  z.object({ type: z.literal("SpeechStarted"), channel: z.array(z.int()), timestamp: z.number() }),
  z.object({ type: z.literal("UtteranceEnd"), channel: z.array(z.int()), last_word_end: z.number() }),
  z.object({
    type: z.literal("Metadata"),
    transaction_key: z.string(),
    request_id: z.string(),
    sha256: z.string(),
    created: z.string(),
    duration: z.number(),
    channels: z.int(),
    models: z.array(z.string()),
  }),
  z.object({
    type: z.literal("Error"),
    variant: z.string(),
    description: z.string(),
    message: z.string(),
  }),
]);

export type ListenServerMessage = DeepReadonly<z.output<typeof LISTEN_SERVER_MESSAGE>>;
export type ListenResults = Extract<ListenServerMessage, { readonly type: "Results" }>;

/** Text messages of `/v1/listen` from the client. */
export const LISTEN_CLIENT_MESSAGE = z.discriminatedUnion("type", [
  z.object({ type: z.literal("KeepAlive") }),
  z.object({ type: z.literal("Finalize") }).meta({ description: "End the utterance now" }),
  z
    .object({ type: z.literal("CloseStream") })
    .meta({ description: "Finish, send `Metadata`, and close with 1000" }),
]);

export type ListenClientMessage = ClientMessage<typeof LISTEN_CLIENT_MESSAGE>;

/** Parses a text message of the client; null when it is not JSON. */
export function parseListenClientMessage(text: string): ListenClientMessage | null {
  return parseClientMessage(LISTEN_CLIENT_MESSAGE, text);
}
