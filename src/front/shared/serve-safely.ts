import { asServiceError } from "../../../core/domain/errors.js";
import type {
  FrontHandlers,
  FrontRequest,
  FrontResponse,
  UpgradeDecision,
} from "../../../core/ports/front.js";
import { newRequestId } from "./request-id.js";

/** Runs the request handler so that nothing it does reaches the socket library: last resort behind its own errors. */
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
    // Writing to a client that has left throws this; there is nobody to tell.
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
  // The client may leave at this very moment, which is no news any more.
  await response.end(Buffer.from(body)).catch(() => {});
}

/** Asks about an upgrade; a handler that throws refuses it. */
export async function decideSafely(handlers: FrontHandlers, request: FrontRequest): Promise<UpgradeDecision> {
  try {
    return await handlers.upgrade(request);
  } catch (thrown) {
    handlers.failed(thrown);
    return { type: "refuse", ...internalError() };
  }
}

/** Calls a socket's owner; what it throws is reported, and `onThrow` ends the socket. */
export function callSafely(handlers: FrontHandlers, call: () => void, onThrow: () => void): void {
  try {
    call();
  } catch (thrown) {
    handlers.failed(thrown);
    onThrow();
  }
}

function internalError() {
  const headers = {
    "content-type": "application/json",
    "x-request-id": newRequestId(),
    "x-svc-error": "internal",
    "access-control-allow-origin": "*",
  };
  return { status: 500, headers, body: JSON.stringify({ detail: "internal error" }) };
}
