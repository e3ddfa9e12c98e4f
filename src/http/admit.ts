import { ServiceError } from "../../core/domain/errors.js";
import type { WorkKind } from "../../core/domain/usage/concurrency.js";
import type { Caller, StopReason } from "../../core/ports/conversations.js";
import { inSpan } from "../../core/ports/span.js";
import { authenticate, bearerKey } from "./bearer.js";
import type { Exchange } from "./exchange.js";
import type { RouteDeps } from "./route.js";

/** What it takes to let a caller in. */
export type AdmitDeps = Pick<RouteDeps, "running" | "keys" | "slots">;

/**
 * The caller, once the key has been found good and the service takes new work.
 *
 * @param kind what the exchange does until it is over, or null for something that costs nothing
 * @throws {ServiceError} `SHUTTING_DOWN`, `KEY_INVALID`, `AUTH_UNAVAILABLE`, `TOO_MANY_REQUESTS`
 */
export async function admit(exchange: Exchange, deps: AdmitDeps, kind: WorkKind | null): Promise<Caller> {
  if (deps.running.isDraining) throw new ServiceError("SHUTTING_DOWN", "the service is stopping");
  const { span } = exchange;
  const identity = await inSpan(span.child("admission"), async () => {
    const known = await authenticate(bearerKey(exchange.request), deps.keys);
    if (kind !== null) exchange.onEnd(deps.slots.take(known, kind));
    return known;
  });
  const onModelWait = (waitedMs: number) => exchange.waitedForModel(waitedMs);
  const endpoint = exchange.route ?? exchange.request.path;
  const mostAtOnce = kind === null ? {} : { mostAtOnce: deps.slots.limitOf(identity, kind) };
  return { requestId: exchange.requestId, identity, endpoint, ...mostAtOnce, span, onModelWait };
}

/**
 * Runs a conversation until its answer is complete. It ends early, within one model step, when the client leaves, when
 * the answer cannot be delivered, and when the service has waited long enough for it.
 */
export async function converse(
  exchange: Exchange,
  deps: Pick<RouteDeps, "running">,
  conversation: { stop(reason: StopReason): void },
  answer: () => Promise<void>,
): Promise<void> {
  const { signal } = exchange.request;
  const onGone = () => conversation.stop(stopReason(signal.reason));
  const over = deps.running.add({ goingAway: () => {}, stop: () => conversation.stop("service-stops") });
  signal.addEventListener("abort", onGone, { once: true });
  try {
    if (signal.aborted) throw new ServiceError("CANCELLED", "the client is gone");
    await answer();
  } catch (thrown) {
    conversation.stop(stopReason(thrown));
    throw thrown;
  } finally {
    signal.removeEventListener("abort", onGone);
    over();
  }
}

/** A connection that was lost by our own thread is not the client's doing, and what did not go out is given back. */
function stopReason(reason: unknown): StopReason {
  return reason instanceof ServiceError && reason.code === "WORKER_LOST" ? "service-stops" : "client-left";
}
