import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import { SERVED_PARTS, type ServedPart } from "../../core/domain/served.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Caller } from "../../core/ports/conversations.js";
import type { FrontRequest, FrontSocket, SocketEvents, UpgradeDecision } from "../../core/ports/front.js";
import type { KeyIdentity, KeyStore } from "../../core/ports/key-store.js";
import { inSpan, NO_TRACER } from "../../core/ports/span.js";
import { deepgramErrorBody, isDeepgramPath } from "../../core/protocol/deepgram-errors.js";
import { requireEndpoint } from "../../core/protocol/endpoint-scopes.js";
import type { LivePath } from "../../core/protocol/endpoints.js";
import { errorBody } from "../../core/protocol/error-body.js";
import { errorHeaders, HTTP_STATUS, publicDetail } from "../../core/protocol/error-status.js";
import { ignoredHeader } from "../../core/protocol/ignored-names.js";
import type { RealtimeConfig } from "../../core/protocol/realtime-session.js";
import { isServed, servedElsewhere } from "../../core/protocol/served-endpoints.js";
import { type BucketSize, TokenBucket } from "../front/shared/rate-limits.js";
import { newRequestId } from "../front/shared/request-head.js";
import { authenticate } from "../http/admit.js";
import { isClientSecret } from "../http/client-secrets.js";
import { CORS_HEADERS } from "../http/exchange.js";
import type { KeyEndings } from "../http/key-endings.js";
import { noSuchEndpoint, type RouteDeps } from "../http/router.js";
import { isToken } from "../http/signed-credentials.js";
import { LISTEN_DIALECT } from "./dialects/deepgram.js";
import { SPEAK_DIALECT } from "./dialects/deepgram-speak.js";
import { TURNS_DIALECT } from "./dialects/deepgram-turns.js";
import type {
  ErrorMessage,
  Handshake,
  LiveDialect,
  SpeakDialect,
  StreamCredential,
  WireMessage,
} from "./dialects/dialect.js";
import { REALTIME_DIALECT } from "./dialects/realtime.js";
import { STREAM_DIALECT } from "./dialects/stream.js";
import { TTS_LIVE_DIALECT } from "./dialects/tts-live.js";
import { LiveSocket } from "./live-socket.js";
import { floodClosing, refuseSocket, type SocketParts, serverFault } from "./session-socket.js";
import { SpeakSocket } from "./speak-socket.js";

/** If a path of the endpoint table has no dialect, this does not compile. */
const BY_PATH = {
  "/v1/stream": STREAM_DIALECT,
  "/v1/listen": LISTEN_DIALECT,
  "/v1/speak": SPEAK_DIALECT,
  "/v1/tts/live": TTS_LIVE_DIALECT,
  "/v2/listen": TURNS_DIALECT,
  "/v1/realtime": REALTIME_DIALECT,
} satisfies { readonly [Path in LivePath]: LiveDialect | SpeakDialect };

export const DIALECTS: readonly (LiveDialect | SpeakDialect)[] = Object.values(BY_PATH);

