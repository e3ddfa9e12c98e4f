import { asServiceError, ServiceError } from "../domain/errors.js";
import { GatheredAudio } from "../front/shared/gathered-audio.js";
import { newRequestId } from "../front/shared/request-id.js";
import { authenticate, type StreamCredential } from "../http/bearer.js";
import { CORS_HEADERS } from "../http/cors.js";
import type { RouteDeps } from "../http/route.js";
import { isToken } from "../http/stream-tokens.js";
import type { Log } from "../observe/log.js";
import type { Caller, LiveConversation } from "../ports/conversations.js";
import type { FrontRequest, FrontSocket, SocketEvents, UpgradeDecision } from "../ports/front.js";
import type { KeyIdentity, KeyStore } from "../ports/key-store.js";
import {
  CLOSE_CODE,
  errorHeaders,
  errorName,
  HTTP_STATUS,
  isRetryable,
  publicDetail,
} from "../protocol/error-status.js";
import { LiveAuthorization } from "./authorization.js";
import { LISTEN_DIALECT } from "./dialects/deepgram.js";
import type { ErrorMessage, LiveDialect, LiveTranslation, WireMessage } from "./dialects/dialect.js";
import { STREAM_DIALECT } from "./dialects/stream.js";

export const DIALECTS: readonly LiveDialect[] = [STREAM_DIALECT, LISTEN_DIALECT];
/** A client that leaves this much unread is cut off: finals are never dropped, so they would pile up. */
const MAX_UNREAD_BYTES = 1 << 20;
const KEY_ENDED = "the API key has ended";
/** Text messages are a few words; a longer one is not even parsed. */
const LONGEST_TEXT = 64 * 1024;

/** Decides about WebSockets: who may open one, in which language, and what is said to those who may not. */
export function createStreamUpgrade(deps: RouteDeps): (request: FrontRequest) => Promise<UpgradeDecision> {
  const keys = new LiveAuthorization(deps.keys, deps.clock, deps.endings);
  return async (request) => {
    const requestId = newRequestId();
    const log = deps.log.child({ requestId });
    const known = DIALECTS.find(({ path }) => path === request.path);
    const dialect = known ?? STREAM_DIALECT;
    const credential = dialect.credential(request);
    const accepted = { protocol: credential.type === "protocol" ? credential.name : null, requestId };
    const toRefusal = (error: ErrorMessage) => dialect.refusal(request.query, error);
    try {
      if (request.malformed !== null) throw new ServiceError("INVALID_REQUEST", request.malformed);
      if (known === undefined) throw new ServiceError("NOT_FOUND", "nothing lives at this path");
      if (deps.running.isDraining) throw new ServiceError("SHUTTING_DOWN", "the service is stopping");
      const identity = await identify(credential, deps, keys);
      // First of all: a client without a place costs nothing but this.
      deps.slots.check(identity, "live");
      const translation = dialect.begin(request.query, requestId, deps.conversations.alphabet);
      const caller = { requestId, identity, endpoint: dialect.path };
      await deps.conversations.requireCredit(caller, "live");
      const open = (socket: FrontSocket) => {
        log.info({ path: dialect.path, organizationId: identity.organizationId }, "live socket opened");
        return new LiveSocket(socket, log, toRefusal).start(deps, caller, translation);
      };
      return accept(accepted, open);
    } catch (thrown) {
      const error = asServiceError(thrown);
      log.info({ path: request.path, code: error.code, err: serverFault(error) }, "live socket refused");
      if (credential.type === "header" || credential.type === "key-in-query" || known === undefined)
        return refuse(error, requestId);
      // Browsers cannot read a failed handshake: they are let in to be told.
      return accept(accepted, (socket) => new LiveSocket(socket, log, toRefusal).refuse(error));
    }
  };
}

/** @throws {ServiceError} `INVALID_REQUEST` for a key in the query, `KEY_INVALID`, `AUTH_UNAVAILABLE` */
async function identify(
  credential: StreamCredential,
  { tokens, endings }: RouteDeps,
  keys: KeyStore,
): Promise<KeyIdentity> {
  if (credential.type === "key-in-query") {
    throw new ServiceError(
      "INVALID_REQUEST",
      "an API key must not be sent in the URL: use the Authorization header, the svc-bearer subprotocol, or a token",
    );
  }
  const token = credential.type === "token" ? credential.token : credential.key;
  if (credential.type !== "token" && (token === null || !isToken(token))) return authenticate(token, keys);
  const identity = tokens.redeem(token ?? "");
  if (identity === null || endings.hasEnded(identity)) {
    throw new ServiceError(
      "KEY_INVALID",
      "the stream token is unknown, was used, or is older than 60 s, or its key has ended",
    );
  }
  return identity;
}

