import { randomBytes } from "node:crypto";
import { ServiceError } from "../../../core/domain/errors.js";
import type { KeyIdentity } from "../../../core/ports/key-store.js";
import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import { parseWith } from "../../../core/protocol/fields.js";
import { readQuery } from "../../../core/protocol/query.js";
import {
  CLIENT_SECRET_REQUEST,
  SECRET_SECONDS,
  TRANSCRIPTION_SECRET,
} from "../../../core/protocol/realtime-events.js";
import {
  betaSessionObject,
  defaultRealtimeConfig,
  type RealtimeConfig,
  sessionObject,
  updatedConfig,
} from "../../../core/protocol/realtime-session.js";
import { type AdmitDeps, admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import { readJson } from "../read-body.js";
import type { Handlers, RouteDeps } from "../router.js";

type SecretDeps = AdmitDeps & Pick<RouteDeps, "secrets" | "conversations">;

const NO_STORE = { "cache-control": "no-store" };

/** Handlers that issue the secrets with which pages open realtime sessions. */
export function realtimeHandlers(
  deps: SecretDeps,
): Handlers<"POST /v1/realtime/client_secrets" | "POST /v1/realtime/transcription_sessions"> {
  return {
    "POST /v1/realtime/client_secrets": async (exchange) => {
      const { identity, body } = await read(exchange, deps);
      const { expires_after, session } = parseWith(CLIENT_SECRET_REQUEST, body);
      const config = configOf(session, deps);
      const lifetimeS = expires_after?.seconds ?? SECRET_SECONDS.otherwise;
      const secret = issue({ identity, config, lifetimeS }, deps);
      await exchange.json(200, { ...secret, session: sessionObject(config, sessionId()) }, NO_STORE);
    },
    "POST /v1/realtime/transcription_sessions": async (exchange) => {
      const { identity, body } = await read(exchange, deps);
      const { client_secret: wanted } = parseWith(TRANSCRIPTION_SECRET, body);
      const config = configOf(body, deps);
      const lifetimeS = wanted?.expires_at?.seconds ?? SECRET_SECONDS.otherwise;
      const client_secret = issue({ identity, config, lifetimeS }, deps);
      await exchange.json(200, { ...betaSessionObject(config, sessionId()), client_secret }, NO_STORE);
    },
  };
}

/** Reads the body. Clients that want the defaults send none. */
async function read(exchange: Exchange, deps: SecretDeps) {
  const { identity } = await admit(exchange, deps, null);
  const { request } = exchange;
  readQuery(NO_QUERY, request.query);
  const isEmpty = request.contentLength === 0 || request.header("content-type") === undefined;
  return { identity, body: isEmpty ? {} : await readJson(request) };
}

function configOf(session: unknown, { conversations }: SecretDeps): RealtimeConfig {
  const { hearing } = conversations.catalog;
  const config = defaultRealtimeConfig(hearing.default);
  return session == null ? config : updatedConfig(config, session, hearing);
}

interface WantedSecret {
  readonly identity: KeyIdentity;
  readonly config: RealtimeConfig;
  readonly lifetimeS: number;
}

function issue({ identity, config, lifetimeS }: WantedSecret, { secrets }: SecretDeps) {
  const secret = secrets.issue({ identity, config }, lifetimeS * 1_000);
  if (secret === null) {
    const message = "keywords are too long for a client secret; send them in session.update";
    throw new ServiceError("INVALID_REQUEST", message, { param: "session" });
  }
  return { value: secret.value, expires_at: Math.floor(secret.untilMs / 1_000) };
}

function sessionId(): string {
  return `sess_${randomBytes(8).toString("hex")}`;
}