/** Creates the handler that accepts or rejects WebSocket upgrades. */
export function createStreamUpgrade(deps: RouteDeps): (request: FrontRequest) => Promise<UpgradeDecision> {
  const keys = new LiveAuthorization(deps.keys, deps.clock, deps.endings);
  const floods = new Floods(deps.clock);
  const { serve = SERVED_PARTS } = deps;
  const served = DIALECTS.filter(({ path }) => isServed({ method: "GET", path }, serve));
  return async (request) => {
    const requestId = newRequestId();
    const log = deps.log.child({ requestId });
    const known = served.find(({ path }) => path === request.path);
    const dialect = known ?? STREAM_DIALECT;
    const credential = dialect.credential(request);
    const accepted = { protocol: protocolOf(credential), requestId };
    const span = (known === undefined ? NO_TRACER : (deps.tracer ?? NO_TRACER)).begin(
      `GET ${dialect.path}`,
      request.header("traceparent"),
      { "http.request.method": "GET", "http.route": dialect.path, "dauys.request_id": requestId },
    );
    const toRefusal = (error: ErrorMessage) => dialect.refusal(request.query, error, requestId);
    try {
      if (request.malformed !== null) throw new ServiceError("INVALID_REQUEST", request.malformed);
      if (known === undefined) throw new ServiceError("NOT_FOUND", whyNotHere(request.path, serve));
      if (deps.running.isDraining) throw new ServiceError("SHUTTING_DOWN", "the service is stopping");
      const { identity, config } = await inSpan(span.child("admission"), async () => {
        const known = await identify(credential, dialect, deps, keys);
        requireEndpoint(known.identity.endpoints, "GET", dialect.path);
        // Check this first, so that a client without a free slot costs little.
        deps.slots.check(known.identity, dialect.work);
        return known;
      });
      const client = `${identity.organizationId} ${request.remoteAddress}`;
      floods.check(client);
      const begun = begin(dialect, { request, config }, requestId, deps);
      deps.slots.check(identity, dialect.work, begun.sessionCount);
      const mostAtOnce = deps.slots.limitOf(identity, dialect.work);
      const vocabulary = await deps.vocabularies.of(identity.organizationId);
      const caller = { requestId, identity, endpoint: dialect.path, mostAtOnce, vocabulary, span };
      await deps.conversations.requireCredit(caller, dialect.work);
      const open = (socket: FrontSocket) => {
        log.info({ path: dialect.path, organizationId: identity.organizationId }, "live socket opened");
        const flooded = () => {
          floods.note(client);
          log.warn({}, "live client floods");
        };
        return { ...begun.start(caller, { socket, log, toRefusal }, flooded), flooded };
      };
      const { ignored, hasAudioInText, keepsMessages } = begun;
      return {
        ...accept({ ...accepted, ignored }, open),
        floodClosing: floodClosing(begun.toClient),
        ...(hasAudioInText && { hasAudioInText }),
        ...(keepsMessages && { keepsMessages }),
      };
    } catch (thrown) {
      const error = asServiceError(thrown);
      span.end(errorName(error.code));
      log.info({ path: request.path, code: error.code, err: serverFault(error) }, "live socket refused");
      if (credential.type === "header" || credential.type === "key-in-query" || known === undefined)
        return refuse(error, requestId, dialect);
      // Browsers cannot read a failed handshake, so they get the error over an open socket.
      return accept(accepted, (socket) => refuseSocket({ socket, log, toRefusal }, error));
    }
  };
}

/** A dialect's response to a handshake. */
interface Begun {
  /** Number of the socket's sessions, each of which takes a slot. */
  readonly sessionCount: number;
  readonly ignored: readonly string[];
  /** True if text messages may carry audio, so that the front must not count them. */
  readonly hasAudioInText: boolean;
  /** True if each binary message is one packet. */
  readonly keepsMessages: boolean;
  toClient(error: ErrorMessage): readonly WireMessage[];
  /** @param onFlood called if the client sends too many messages that the front could not count */
  start(caller: Caller, parts: SocketParts, onFlood: () => void): SocketEvents;
}

/** Starts the dialect. @throws {ServiceError} as the dialect's `begin` */
function begin(
  dialect: LiveDialect | SpeakDialect,
  handshake: Handshake,
  requestId: string,
  deps: RouteDeps,
): Begun {
  const { hearing, speaking } = deps.conversations.catalog;
  const { query } = handshake.request;
  if (dialect.work === "live") {
    const translation = dialect.begin(query, requestId, hearing, handshake);
    return {
      sessionCount: translation.channelCount ?? 1,
      ignored: translation.ignored,
      hasAudioInText: translation.audioIn !== undefined,
      keepsMessages: translation.announced === "opus",
      toClient: (error) => translation.toClient(error),
      start: (caller, parts, onFlood) => new LiveSocket(parts).start(deps, caller, translation, onFlood),
    };
  }
  const translation = dialect.begin(query, requestId, speaking);
  return {
    sessionCount: 1,
    ignored: translation.ignored,
    hasAudioInText: false,
    keepsMessages: false,
    toClient: (error) => translation.toClient(error),
    start: (caller, parts) => new SpeakSocket(parts).start(deps, caller, translation),
  };
}

function whyNotHere(path: string, serve: readonly ServedPart[]): string {
  const isElsewhere = DIALECTS.some((dialect) => dialect.path === path);
  return isElsewhere ? servedElsewhere({ method: "GET", path }, serve) : noSuchEndpoint("GET", path);
}

/** Returns the subprotocol that the response repeats; null for none. */
function protocolOf(credential: StreamCredential): string | null {
  return "name" in credential ? (credential.name ?? null) : null;
}

