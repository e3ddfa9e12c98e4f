import { FLOOD_CODE } from "../../../core/domain/close-codes.js";
import { asServiceError } from "../../../core/domain/errors.js";
import type {
  FloodClosing,
  FrontHandlers,
  FrontRequest,
  FrontResponse,
  FrontSocket,
  UpgradeDecision,
} from "../../../core/ports/front.js";
import { jsonHeaders } from "./request-head.js";

/** Runs the request handler so that no exception reaches the socket library. */
export async function serveSafely(
  handlers: FrontHandlers,
  request: FrontRequest,
  response: FrontResponse,
): Promise<void> {
  try {
    await handlers.request(request, response);
    if (response.isOver) return;
    handlers.failed(new Error("A request handler must end or reset its response before it returns"));
  } catch (thrown) {
    // Writing to a client that has left throws this.
    if (response.isOver && asServiceError(thrown).code === "CANCELLED") return;
    handlers.failed(thrown);
  }
  await endAnyhow(response);
}

async function endAnyhow(response: FrontResponse): Promise<void> {
  if (response.isOver) return;
  if (response.hasStarted) return response.reset();
  const { status, headers, body } = internalError();
  response.start(status, headers);
  // If the client leaves at this moment, no response is needed.
  await response.end(Buffer.from(body)).catch(() => {});
}

/** Calls the upgrade handler, and rejects the upgrade if the handler throws. */
export async function decideSafely(handlers: FrontHandlers, request: FrontRequest): Promise<UpgradeDecision> {
  try {
    return await handlers.upgrade(request);
  } catch (thrown) {
    handlers.failed(thrown);
    return { type: "refuse", ...internalError() };
  }
}

/** Calls a socket's owner and reports its exceptions. @param onThrow ends the socket */
export function callSafely(handlers: FrontHandlers, call: () => void, onThrow: () => void = () => {}): void {
  try {
    call();
  } catch (thrown) {
    handlers.failed(thrown);
    onThrow();
  }
}

function internalError() {
  const headers = { ...jsonHeaders(), "x-svc-error": "internal" };
  return { status: 500, headers, body: JSON.stringify({ detail: "internal error" }) };
}

const UNTOLD: FloodClosing = { messages: [], code: FLOOD_CODE, reason: "too many messages" };

/**
 * Sends the closing messages of a socket that floods, and closes it. The front does this itself: until the
 * socket is closed, the native library delivers the rest of a read of half a megabyte, and an owner in
 * another thread would react too late.
 */
export function closeFlooded(socket: FrontSocket, { messages, code, reason }: FloodClosing = UNTOLD): void {
  for (const message of messages) {
    if (typeof message === "string") socket.sendText(message);
    else socket.sendBinary(message);
  }
  socket.close(code, reason);
}
