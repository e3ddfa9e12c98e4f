import type { z } from "zod";
import { CLOSE, CLOSE_MEANING, type Closing } from "../domain/close-codes.js";
import { ENDPOINTS, type Endpoint, type LivePath } from "./endpoints.js";
import { componentSchemas, jsonSchema } from "./json-schema.js";
import { LISTEN_CLIENT_MESSAGE, LISTEN_SERVER_MESSAGE } from "./listen-messages.js";
import { INTERFACE_VERSION } from "./openapi.js";
import { REALTIME_CLIENT_EVENT, REALTIME_SERVER_EVENT } from "./realtime-events.js";
import { SERVICE_VERSION } from "./service-version.js";
import { SPEAK_CLIENT_MESSAGE, SPEAK_SERVER_MESSAGE } from "./speak-messages.js";
import { STREAM_CLIENT_MESSAGE, STREAM_SERVER_MESSAGE } from "./stream-messages.js";
import { TTS_LIVE_CLIENT_MESSAGE, TTS_LIVE_SERVER_MESSAGE } from "./tts-live-messages.js";
import { TURNS_CLIENT_MESSAGE, TURNS_SERVER_MESSAGE } from "./turns-messages.js";

type Json = Readonly<Record<string, unknown>>;
type Message = z.ZodObject<{ readonly type: z.ZodLiteral<string> }>;

/** Messages of a live path. */
interface Dialect {
  readonly id: string;
  /** Binary messages; null without them. */
  readonly audio: string | null;
  /** Name of the binary messages; `audio` by default. */
  readonly audioName?: string;
  /** Whether the service sends the audio instead of the client. */
  readonly isAudioSent?: boolean;
  readonly fromClient: z.ZodType;
  readonly fromServer: z.ZodType;
  /** First of the subprotocols; the second is the key. */
  readonly subprotocol: string;
}

const RAW_AUDIO =
  "Raw samples of one channel, as `encoding` and `sample_rate` say; an empty one finishes the session";

/** Every live path needs a dialect, or this does not compile. */
const DIALECTS: Readonly<Record<LivePath, Dialect>> = {
  "/v1/stream": {
    id: "stream",
    audio:
      "16-bit little-endian PCM, mono, 16 kHz, or WebM or Ogg with Opus, in messages of any size; an empty one keeps the session alive",
    fromClient: STREAM_CLIENT_MESSAGE,
    fromServer: STREAM_SERVER_MESSAGE,
    subprotocol: "svc-bearer",
  },
  "/v1/listen": {
    id: "listen",
    audio: RAW_AUDIO,
    fromClient: LISTEN_CLIENT_MESSAGE,
    fromServer: LISTEN_SERVER_MESSAGE,
    subprotocol: "token",
  },
  "/v2/listen": {
    id: "turns",
    audio: RAW_AUDIO,
    fromClient: TURNS_CLIENT_MESSAGE,
    fromServer: TURNS_SERVER_MESSAGE,
    subprotocol: "token",
  },
  "/v1/speak": {
    id: "speak",
    audio: "Samples of one channel without a header, in the format of `encoding` and `sample_rate`",
    isAudioSent: true,
    fromClient: SPEAK_CLIENT_MESSAGE,
    fromServer: SPEAK_SERVER_MESSAGE,
    subprotocol: "token",
  },
  "/v1/tts/live": {
    id: "tts-live",
    audio:
      "Samples of one channel without a header, in the format of `encoding` and `sample_rate`; " +
      "each follows its `audio` message",
    audioName: "samples",
    isAudioSent: true,
    fromClient: TTS_LIVE_CLIENT_MESSAGE,
    fromServer: TTS_LIVE_SERVER_MESSAGE,
    subprotocol: "svc-bearer",
  },
  "/v1/realtime": {
    id: "realtime",
    audio: null,
    fromClient: REALTIME_CLIENT_EVENT,
    fromServer: REALTIME_SERVER_EVENT,
    subprotocol: "realtime",
  },
};

