import { z } from "zod";
import { type DeepReadonly, integer, looseBody } from "./fields.js";
import { REALTIME_FORMATS, REALTIME_SESSION } from "./realtime-session.js";

const CLIENT_EVENT = {
  event_id: z.string().nullish().meta({ description: "Returned in the `error` that the event causes" }),
};

/** Events of `/v1/realtime` from the client. */
export const REALTIME_CLIENT_EVENT = z.discriminatedUnion("type", [
  z
    .object({ type: z.literal("session.update"), ...CLIENT_EVENT, session: REALTIME_SESSION })
    .meta({ description: "Changes the members that are present" }),
  z
    .object({ type: z.literal("transcription_session.update"), ...CLIENT_EVENT, session: REALTIME_SESSION })
    .meta({ description: "Same as `session.update`, in the beta" }),
  z
    .object({
      type: z.literal("input_audio_buffer.append"),
      ...CLIENT_EVENT,
      audio: z.string().meta({ contentEncoding: "base64", description: "Samples in the session's format" }),
    })
    .meta({ description: "Adds audio; not confirmed" }),
  z
    .object({ type: z.literal("input_audio_buffer.commit"), ...CLIENT_EVENT })
    .meta({ description: "Ends the turn now; at least 100 ms of audio since the last one" }),
  z
    .object({ type: z.literal("input_audio_buffer.clear"), ...CLIENT_EVENT })
    .meta({ description: "Discards the transcript of audio that is not committed; the audio is charged" }),
]);

const SERVER_EVENT = { event_id: z.string() };
const SESSION = z.looseObject({ id: z.string(), object: z.literal("realtime.transcription_session") });
const ITEM_EVENT = { ...SERVER_EVENT, item_id: z.string() };
const CONTENT_EVENT = { ...ITEM_EVENT, content_index: z.literal(0) };
const AFTER = { previous_item_id: z.string().nullable() };
const ITEM = z.object({
  id: z.string(),
  object: z.literal("realtime.item"),
  type: z.literal("message"),
  status: z.literal("completed"),
  role: z.literal("user"),
  content: z.array(z.object({ type: z.literal("input_audio"), transcript: z.null() })),
});
const LOGPROB = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) });

/** Events of `/v1/realtime` to the client. */
export const REALTIME_SERVER_EVENT = z.discriminatedUnion("type", [
  z.object({ type: z.literal("session.created"), ...SERVER_EVENT, session: SESSION }),
  z.object({ type: z.literal("session.updated"), ...SERVER_EVENT, session: SESSION }),
  z
    .object({ type: z.literal("transcription_session.created"), ...SERVER_EVENT, session: SESSION })
    .meta({ description: "Beta" }),
  z
    .object({ type: z.literal("transcription_session.updated"), ...SERVER_EVENT, session: SESSION })
    .meta({ description: "Beta" }),
  z
    .object({
      type: z.literal("input_audio_buffer.speech_started"),
      ...ITEM_EVENT,
      audio_start_ms: z.int(),
    })
    .meta({ description: "With turn detection, when an utterance has its first letters" }),
  z.object({ type: z.literal("input_audio_buffer.speech_stopped"), ...ITEM_EVENT, audio_end_ms: z.int() }),
  z.object({ type: z.literal("input_audio_buffer.committed"), ...ITEM_EVENT, ...AFTER }),
  z.object({ type: z.literal("input_audio_buffer.cleared"), ...SERVER_EVENT }),
  z.object({ type: z.literal("conversation.item.added"), ...SERVER_EVENT, ...AFTER, item: ITEM }),
  z.object({ type: z.literal("conversation.item.done"), ...SERVER_EVENT, ...AFTER, item: ITEM }),
  z
    .object({ type: z.literal("conversation.item.created"), ...SERVER_EVENT, ...AFTER, item: ITEM })
    .meta({ description: "Beta" }),
  z
    .object({
      type: z.literal("conversation.item.input_audio_transcription.delta"),
      ...CONTENT_EVENT,
      delta: z.string(),
    })
    .meta({ description: "Text to append, sent while a turn is spoken" }),
  z
    .object({
      type: z.literal("conversation.item.input_audio_transcription.completed"),
      ...CONTENT_EVENT,
      transcript: z.string(),
      usage: z.object({ type: z.literal("duration"), seconds: z.number() }),
      logprobs: z
        .array(LOGPROB)
        .optional()
        .meta({ description: "One entry for each word, if `include` requests it" }),
    })
    .meta({ description: "Never revised" }),
  z.object({
    type: z.literal("error"),
    ...SERVER_EVENT,
    error: z.object({
      type: z.string(),
      code: z.string(),
      message: z.string(),
      param: z.string().nullable(),
      event_id: z.string().nullable().meta({ description: "Id of the client event that caused the error" }),
    }),
  }),
]);

