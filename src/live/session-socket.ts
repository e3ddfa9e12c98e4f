import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import type { WorkKind } from "../../core/domain/usage/concurrency.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller } from "../../core/ports/conversations.js";
import type { FloodClosing, FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE, HTTP_STATUS, isRetryable, publicDetail } from "../../core/protocol/error-status.js";
import { FLOOD_DETAIL } from "../front/shared/live-messages.js";
import type { RouteDeps } from "../http/router.js";
import type { ErrorMessage, WireMessage } from "./dialects/dialect.js";

const KEY_ENDED = "the API key has ended";
/** Valid text messages are short; longer ones are not parsed. */
export const LONGEST_TEXT = 64 * 1024;

const FLOOD = "too_many_messages";

export type SessionDeps = Pick<RouteDeps, "conversations" | "decoders" | "endings" | "running" | "slots">;

export interface SocketParts {
  readonly socket: FrontSocket;
  readonly log: Log;
  /** Renders an error for a client without a session. */
  readonly toRefusal: (error: ErrorMessage) => WireMessage;
}

/** What a socket can tell any kind of session. */
interface Session {
  disconnected(): void;
  goingAway(deadlineSeconds: number): void;
  unauthorized(detail: string): void;
}

interface OpenSession<S> {
  readonly session: S;
  /** Must be called once, when the socket has closed. */
  closed(code: number): void;
}

/** Slots that a socket takes from its organization. */
interface SlotsTaken {
  readonly kind: WorkKind;
  /** Sessions of the socket; one by default. */
  readonly count?: number;
}

/**
 * Opens the session of a socket: checks that its key is valid, takes the organization's slots, and
 * ends the session with its key or with the service.
 * @throws {ServiceError} `KEY_INVALID`, `TOO_MANY_REQUESTS`, and what `open` throws
 */
export function openSession<S extends Session>(
  { socket, log }: SocketParts,
  deps: SessionDeps,
  caller: Caller,
  { kind, count = 1 }: SlotsTaken,
  open: () => S,
): OpenSession<S> {
  if (deps.endings.hasEnded(caller.identity)) throw new ServiceError("KEY_INVALID", KEY_ENDED);
  // Not during the upgrade: nothing reports a client that leaves before the socket opens.
  const release = deps.slots.take(caller.identity, kind, count);
  let session: S;
  try {
    session = open();
  } catch (error) {
    release();
    throw error;
  }
  const over = deps.running.add({
    goingAway: (deadlineSeconds) => session.goingAway(deadlineSeconds),
    stop: () => socket.close(CLOSE_CODE.SHUTTING_DOWN, "going away"),
  });
  const unwatch = deps.endings.watch(caller.identity, () => {
    log.info("live session ends with its key");
    session.unauthorized(KEY_ENDED);
  });
  return {
    session,
    closed(closeCode) {
      over();
      unwatch();
      release();
      session.disconnected();
      caller.span?.set({ "dauys.close_code": closeCode });
      caller.span?.end();
      log.info({ closeCode }, "live socket closed");
    },
  };
}

/** Sends the client the reason why its session did not start, and closes. */
export function refuseSession(parts: SocketParts, caller: Caller, thrown: unknown): SocketEvents {
  const error = asServiceError(thrown);
  caller.span?.end(errorName(error.code));
  parts.log.warn({ err: serverFault(error), code: error.code }, "live session did not start");
  return refuseSocket(parts, error);
}

/** Sends why there is no session, and closes. */
export function refuseSocket({ socket, toRefusal }: SocketParts, error: ServiceError): SocketEvents {
  closeWith(socket, error, (message) => [toRefusal(message)]);
  return { text: () => {}, binary: () => {}, closed: () => {} };
}

/** Sends an error in the client's dialect, and closes with its code. */
export function closeWith(
  socket: FrontSocket,
  error: ServiceError,
  render: (message: ErrorMessage) => readonly WireMessage[],
): void {
  const { code } = error;
  const name = errorName(code);
  const detail = publicDetail(error);
  sendAll(socket, render({ type: "error", code: name, detail, retryable: isRetryable(code) }));
  socket.close(CLOSE_CODE[code], name);
}

export function sendAll(socket: FrontSocket, messages: readonly WireMessage[]): void {
  for (const message of messages) {
    if (typeof message === "string") socket.sendText(message);
    else if (message.length > 0) socket.sendBinary(message);
  }
}

/** Returns the message for a client that sends too many messages, before its socket closes. */
export function floodClosing(render: (message: ErrorMessage) => readonly WireMessage[]): FloodClosing {
  return {
    messages: render({ type: "error", code: FLOOD, detail: FLOOD_DETAIL, retryable: false }),
    code: CLOSE_CODE.INVALID_REQUEST,
    reason: FLOOD,
  };
}

/** Returns the error if it is our own failure: only those are logged with a stack. */
export function serverFault(error: ServiceError): ServiceError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}
