import type { WavHeader } from "../../../core/domain/audio/wav.js";
import type { HearingModel, ModelList, SpeakingModel } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type {
  LiveConversation,
  LiveWishes,
  SpeakConversation,
  SpeakMessageOut,
  SpeakReceipt,
  SpeakWishes,
  SpokenPlace,
} from "../../../core/ports/conversations.js";
import type { FrontRequest, Headers } from "../../../core/ports/front.js";
import type { LivePath } from "../../../core/protocol/endpoints.js";
import type { RealtimeConfig } from "../../../core/protocol/realtime-session.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import { bearerKey, tokenKey } from "../../http/admit.js";

/** First subprotocol of clients that send their key as the second one. */
const BEARER_PROTOCOL = "svc-bearer";
const LISTEN_PROTOCOLS = ["token", "bearer"];

export type StreamCredential =
  /** `name` is a subprotocol that the client also offers, and that the 101 response repeats. */
  | { readonly type: "header"; readonly key: string | null; readonly name?: string }
  /**
   * The client offers subprotocol `name`, which the 101 response repeats, and its key as the next
   * subprotocol.
   */
  | { readonly type: "protocol"; readonly name: string; readonly key: string | null }
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "key-in-query" };

export type WireMessage = string | Uint8Array;

export type ErrorMessage = Extract<StreamServerMessage, { readonly type: "error" }>;

/** A protocol over a socket: one path, and its messages. */
interface SocketDialect {
  readonly path: LivePath;
  credential(request: FrontRequest): StreamCredential;
  /** Returns headers that explain a rejected handshake. */
  refusalHeaders(detail: string, requestId: string): Headers;
  /** Returns the error message for a socket without a session. */
  refusal(query: URLSearchParams, error: ErrorMessage, requestId: string): WireMessage;
}

/** A protocol for live transcription. All dialects use the same kind of session. */
export interface LiveDialect extends SocketDialect {
  readonly work: "live";
  /**
   * @param models models that a client may request
   * @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`, `UNKNOWN_MODEL`
   */
  begin(
    query: URLSearchParams,
    requestId: string,
    models: ModelList<HearingModel>,
    handshake: Handshake,
  ): LiveTranslation;
}

/** Settings from the handshake that are not in the query. */
export interface Handshake {
  readonly request: FrontRequest;
  /** Configuration that the client secret grants; null without a secret. */
  readonly config: RealtimeConfig | null;
}

/** A protocol for speaking sessions. */
export interface SpeakDialect extends SocketDialect {
  readonly work: "synthesis";
  /**
   * @param models models that the client may request
   * @throws {ServiceError} `INVALID_REQUEST`, `UNSUPPORTED_FORMAT`, `UNKNOWN_PARAMETER`
   */
  begin(query: URLSearchParams, requestId: string, models: ModelList<SpeakingModel>): SpeakTranslation;
}

/** Translates between one client and its speaking session. */
export interface SpeakTranslation {
  readonly wishes: SpeakWishes;
  readonly ignored: readonly string[];
  /** Returns the messages for a client whose socket has opened. */
  opened(): readonly WireMessage[];
  /** Translates a message. Errors of the socket itself have no receipt. */
  toClient(message: SpeakMessageOut, receipt?: SpeakReceipt): readonly WireMessage[];
  /** @param isLast true if these samples end the sentence */
  sound(pcm: Int16Array, isLast: boolean, place: SpokenPlace): readonly WireMessage[];
  /** Returns the messages for a client when the service is stopping. */
  goingAway?(deadlineSeconds: number): readonly WireMessage[];
  text(conversation: SpeakConversation, text: string): void;
  binary(conversation: SpeakConversation): void;
}

/** Deepgram's `encoding` for Ogg Opus, and for one bare Opus packet per message. */
export type AnnouncedForm = "ogg-opus" | "opus";