/** Limits and default lifetime of OpenAI's client secrets. */
export const SECRET_SECONDS = { min: 10, max: 7_200, otherwise: 600 };

const lifetime = (name: string) =>
  z
    .object({
      anchor: z.literal("created_at").optional(),
      seconds: integer(`${name}.seconds`, SECRET_SECONDS),
    })
    .nullish();

/** Body of `/v1/realtime/client_secrets`. */
export const CLIENT_SECRET_REQUEST = looseBody({
  expires_after: lifetime("expires_after"),
  session: z.unknown().optional().meta({ type: "object", description: "As in `session.update`" }),
});
export const CLIENT_SECRET = z.object({
  value: z.string(),
  expires_at: z.int().meta({ description: "Unix seconds" }),
  session: SESSION,
});
/** The part of the body of `/v1/realtime/transcription_sessions` that is not the session. */
export const TRANSCRIPTION_SECRET = looseBody({
  client_secret: z
    .object({ expires_at: lifetime("client_secret.expires_at") })
    .nullish()
    .meta({ description: "How long the secret is valid; 600 seconds when absent" }),
});
/** Body of `/v1/realtime/transcription_sessions`. */
export const TRANSCRIPTION_SESSION_REQUEST = z
  .object({ ...REALTIME_SESSION.shape, ...TRANSCRIPTION_SECRET.shape })
  .meta({ ...REALTIME_SESSION.meta() });
/** Answer of `/v1/realtime/transcription_sessions`. */
export const TRANSCRIPTION_SESSION = z.object({
  id: z.string(),
  object: z.literal("realtime.transcription_session"),
  input_audio_format: z.enum(REALTIME_FORMATS),
  input_audio_transcription: z.looseObject({ model: z.string() }),
  input_audio_noise_reduction: z.looseObject({}).nullable(),
  turn_detection: z.looseObject({}).nullable(),
  include: z.array(z.string()).nullable(),
  client_secret: z.object({ value: z.string(), expires_at: z.int() }),
});

export const REALTIME_CLIENT_TYPES = REALTIME_CLIENT_EVENT.options.map(({ shape }) => shape.type.value);
export type RealtimeClientType = z.output<typeof REALTIME_CLIENT_EVENT>["type"];
type RealtimeServerEvent = DeepReadonly<z.output<typeof REALTIME_SERVER_EVENT>>;

export type RealtimeLogprob = DeepReadonly<z.output<typeof LOGPROB>>;

/** An event without its id. */
export type UnsentEvent = RealtimeServerEvent extends infer Event
  ? Event extends RealtimeServerEvent
    ? Omit<Event, "event_id">
    : never
  : never;

/** A client's event before its content is validated. */
export interface ClientEvent {
  readonly type: string;
  readonly eventId: string | null;
  readonly members: Readonly<Record<string, unknown>>;
}

const LONGEST_NAME = 100;

/** Reads a text message; null if it is not a JSON object. Its type is empty if it has none. */
export function parseRealtimeEvent(text: string): ClientEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const members = value as Readonly<Record<string, unknown>>;
  const { type: given, event_id: id } = members;
  const type = typeof given === "string" ? given : "";
  return { type, eventId: typeof id === "string" ? id.slice(0, LONGEST_NAME) : null, members };
}

const APPEND = "input_audio_buffer.append";
/**
 * Messages longer than this are not parsed as a whole: they must contain one long string, which is cut out
 * first.
 */
const LONGEST_PARSED = 8_192;

/** Returns the audio of an `append`; null for other messages and for invalid base64. */
export function appendedAudio(message: string): Uint8Array | null {
  const cut = message.length > LONGEST_PARSED ? withoutAudio(message) : { rest: message, audio: null };
  if (cut === null || !cut.rest.includes(APPEND)) return null;
  const event = parseRealtimeEvent(cut.rest);
  if (event?.type !== APPEND) return null;
  const audio = cut.audio ?? event.members["audio"];
  return typeof audio === "string" ? fromBase64(audio) : null;
}

/** Cuts out the string after `"audio":`; null if the message has none, or is long without it. */
function withoutAudio(message: string): { readonly rest: string; readonly audio: string } | null {
  const name = message.indexOf('"audio"');
  if (name === -1 || name > LONGEST_PARSED) return null;
  const from = message.indexOf('"', name + '"audio"'.length) + 1;
  const to = message.indexOf('"', from);
  if (from === 0 || to === -1 || message.length - (to - from) > LONGEST_PARSED) return null;
  const audio = message.slice(from, to);
  // Some JSON encoders escape slashes.
  return {
    rest: message.slice(0, from) + message.slice(to),
    audio: audio.includes("\\/") ? audio.replaceAll("\\/", "/") : audio,
  };
}

/** Decodes base64. Node's decoder skips invalid characters, so the length shows whether there were any. */
function fromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, "base64");
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  return digits % 4 !== 1 && bytes.length === Math.floor((digits * 3) / 4) ? bytes : null;
}