/** Generates the AsyncAPI 3 description of the live paths from the schemas that validate them. */
export function asyncApiDocument(endpoints: readonly Endpoint[] = ENDPOINTS): Json {
  const live = endpoints
    .filter(({ status }) => status === 101)
    .map((endpoint) => ({ endpoint, dialect: DIALECTS[endpoint.path as LivePath] }));
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Dauys, live transcription",
      version: INTERFACE_VERSION,
      description:
        "Live transcription over WebSocket. `/openapi.json` describes the other endpoints. This is version " +
        `${INTERFACE_VERSION} of the interface, served by version ${SERVICE_VERSION} of the package \`dauys\`.`,
    },
    defaultContentType: "application/json",
    servers: {
      service: {
        host: "127.0.0.1:8080",
        protocol: "ws",
        description: "Default address of a service; with TLS the protocol is `wss`",
      },
    },
    channels: Object.fromEntries(
      live.map(({ endpoint, dialect }) => [dialect.id, channel(endpoint, dialect)]),
    ),
    operations: Object.fromEntries(live.flatMap(({ dialect }) => operations(dialect))),
    components: { schemas: componentSchemas(messageSchemas(live.map(({ dialect }) => dialect))) },
  };
}

function channel({ path, summary, description, query }: Endpoint, dialect: Dialect): Json {
  return {
    address: path,
    title: summary,
    description: `${description ?? ""}\n\n${CLOSE_CODES}`,
    messages: Object.fromEntries([
      ...(dialect.audio === null ? [] : [[dialect.audioName ?? AUDIO, binary(dialect.audio)]]),
      ...messagesOf(dialect.fromClient, dialect.fromServer).map((schema) => {
        const name = schema.shape.type.value;
        const summary = schema.meta()?.description;
        const payload = { $ref: `#/components/schemas/${componentOf(dialect, name)}` };
        return [name, { name, title: name, ...(summary !== undefined && { summary }), payload }];
      }),
    ]),
    bindings: {
      ws: {
        method: "GET",
        ...(query !== undefined && { query: jsonSchema(query.schema) }),
        headers: handshake(dialect),
      },
    },
    "x-close-codes": Object.keys(CLOSE).map((name) => {
      return { code: CLOSE[name as Closing], description: CLOSE_MEANING[name as Closing] };
    }),
  };
}

function binary(summary: string): Json {
  return { title: "Audio", summary, contentType: "application/octet-stream", payload: BYTES };
}

const AUDIO = "audio";
const BYTES = { type: "string", format: "binary" };
const CLOSE_CODES = `Close codes: ${Object.keys(CLOSE)
  .map((name) => `${CLOSE[name as Closing]} ${CLOSE_MEANING[name as Closing]}`)
  .join("; ")}.`;

function handshake({ subprotocol }: Dialect): Json {
  return {
    type: "object",
    properties: {
      Authorization: { type: "string", description: "`Bearer` and the API key" },
      "Sec-WebSocket-Protocol": {
        type: "string",
        description:
          `\`${subprotocol}\` and the key or a stream token, for web pages, which cannot set ` +
          `\`Authorization\``,
      },
    },
  };
}

/** Operations of the service, which receives the clients' messages. */
function operations(dialect: Dialect): readonly (readonly [string, Json])[] {
  const { id, audio, fromClient, fromServer, audioName = AUDIO, isAudioSent = false } = dialect;
  const received = audio === null || isAudioSent ? [] : [audioName];
  const sent = audio !== null && isAudioSent ? [audioName] : [];
  const refs = (names: readonly string[]) =>
    names.map((name) => ({ $ref: `#/channels/${id}/messages/${name}` }));
  const channelRef = { $ref: `#/channels/${id}` };
  return [
    [
      `${id}-hear`,
      { action: "receive", channel: channelRef, messages: refs([...received, ...namesOf(fromClient)]) },
    ],
    [
      `${id}-tell`,
      { action: "send", channel: channelRef, messages: refs([...sent, ...namesOf(fromServer)]) },
    ],
  ];
}

function messageSchemas(dialects: readonly Dialect[]): Record<string, z.ZodType> {
  return Object.fromEntries(
    dialects.flatMap((dialect) =>
      messagesOf(dialect.fromClient, dialect.fromServer).map((schema) => [
        componentOf(dialect, schema.shape.type.value),
        schema,
      ]),
    ),
  );
}

function namesOf(union: z.ZodType): readonly string[] {
  return messagesOf(union).map((schema) => schema.shape.type.value);
}

/** Returns the members of unions, each of which has a `type`. */
function messagesOf(...unions: readonly z.ZodType[]): readonly Message[] {
  return unions.flatMap((union) => (union as unknown as z.ZodUnion<readonly Message[]>).options);
}

function componentOf({ id }: Dialect, name: string): string {
  return `${id}-${name}`;
}