function accept(
  { protocol, requestId }: { readonly protocol: string | null; readonly requestId: Caller["requestId"] },
  open: (socket: FrontSocket) => SocketEvents,
): UpgradeDecision {
  return { type: "accept", protocol, headers: { "x-request-id": requestId }, open };
}

function refuse(error: ServiceError, requestId: string): UpgradeDecision {
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
function serverFault(error: ServiceError): ServiceError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}

/** Between one socket and its live conversation. */
class LiveSocket {
  readonly #socket: FrontSocket;
  readonly #log: Log;
  readonly #toRefusal: (error: ErrorMessage) => WireMessage;

  constructor(socket: FrontSocket, log: Log, toRefusal: (error: ErrorMessage) => WireMessage) {
    this.#socket = socket;
    this.#log = log;
    this.#toRefusal = toRefusal;
  }

  start(deps: RouteDeps, caller: Caller, translation: LiveTranslation): SocketEvents {
    let conversation: LiveConversation;
    let release = () => {};
    try {
      if (deps.endings.hasEnded(caller.identity)) throw new ServiceError("KEY_INVALID", KEY_ENDED);
      // Taken only now: a client that leaves during the upgrade is never heard of again.
      release = deps.slots.take(caller.identity, "live");
      conversation = deps.conversations.live(caller, translation.options, {
        send: (message) => this.#send(translation.toClient(message)),
        close: (code, reason) => this.#socket.close(code, reason),
      });
    } catch (thrown) {
      release();
      const error = asServiceError(thrown);
      this.#log.warn({ err: serverFault(error), code: error.code }, "live session did not start");
      return this.refuse(error);
    }
    const over = deps.running.add({
      goingAway: (deadlineSeconds) => conversation.goingAway(deadlineSeconds),
      stop: () => this.#socket.close(CLOSE_CODE.SHUTTING_DOWN, "going away"),
    });
    const unwatch = deps.endings.watch(caller.identity, () => {
      this.#log.info("live session ends with its key");
      conversation.unauthorized(KEY_ENDED);
    });
    const audio = new GatheredAudio((bytes) => this.#hear(bytes, conversation, translation));
    return {
      text: (text) => {
        audio.flush();
        if (text.length <= LONGEST_TEXT) translation.text(conversation, text);
        else conversation.badMessage(`a text message must be at most ${LONGEST_TEXT} characters`);
      },
      binary: (bytes) => {
        if (bytes.length > 0) return audio.push(bytes);
        // Nothing to gather, but in one of the languages it means something.
        audio.flush();
        this.#send(translation.binary(conversation, bytes));
      },
      flooded: (detail) => {
        audio.flush();
        this.#log.warn({}, "live client floods");
        this.#send(
          translation.toClient({ type: "error", code: "too_many_messages", detail, retryable: false }),
        );
        this.#socket.close(CLOSE_CODE.INVALID_REQUEST, "too_many_messages");
      },
      closed: (code) => {
        audio.flush();
        over();
        unwatch();
        release();
        conversation.disconnected();
        this.#log.info({ closeCode: code }, "live socket closed");
      },
    };
  }

  /** Tells why there is no session, and closes. */
  refuse(error: ServiceError): SocketEvents {
    const { code } = error;
    const detail = publicDetail(error);
    this.#send([
      this.#toRefusal({ type: "error", code: errorName(code), detail, retryable: isRetryable(code) }),
    ]);
    this.#socket.close(CLOSE_CODE[code], errorName(code));
    return { text: () => {}, binary: () => {}, flooded: () => {}, closed: () => {} };
  }

  /** What was gathered is handed on in a turn of its own: there nobody else catches what is thrown. */
  #hear(bytes: Uint8Array, conversation: LiveConversation, translation: LiveTranslation): void {
    try {
      this.#send(translation.binary(conversation, bytes));
    } catch (error) {
      this.#log.error({ err: error }, "live audio failed");
      this.#socket.close(CLOSE_CODE.INTERNAL, errorName("INTERNAL"));
    }
  }

  #send(messages: readonly WireMessage[]): void {
    for (const message of messages) {
      if (typeof message === "string") this.#socket.sendText(message);
      else this.#socket.sendBinary(message);
    }
    if (messages.length === 0 || this.#socket.bufferedBytes <= MAX_UNREAD_BYTES) return;
    this.#log.warn({ unreadBytes: this.#socket.bufferedBytes }, "live client does not read");
    this.#socket.terminate();
  }
}
