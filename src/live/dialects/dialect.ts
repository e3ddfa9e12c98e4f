import type { WavHeader } from "../../../core/domain/audio/wav.js";
import type { HearingModel, ModelList } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { LiveConversation, LiveWishes } from "../../../core/ports/conversations.js";
import type { FrontRequest, Headers } from "../../../core/ports/front.js";
import type { LivePath } from "../../../core/protocol/endpoints.js";
import type { StreamServerMessage } from "../../../core/protocol/stream-messages.js";
import { bearerKey } from "../../http/admit.js";

/** The first subprotocol of a client that sends its key as the second. */
const BEARER_PROTOCOL = "svc-bearer";
const LISTEN_PROTOCOLS = ["token", "bearer"];

/** How a client shows its key on the live socket. */
export type StreamCredential =
  | { readonly type: "header"; readonly key: string | null }
  /** The subprotocol `name`, which is the one to answer with, and the key as the one after it. */
  | { readonly type: "protocol"; readonly name: string; readonly key: string | null }
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "key-in-query" };

/** One message on the wire: text, or binary. */
export type WireMessage = string | Uint8Array;

export type ErrorMessage = Extract<StreamServerMessage, { readonly type: "error" }>;

/** A language in which clients hold live conversations: one path, one set of messages, the same sessions behind it. */
export interface LiveDialect {
  readonly path: LivePath;
  credential(request: FrontRequest): StreamCredential;
  /** Headers by which a client that is refused before its socket opens learns why. */
  refusalHeaders(detail: string, requestId: string): Headers;
  /** How a client is told that it gets no session. */
  refusal(query: URLSearchParams, error: ErrorMessage): WireMessage;
  /**
   * @param models those that may be asked for
   * @throws {ServiceError} `INVALID_REQUEST`, `UNKNOWN_PARAMETER`, `UNKNOWN_MODEL`
   */
  begin(query: URLSearchParams, requestId: string, models: ModelList<HearingModel>): LiveTranslation;
}

/** Between one client and its session. */
export interface LiveTranslation {
  readonly options: LiveWishes;
  /** Names that the client gave and that have no effect. */
  readonly ignored: readonly string[];
  /** Whether audio that begins like a file is one: a client that says how its samples are coded means samples. */
  readonly mayBeFile: boolean;
  /**
   * Samples follow that are as the header of a WAV says.
   * @throws {ServiceError} `UNSUPPORTED_FORMAT` when such samples are not taken
   */
  beginWav(header: WavHeader): void;
  toClient(message: StreamServerMessage): readonly WireMessage[];
  text(conversation: LiveConversation, text: string): void;
  /** What the audio itself makes known to the client is returned. */
  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[];
}

/** What is said of a WAV whose samples a path does not take. */
export function unfitWav(
  { format, channels, bitsPerSample, sampleRateHz }: WavHeader,
  rule: string,
): ServiceError {
  const received = `${channels} of ${bitsPerSample}-bit ${format} at ${sampleRateHz} Hz`;
  return new ServiceError("UNSUPPORTED_FORMAT", `a live WAV must have ${rule}, received ${received}`);
}

/** Finds out how a live client authenticates. The header wins over the subprotocol, and that over a token in the query. */
export function streamCredential(request: FrontRequest): StreamCredential {
  return credentialOf(request, [BEARER_PROTOCOL], bearerKey(request));
}

/** The same on `/v1/listen`, whose clients say `Token` and `token` for keys, and `Bearer` and `bearer` for tokens. */
export function listenCredential(request: FrontRequest): StreamCredential {
  const match = /^(?:token|bearer) +(\S+) *$/i.exec(request.header("authorization") ?? "");
  return credentialOf(request, LISTEN_PROTOCOLS, match?.[1] ?? null);
}

function credentialOf(
  request: FrontRequest,
  protocolNames: readonly string[],
  headerKey: string | null,
): StreamCredential {
  for (const value of request.query.values()) {
    // A URL ends up in logs and histories: a key that came in one is refused, and never looked up.
    if (value.includes("sk-svc-")) return { type: "key-in-query" };
  }
  if (request.header("authorization") !== undefined) return { type: "header", key: headerKey };
  const protocols = (request.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
  const [name = "", key = null] = protocols;
  if (protocolNames.includes(name)) return { type: "protocol", name, key };
  const token = request.query.get("token");
  return token === null ? { type: "header", key: null } : { type: "token", token };
}