/** Translates between one client and its session. */
export interface LiveTranslation {
  /** Options of the session, read when it starts. */
  readonly options: LiveWishes;
  /**
   * Number of interleaved channels in the audio. Each gets a session, and messages name their channel. Absent
   * for mono audio, which gets one session.
   */
  readonly channelCount?: number;
  /** True if the session starts with its first audio, because messages may change the options until then. */
  readonly startsLate?: boolean;
  /** The client's parameters that have no effect. */
  readonly ignored: readonly string[];
  /** Whether audio that looks like a file is one; false if the client specified its encoding. */
  readonly mayBeFile: boolean;
  /** Form of compressed audio that the client announced; absent if the first bytes decide. */
  readonly announced?: AnnouncedForm | null;
  /**
   * Called with the header before the samples of a WAV.
   * @throws {ServiceError} `UNSUPPORTED_FORMAT` if the dialect does not accept them
   */
  beginWav(header: WavHeader): void;
  /** Called before the samples of compressed audio, which are in the format of sessions. */
  beginDecoded?(): void;
  /** Called with all bytes of compressed audio, before they are decoded. */
  submitted?(bytes: Uint8Array): void;
  /** Returns the messages for a socket that has just opened. */
  opened?(): readonly WireMessage[];
  toClient(message: StreamServerMessage): readonly WireMessage[];
  /** Called like `LiveSink.finalized`. */
  finalized?(): readonly WireMessage[];
  /**
   * Returns the audio that a text message carries; null for other messages. A dialect with this method
   * accepts no binary messages.
   */
  audioIn?(text: string): Uint8Array | null;
  /** @returns the replies to the text message itself */
  text(conversation: LiveConversation, text: string): readonly WireMessage[];
  /** @returns messages that the audio itself triggers */
  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[];
}

/** Returns the compressed form that an `encoding` announces; null for raw samples. */
export function announcedForm(encoding: string): AnnouncedForm | null {
  return encoding === "opus" || encoding === "ogg-opus" ? encoding : null;
}

const LONGEST_HEADER = 500;

/** Explains a rejected handshake to Deepgram's clients, which show these headers. */
export function deepgramHeaders(detail: string, requestId: string): Headers {
  // Headers must be visible ASCII, but the text may quote a client.
  const text = detail.replace(/[^ -~]/g, "?").slice(0, LONGEST_HEADER);
  return { "dg-error": text, "dg-request-id": requestId };
}

export function channelsText(count: number): string {
  return count === 1 ? "one channel" : `${count} channels`;
}

export function unfitWav(
  { format, channels, bitsPerSample, sampleRateHz }: WavHeader,
  rule: string,
): ServiceError {
  const received = `${channels} of ${bitsPerSample}-bit ${format} at ${sampleRateHz} Hz`;
  return new ServiceError("UNSUPPORTED_FORMAT", `a live WAV must have ${rule}, received ${received}`);
}

/**
 * Reads a live client's credential: from the header, otherwise the subprotocol, otherwise a token in the
 * query.
 */
export function streamCredential(request: FrontRequest): StreamCredential {
  return credentialOf(request, [BEARER_PROTOCOL], bearerKey(request));
}

/**
 * The same for Deepgram's paths, where clients send keys as `Token` or `token`, and tokens as `Bearer` or
 * `bearer`.
 */
export function listenCredential(request: FrontRequest): StreamCredential {
  return credentialOf(request, LISTEN_PROTOCOLS, tokenKey(request));
}

/** The subprotocol of OpenAI's clients, and prefixes of the other subprotocols that they offer. */
const REALTIME_PROTOCOL = "realtime";
const KEY_PROTOCOL = "openai-insecure-api-key.";

/** The same for `/v1/realtime`, where clients offer `realtime` and a prefixed key, in any order. */
export function realtimeCredential(request: FrontRequest): StreamCredential {
  if (hasKeyInQuery(request)) return { type: "key-in-query" };
  const protocols = protocolsOf(request);
  const name = protocols.find((protocol) => protocol === REALTIME_PROTOCOL);
  const key = protocols.find((protocol) => protocol.startsWith(KEY_PROTOCOL))?.slice(KEY_PROTOCOL.length);
  if (request.header("authorization") !== undefined || name === undefined) {
    return { type: "header", key: bearerKey(request), ...(name !== undefined && { name }) };
  }
  return { type: "protocol", name, key: key ?? null };
}

function credentialOf(
  request: FrontRequest,
  protocolNames: readonly string[],
  headerKey: string | null,
): StreamCredential {
  if (hasKeyInQuery(request)) return { type: "key-in-query" };
  if (request.header("authorization") !== undefined) return { type: "header", key: headerKey };
  const [name = "", key = null] = protocolsOf(request);
  if (protocolNames.includes(name)) return { type: "protocol", name, key };
  const token = request.query.get("token");
  return token === null ? { type: "header", key: null } : { type: "token", token };
}

/** URLs end up in logs and histories, so a key in a URL is rejected without a look-up. */
function hasKeyInQuery({ query }: FrontRequest): boolean {
  return [...query.values()].some((value) => value.includes("sk-svc-"));
}

function protocolsOf(request: FrontRequest): readonly string[] {
  return (request.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
}
