import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import type { WorkKind } from "../../core/domain/usage/concurrency.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller } from "../../core/ports/conversations.js";
import type { FloodClosing, FrontSocket, SocketEvents } from "../../core/ports/front.js";
import { CLOSE_CODE, HTTP_STATUS, isRetryable, publicDetail } from "../../core/protocol/error-status.js";
import { FLOOD_DETAIL } from "../front/shared/live-messages.js";
import type { RouteDeps } from "../http/router.js";
import type { ErrorMessage, WireMessage } from "./dialects/dialect.js";

const KEY_ENDED = "the API key was revoked or has expired";
/** Valid text messages are short. Longer ones are not parsed. */
export const LONGEST_TEXT = 64 * 1024;

const FLOOD = "too_many_messages";

export type SessionDeps = Pick<RouteDeps, "conversations" | "decoders" | "endings" | "running" | "slots">;

export interface SocketParts {
  readonly socket: FrontSocket;
  readonly log: Log;
  /** Renders an error for a client that has no session. */
  readonly toRefusal: (error: ErrorMessage) => WireMessage;
}

/** Events of a socket that every kind of session handles. */
interface Session {
  disconnected(): void;
  goingAway(deadlineSeconds: number): void;
  unauthorized(detail: string): void;
}

interface OpenSession<S> {
  readonly session: S;
  /** Called exactly once, when the socket has closed. */
  closed(code: number): void;
}

/** Slots that a socket takes from its organization's limit. */
interface SlotsTaken {
  readonly kind: WorkKind;
  /** Number of the socket's sessions; 1 by default. */
  readonly count?: number;
}

/**
 * Opens the session of a socket: checks that the key is valid, takes slots of the organization, and ends the
 * session when its key ends or the service stops.
 * @throws {ServiceError} `KEY_INVALID`, `TOO_MANY_REQUESTS`, and whatever `open` throws
 */
export function openSession<S extends Session>(
  { socket, log }: SocketParts,
  deps: SessionDeps,
  caller: Caller,
  { kind, count = 1 }: SlotsTaken,
  open: () => S,
): OpenSession<S> {
  if (deps.endings.hasEnded(caller.identity)) throw new ServiceError("KEY_INVALID", KEY_ENDED);
  // Not during the upgrade: if a client leaves before the socket opens, nothing reports it.
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

/** Tells the client why its session did not start, and closes the socket. */
export function refuseSession(parts: SocketParts, caller: Caller, thrown: unknown): SocketEvents {
  const error = asServiceError(thrown);
  caller.span?.end(errorName(error.code));
  parts.log.warn({ err: serverFault(error), code: error.code }, "live session did not start");
  return refuseSocket(parts, error);
}

/** Sends the reason why there is no session, and closes the socket. */
export function refuseSocket({ socket, toRefusal }: SocketParts, error: ServiceError): SocketEvents {
  closeWith(socket, error, (message) => [toRefusal(message)]);
  return { text: () => {}, binary: () => {}, closed: () => {} };
}

/** Sends an error in the client's dialect, and closes the socket with the error's code. */
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

/** Returns the closing messages for a client that sends too many messages. */
export function floodClosing(render: (message: ErrorMessage) => readonly WireMessage[]): FloodClosing {
  return {
    messages: render({ type: "error", code: FLOOD, detail: FLOOD_DETAIL, retryable: false }),
    code: CLOSE_CODE.INVALID_REQUEST,
    reason: FLOOD,
  };
}

/** Returns the error if it is our own fault; only those are logged with a stack trace. */
export function serverFault(error: ServiceError): ServiceError | undefined {
  return HTTP_STATUS[error.code] >= 500 ? error : undefined;
}
