import { ServiceError } from "../../core/domain/errors.js";
import type { WorkKind } from "../../core/domain/usage/concurrency.js";
import type { Caller } from "../../core/ports/conversations.js";
import type { FrontRequest } from "../../core/ports/front.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import { inSpan } from "../../core/ports/span.js";
import { isDeepgramPath } from "../../core/protocol/deepgram-errors.js";
import { requireEndpoint } from "../../core/protocol/endpoint-scopes.js";
import type { Exchange } from "./exchange.js";
import type { RouteDeps } from "./router.js";
import { isTemporaryKey } from "./signed-credentials.js";

export type AdmitDeps = Pick<RouteDeps, "running" | "keys" | "slots" | "vocabularies">;

/**
 * Checks the key and the organization's limits, and returns the caller, with the organization's words for work.
 *
 * @param kind takes one of the organization's slots for this work until the exchange ends; null for requests
 *   without cost
 * @throws {ServiceError} `SHUTTING_DOWN`, `KEY_INVALID`, `ENDPOINT_NOT_ALLOWED`, `AUTH_UNAVAILABLE`,
 *   `TOO_MANY_REQUESTS`
 */
export async function admit(exchange: Exchange, deps: AdmitDeps, kind: WorkKind | null): Promise<Caller> {
  if (deps.running.isDraining) throw new ServiceError("SHUTTING_DOWN", "the service is stopping");
  const { span } = exchange;
  const { identity, vocabulary } = await inSpan(span.child("admission"), async () => {
    const key = isDeepgramPath(exchange.request.path)
      ? tokenKey(exchange.request)
      : bearerKey(exchange.request);
    const known = await authenticate(key, deps.keys);
    requireEndpoint(known.endpoints, exchange.request.method, exchange.route ?? exchange.request.path);
    if (kind !== null) exchange.onEnd(deps.slots.take(known, kind));
    const words = kind === null ? null : await deps.vocabularies.of(known.organizationId);
    return { identity: known, vocabulary: words };
  });
  const onModelWait = (waitedMs: number) => exchange.waitedForModel(waitedMs);
  const endpoint = exchange.route ?? exchange.request.path;
  const mostAtOnce = kind === null ? {} : { mostAtOnce: deps.slots.limitOf(identity, kind) };
  const words = vocabulary === null ? {} : { vocabulary };
  return { requestId: exchange.requestId, identity, endpoint, ...mostAtOnce, ...words, span, onModelWait };
}

const KEY_PATTERN = /^sk-svc-[0-9a-f]{48}$/;

export function bearerKey(request: FrontRequest): string | null {
  const match = /^bearer +(\S+) *$/i.exec(request.header("authorization") ?? "");
  return match?.[1] ?? null;
}

/** Reads the key on Deepgram's paths, where clients may send `Token` instead of `Bearer`. */
export function tokenKey(request: FrontRequest): string | null {
  const match = /^(?:token|bearer) +(\S+) *$/i.exec(request.header("authorization") ?? "");
  return match?.[1] ?? null;
}

/**
 * Finds the identity of a key. Malformed keys are not looked up.
 *
 * @throws {ServiceError} `KEY_INVALID`, with the same text for every wrong key; `AUTH_UNAVAILABLE`
 */
export async function authenticate(key: string | null, keys: KeyStore): Promise<KeyIdentity> {
  const isWellFormed = key !== null && (KEY_PATTERN.test(key) || isTemporaryKey(key));
  const identity = isWellFormed ? await keys.find(key) : null;
  if (identity === null) throw new ServiceError("KEY_INVALID", "missing or invalid API key");
  return identity;
}
