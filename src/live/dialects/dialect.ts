import type { StreamCredential } from "../../http/bearer.js";
import type { LiveConversation } from "../../ports/conversations.js";
import type { FrontRequest } from "../../ports/front.js";
import type { LivePath } from "../../protocol/endpoints.js";
import type { StreamOptions, StreamServerMessage } from "../../protocol/stream-messages.js";

/** One message on the wire: text, or binary. */
export type WireMessage = string | Uint8Array;

export type ErrorMessage = Extract<StreamServerMessage, { readonly type: "error" }>;

/** A language in which clients hold live conversations: one path, one set of messages, the same sessions behind it. */
export interface LiveDialect {
  readonly path: LivePath;
  credential(request: FrontRequest): StreamCredential;
  /** How a client is told that it gets no session. */
  refusal(query: URLSearchParams, error: ErrorMessage): WireMessage;
  /**
   * @param alphabet characters that transcripts are written in
   * @throws {ServiceError} `INVALID_REQUEST`
   */
  begin(query: URLSearchParams, requestId: string, alphabet: ReadonlySet<string>): LiveTranslation;
}

/** Between one client and its session. */
export interface LiveTranslation {
  readonly options: StreamOptions;
  toClient(message: StreamServerMessage): readonly WireMessage[];
  text(conversation: LiveConversation, text: string): void;
  /** What the audio itself makes known to the client is returned. */
  binary(conversation: LiveConversation, bytes: Uint8Array): readonly WireMessage[];
}