/** The client's identity, and the configuration that its client secret grants. */
interface Known {
  readonly identity: KeyIdentity;
  readonly config: RealtimeConfig | null;
}

/** @throws {ServiceError} `INVALID_REQUEST` if the query contains a key, `KEY_INVALID`, `AUTH_UNAVAILABLE` */
async function identify(
  credential: StreamCredential,
  { path }: LiveDialect | SpeakDialect,
  { tokens, secrets }: RouteDeps,
  keys: KeyStore,
): Promise<Known> {
  if (credential.type === "key-in-query") {
    throw new ServiceError(
      "INVALID_REQUEST",
      "an API key must not be sent in the URL; use the Authorization header, the svc-bearer subprotocol, or a token",
    );
  }
  const token = credential.type === "token" ? credential.token : credential.key;
  if (path === "/v1/realtime" && token !== null && isClientSecret(token)) {
    const granted = await secrets.read(token);
    if (granted !== null) return granted;
    throw new ServiceError(
      "KEY_INVALID",
      "the client secret is unknown or expired, or its key was revoked or expired; request a new secret",
    );
  }
  if (credential.type !== "token" && (token === null || !isToken(token))) {
    return { identity: await authenticate(token, keys), config: null };
  }
  const identity = await tokens.redeem(token ?? "");
  if (identity !== null) return { identity, config: null };
  throw new ServiceError(
    "KEY_INVALID",
    "the stream token is unknown, used or older than 60 s, or its key was revoked or expired; request a new token",
  );
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

function refuse(
  error: ServiceError,
  requestId: string,
  dialect: LiveDialect | SpeakDialect,
): UpgradeDecision {
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
    body: JSON.stringify(
      isDeepgramPath(dialect.path) ? deepgramErrorBody(error, requestId) : errorBody(error),
    ),
  };
}

const AUTHORIZED_FOR_MS = 5 * 60_000;
const REMEMBERED_KEYS = 10_000;

/**
 * Caches the identities of live clients for five minutes, by a hash of their keys. Does not cache temporary
 * keys, or keys that have ended in this service.
 */
export class LiveAuthorization implements KeyStore {
  readonly #keys: KeyStore;
  readonly #clock: Clock;
  readonly #endings: KeyEndings;
  readonly #known = new LRUCache<string, { readonly identity: KeyIdentity; readonly untilMs: number }>({
    max: REMEMBERED_KEYS,
  });

  constructor(keys: KeyStore, clock: Clock, endings: KeyEndings) {
    this.#keys = keys;
    this.#clock = clock;
    this.#endings = endings;
  }

  async find(rawKey: string): Promise<KeyIdentity | null> {
    const name = createHash("sha256").update(rawKey).digest("base64");
    const known = this.#known.get(name);
    if (
      known !== undefined &&
      known.untilMs > this.#clock.nowMs() &&
      !this.#endings.hasEnded(known.identity)
    ) {
      return known.identity;
    }
    const identity = await this.#keys.find(rawKey);
    if (identity === null) this.#known.delete(name);
    else if (identity.grant === undefined)
      this.#known.set(name, { identity, untilMs: this.#clock.nowMs() + AUTHORIZED_FOR_MS });
    return identity;
  }
}

/** Floods that a client may cause before it has to wait (`Retry-After`). */
const FLOODS: BucketSize = { burst: 4, perSecond: 2 };
/** Beyond this number, the client whose flood was longest ago is forgotten. */
const MOST_CLIENTS = 10_000;

/**
 * Remembers clients whose live sockets were closed for flooding, and makes them wait after a few times.
 * Otherwise a client that reconnects immediately would get a full budget each time, thirty times a second,
 * and slow down others.
 */
export class Floods {
  readonly #clock: Clock;
  readonly #byClient = new LRUCache<string, TokenBucket>({ max: MOST_CLIENTS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {ServiceError} `TOO_MANY_REQUESTS` if the client must wait */
  check(client: string): void {
    if (this.#byClient.get(client)?.has(1) !== false) return;
    throw new ServiceError(
      "TOO_MANY_REQUESTS",
      "live sockets from this address were closed repeatedly for too many messages; wait a second",
    );
  }

  /** Notes that a socket of `client` was closed for a flood. */
  note(client: string): void {
    const bucket = this.#byClient.get(client) ?? new TokenBucket(FLOODS, () => this.#clock.nowMs());
    bucket.take(1);
    this.#byClient.set(client, bucket);
  }
}
