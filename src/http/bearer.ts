import { ServiceError } from "../../core/domain/errors.js";
import type { FrontRequest } from "../../core/ports/front.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import { isTemporaryKey } from "./temporary-keys.js";

const KEY_PATTERN = /^sk-svc-[0-9a-f]{48}$/;
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

/** The bearer key of a request, or null. */
export function bearerKey(request: FrontRequest): string | null {
  const match = /^bearer +(\S+) *$/i.exec(request.header("authorization") ?? "");
  return match?.[1] ?? null;
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

/**
 * Whose key this is. A key that breaks the format is not looked up.
 *
 * @throws {ServiceError} `KEY_INVALID` with one text for every kind of wrong key, `AUTH_UNAVAILABLE`
 */
export async function authenticate(key: string | null, keys: KeyStore): Promise<KeyIdentity> {
  const isWellFormed = key !== null && (KEY_PATTERN.test(key) || isTemporaryKey(key));
  const identity = isWellFormed ? await keys.find(key) : null;
  if (identity === null) throw new ServiceError("KEY_INVALID", "missing or invalid API key");
  return identity;
}
