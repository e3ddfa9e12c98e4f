import type { Caller, LiveConversation, LiveSink } from "../../actors/session/conversation.js";
import { asSpeechError, SpeechError } from "../domain/errors.js";
import type { Log } from "../observe/log.js";
import type { FrontRequest, FrontSocket, SocketEvents, UpgradeDecision } from "../ports/front.js";
import type { KeyIdentity, KeyStore } from "../ports/key-store.js";
import { encodeMessagePack, type StreamEncoding } from "../protocol/stream-encoding.js";
import { parseStreamClientMessage, type StreamServerMessage } from "../protocol/stream-messages.js";
import { encodingOf, parseStreamQuery } from "../protocol/stream-query.js";
import { authenticate, BEARER_PROTOCOL, type StreamCredential, streamCredential } from "./bearer.js";
import { CORS_HEADERS } from "./cors.js";
import {
  CLOSE_CODE,
  errorHeaders,
  errorName,
  HTTP_STATUS,
  isRetryable,
  publicDetail,
} from "./error-status.js";
import { LiveAuthorization } from "./live-authorization.js";
import { newRequestId } from "./request-id.js";
import type { RouteDeps } from "./routes.js";
import { isToken, type StreamTokens } from "./stream-tokens.js";

export const STREAM_PATH = "/v1/stream";
/** A client that leaves this much unread is cut off: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;

/** Decides about WebSockets: who may open `/v1/stream`, and what is said to those who may not. */
export function createStreamUpgrade(deps: RouteDeps): (request: FrontRequest) => Promise<UpgradeDecision> {
  const keys = new LiveAuthorization(deps.keys, deps.clock);
  return async (request) => {
    const requestId = newRequestId();
    const log = deps.log.child({ requestId });
    const credential = streamCredential(request);
    const encoding = encodingOf(request.query);
    const accepted = { protocol: credential.type === "protocol" ? BEARER_PROTOCOL : null, requestId };
    try {
      if (request.malformed !== null) throw new SpeechError("INVALID_REQUEST", request.malformed);
      if (request.path !== STREAM_PATH) throw new SpeechError("NOT_FOUND", "nothing lives at this path");
      if (deps.running.isDraining) throw new SpeechError("SHUTTING_DOWN", "the service is stopping");
      const identity = await identify(credential, deps.tokens, keys);
      const options = parseStreamQuery(request.query);
      deps.slots.check(identity, "live");
      await deps.conversations.requireCredit({ requestId, identity }, "live");
      const open = (socket: FrontSocket) => {
        log.info({ path: STREAM_PATH, organizationId: identity.organizationId }, "live socket opened");
        const startLive = (sink: LiveSink) => deps.conversations.live({ requestId, identity }, options, sink);
        return new StreamSocket(socket, log, encoding).start(deps, identity, startLive);
      };
      return accept(accepted, open);
    } catch (thrown) {
      const error = asSpeechError(thrown);
      log.info({ path: request.path, code: error.code, err: serverFault(error) }, "live socket refused");
      if (credential.type === "header" || credential.type === "key-in-query" || request.path !== STREAM_PATH)
        return refuse(error, requestId);
      // Browsers cannot read a failed handshake: they are let in to be told.
      return accept(accepted, (socket) => new StreamSocket(socket, log, encoding).refuse(error));
    }
  };
}

/** @throws {SpeechError} `INVALID_REQUEST` for a key in the query, `KEY_INVALID`, `AUTH_UNAVAILABLE` */
async function identify(
  credential: StreamCredential,
  tokens: StreamTokens,
  keys: KeyStore,
): Promise<KeyIdentity> {
  if (credential.type === "key-in-query") {
    throw new SpeechError(
      "INVALID_REQUEST",
      "an API key must not be sent in the URL: use the Authorization header, the svc-bearer subprotocol, or a token",
    );
  }
  const token = credential.type === "token" ? credential.token : credential.key;
  if (credential.type !== "token" && (token === null || !isToken(token))) return authenticate(token, keys);
  const identity = tokens.redeem(token ?? "");
  if (identity === null) {
    throw new SpeechError("KEY_INVALID", "the stream token is unknown, was used, or is older than 60 s");
  }
  return identity;
}

function accept(
  { protocol, requestId }: { readonly protocol: string | null; readonly requestId: Caller["requestId"] },
  open: (socket: FrontSocket) => SocketEvents,
): UpgradeDecision {
  return { type: "accept", protocol, headers: { "x-request-id": requestId }, open };
}

function refuse(error: SpeechError, requestId: string): UpgradeDecision {
  const headers = {
    "content-type": "application/json",
    "x-request-id": requestId,
    ...CORS_HEADERS,
    ...errorHeaders(error.code),
  };
  return {
    type: "refuse",
    status: HTTP_STATUS[error.code],
    headers,
    body: JSON.stringify({ detail: publicDetail(error) }),
  };
}

/** Only our own failures are worth a stack in the log. */
function serverFault(error: SpeechError): SpeechError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}

/** Between one socket and its live conversation. */
class StreamSocket {
  readonly #socket: FrontSocket;
  readonly #log: Log;
  readonly #encoding: StreamEncoding;

  constructor(socket: FrontSocket, log: Log, encoding: StreamEncoding) {
    this.#socket = socket;
    this.#log = log;
    this.#encoding = encoding;
  }

  start(
    deps: RouteDeps,
    identity: KeyIdentity,
    startLive: (sink: LiveSink) => LiveConversation,
  ): SocketEvents {
    let conversation: LiveConversation;
    let release = () => {};
    try {
      // Taken only now: a client that leaves during the upgrade is never heard of again.
      release = deps.slots.take(identity, "live");
      conversation = startLive({
        send: (message) => this.#send(message),
        close: (code, reason) => this.#socket.close(code, reason),
      });
    } catch (thrown) {
      release();
      const error = asSpeechError(thrown);
      this.#log.warn({ err: serverFault(error), code: error.code }, "live session did not start");
      return this.refuse(error);
    }
    const over = deps.running.add({
      goingAway: (deadlineSeconds) => conversation.goingAway(deadlineSeconds),
      stop: () => this.#socket.close(CLOSE_CODE.SHUTTING_DOWN, "going away"),
    });
    return {
      text: (text) => onText(conversation, text),
      binary: (bytes) => conversation.audio(bytes),
      closed: (code) => {
        over();
        release();
        conversation.disconnected();
        this.#log.info({ closeCode: code }, "live socket closed");
      },
    };
  }

  /** Tells why there is no session, and closes. */
  refuse(error: SpeechError): SocketEvents {
    const { code } = error;
    const detail = publicDetail(error);
    this.#send({ type: "error", code: errorName(code), detail, retryable: isRetryable(code) });
    this.#socket.close(CLOSE_CODE[code], errorName(code));
    return { text: () => {}, binary: () => {}, closed: () => {} };
  }

  #send(message: StreamServerMessage): void {
    if (this.#encoding === "msgpack") this.#socket.sendBinary(encodeMessagePack(message));
    else this.#socket.sendText(JSON.stringify(message));
    if (this.#socket.bufferedBytes <= MAX_UNREAD_BYTES) return;
    this.#log.warn({ unreadBytes: this.#socket.bufferedBytes }, "live client does not read");
    this.#socket.terminate();
  }
}

function onText(conversation: LiveConversation, text: string): void {
  const message = parseStreamClientMessage(text);
  if (message === null) conversation.badMessage("a text message must be JSON");
  else if (message.type === "finalize") conversation.finalize();
  else if (message.type === "close") conversation.close();
  else if (message.type === "keepalive") conversation.keepalive();
}
