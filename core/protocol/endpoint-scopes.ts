import { ServiceError } from "../domain/errors.js";
import type { KeyEndpoint } from "../domain/key-limits.js";
import type { HttpOperation, LivePath } from "./endpoints.js";

/** Operations without a key, or about the key itself. */
const ANY_KEY = null;

/** Key endpoints that allow each operation; one of them is enough. Null for any key. */
const SCOPES = {
  "POST /v1/tts": ["tts"],
  "POST /v1/tts/stream": ["tts"],
  "POST /v1/audio/speech": ["tts"],
  "GET /v1/tts/live": ["tts"],
  "POST /v1/speak": ["tts"],
  "GET /v1/speak": ["tts"],
  "POST /v1/transcribe": ["transcribe"],
  "POST /v1/audio/transcriptions": ["transcribe"],
  "POST /v1/listen": ["transcribe"],
  "POST /v1/jobs/transcriptions": ["jobs"],
  "GET /v1/jobs": ["jobs"],
  "GET /v1/jobs/{id}": ["jobs"],
  "GET /v1/jobs/{id}/result": ["jobs"],
  "DELETE /v1/jobs/{id}": ["jobs"],
  "GET /v1/jobs/webhook-secret": ["jobs"],
  "POST /v1/jobs/webhook-secret": ["jobs"],
  "GET /v1/stream": ["live"],
  "GET /v1/listen": ["live"],
  "GET /v2/listen": ["live"],
  "GET /v1/realtime": ["live"],
  "POST /v1/realtime/client_secrets": ["live"],
  "POST /v1/realtime/transcription_sessions": ["live"],
  // Tokens open sockets of both kinds, and carry the limits of their key.
  "POST /v1/stream/token": ["live", "tts"],
  "GET /v1/key": ANY_KEY,
  "GET /v1/balance": ["account:read"],
  "GET /v1/usage": ["account:read"],
  "GET /v1/vocabulary": ["account:read", "account:write"],
  "PUT /v1/vocabulary": ["account:write"],
  "GET /v1/models": ANY_KEY,
  "GET /v1/voices": ANY_KEY,
  "GET /v1/audio/models": ANY_KEY,
  "GET /v1/audio/voices": ANY_KEY,
  "GET /health": ANY_KEY,
  "GET /ready": ANY_KEY,
} as const satisfies Record<HttpOperation | `GET ${LivePath}`, readonly KeyEndpoint[] | null>;

/**
 * Rejects a key that is restricted to other endpoints.
 *
 * @param endpoints of the key; all when undefined
 * @param path path of the route; variable segments are `:name` or `{name}`
 * @throws {ServiceError} `ENDPOINT_NOT_ALLOWED`
 */
export function requireEndpoint(
  endpoints: readonly KeyEndpoint[] | undefined,
  method: string,
  path: string,
): void {
  if (endpoints === undefined) return;
  const template = path.replace(/:(\w+)/g, "{$1}");
  const operation = `${method === "HEAD" ? "GET" : method} ${template}`;
  const scopes = operation in SCOPES ? SCOPES[operation as keyof typeof SCOPES] : [];
  if (scopes === null || scopes.some((scope) => endpoints.includes(scope))) return;
  throw new ServiceError(
    "ENDPOINT_NOT_ALLOWED",
    `this key does not allow ${operation}, only endpoints of ${endpoints.join(", ")}: use another key or change its endpoints`,
  );
}
