import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import { SERVED_PARTS, type ServedPart } from "../../core/domain/served.js";
import type { Caller } from "../../core/ports/conversations.js";
import type { FrontRequest, FrontSocket, SocketEvents, UpgradeDecision } from "../../core/ports/front.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import { inSpan, NO_TRACER } from "../../core/ports/span.js";
import type { LivePath } from "../../core/protocol/endpoints.js";
import { errorBody } from "../../core/protocol/error-body.js";
import { errorHeaders, HTTP_STATUS, publicDetail } from "../../core/protocol/error-status.js";
import { ignoredHeader } from "../../core/protocol/ignored-names.js";
import { isServed, servedElsewhere } from "../../core/protocol/served-endpoints.js";
import { newRequestId } from "../front/shared/request-id.js";
import { authenticate, type StreamCredential } from "../http/bearer.js";
import { CORS_HEADERS } from "../http/cors.js";
import type { RouteDeps } from "../http/route.js";
import { isToken } from "../http/stream-tokens.js";
import { LiveAuthorization } from "./authorization.js";
import { LISTEN_DIALECT } from "./dialects/deepgram.js";
import type { ErrorMessage, LiveDialect } from "./dialects/dialect.js";
import { STREAM_DIALECT } from "./dialects/stream.js";
import { Floods, floodClosingMessage } from "./floods.js";
import { LiveSocket, serverFault } from "./live-socket.js";

/** A path of the endpoint table without a dialect does not compile. */
const BY_PATH = {
  "/v1/stream": STREAM_DIALECT,
  "/v1/listen": LISTEN_DIALECT,
} satisfies { readonly [Path in LivePath]: LiveDialect };

export const DIALECTS: readonly LiveDialect[] = Object.values(BY_PATH);

/** Decides about WebSockets: who may open one, in which language, and what is said to those who may not. */
export function createStreamUpgrade(deps: RouteDeps): (request: FrontRequest) => Promise<UpgradeDecision> {
  const keys = new LiveAuthorization(deps.keys, deps.clock, deps.endings);
  const floods = new Floods(deps.clock);
  const { serve = SERVED_PARTS } = deps;
  const served = DIALECTS.filter(({ path }) => isServed(path, serve));
  return async (request) => {
    const requestId = newRequestId();
    const log = deps.log.child({ requestId });
    const known = served.find(({ path }) => path === request.path);
    const dialect = known ?? STREAM_DIALECT;
    const credential = dialect.credential(request);
    const accepted = { protocol: credential.type === "protocol" ? credential.name : null, requestId };
    const span = (known === undefined ? NO_TRACER : (deps.tracer ?? NO_TRACER)).begin(
      `GET ${dialect.path}`,
      request.header("traceparent"),
      { "http.request.method": "GET", "http.route": dialect.path, "dauys.request_id": requestId },
    );
    const toRefusal = (error: ErrorMessage) => dialect.refusal(request.query, error);
    try {
      if (request.malformed !== null) throw new ServiceError("INVALID_REQUEST", request.malformed);
      if (known === undefined) throw new ServiceError("NOT_FOUND", whyNotHere(request.path, serve));
      if (deps.running.isDraining) throw new ServiceError("SHUTTING_DOWN", "the service is stopping");
      const identity = await inSpan(span.child("admission"), async () => {
        const known = await identify(credential, deps, keys);
        // First of all: a client without a place costs nothing but this.
        deps.slots.check(known, "live");
        return known;
      });
      const client = `${identity.organizationId} ${request.remoteAddress}`;
      floods.check(client);
      const translation = dialect.begin(request.query, requestId, deps.conversations.catalog.hearing);
      const mostAtOnce = deps.slots.limitOf(identity, "live");
      const caller = { requestId, identity, endpoint: dialect.path, mostAtOnce, span };
      await deps.conversations.requireCredit(caller, "live");
      const open = (socket: FrontSocket) => {
        log.info({ path: dialect.path, organizationId: identity.organizationId }, "live socket opened");
        const events = new LiveSocket(socket, log, toRefusal).start(deps, caller, translation);
        const flooded = () => {
          floods.note(client);
          log.warn({}, "live client floods");
        };
        return { ...events, flooded };
      };
      const { ignored } = translation;
      return {
        ...accept({ ...accepted, ignored }, open),
        floodClosingMessage: floodClosingMessage(translation),
      };
    } catch (thrown) {
      const error = asServiceError(thrown);
      span.end(errorName(error.code));
      log.info({ path: request.path, code: error.code, err: serverFault(error) }, "live socket refused");
      if (credential.type === "header" || credential.type === "key-in-query" || known === undefined)
        return refuse(error, requestId, dialect);
      // Browsers cannot read a failed handshake: they are let in to be told.
      return accept(accepted, (socket) => new LiveSocket(socket, log, toRefusal).refuse(error));
    }
  };
}

function whyNotHere(path: string, serve: readonly ServedPart[]): string {
  const isElsewhere = DIALECTS.some((dialect) => dialect.path === path);
  return isElsewhere ? servedElsewhere(path, serve) : "nothing lives at this path";
}

/** @throws {ServiceError} `INVALID_REQUEST` for a key in the query, `KEY_INVALID`, `AUTH_UNAVAILABLE` */
async function identify(
  credential: StreamCredential,
  { tokens }: RouteDeps,
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
  const identity = await tokens.redeem(token ?? "");
  if (identity === null) {
    throw new ServiceError(
      "KEY_INVALID",
      "the stream token is unknown, was used, or is older than 60 s, or its key has ended",
    );
  }
  return identity;
}

interface Accepted {
  readonly protocol: string | null;
  readonly requestId: Caller["requestId"];
  readonly ignored?: readonly string[];
}

function accept(
  { protocol, requestId, ignored = [] }: Accepted,
  open: (socket: FrontSocket) => SocketEvents,
): Extract<UpgradeDecision, { readonly type: "accept" }> {
  const headers = { "x-request-id": requestId, ...ignoredHeader(ignored) };
  return { type: "accept", protocol, headers, open };
}

function refuse(error: ServiceError, requestId: string, dialect: LiveDialect): UpgradeDecision {
  const headers = {
    "content-type": "application/json",
    "x-request-id": requestId,
    ...CORS_HEADERS,
    ...errorHeaders(error.code),
    ...dialect.refusalHeaders(publicDetail(error), requestId),
  };
  return {
    type: "refuse",
    status: HTTP_STATUS[error.code],
    headers,
    body: JSON.stringify(errorBody(error)),
  };
}
