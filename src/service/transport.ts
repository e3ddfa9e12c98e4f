import { ServiceError } from "../../core/domain/errors.js";
import { SERVED_PARTS, type ServedPart } from "../../core/domain/served.js";
import { CONCURRENCY_LIMITS, type ConcurrencyLimits } from "../../core/domain/usage/concurrency.js";
import { Metrics } from "../../core/observe/metrics.js";
import { systemClock } from "../../core/ports/clock.js";
import type {
  Front,
  FrontHandlers,
  FrontLimits,
  FrontRequest,
  FrontResponse,
} from "../../core/ports/front.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";
import { NO_TRACER, type Span, type Tracer } from "../../core/ports/span.js";
import type { VocabularyStore } from "../../core/ports/vocabulary-store.js";
import { isServed, servedElsewhere } from "../../core/protocol/served-endpoints.js";
import { type FrontFacts, type FrontKind, frontFacts, selectFront } from "../front/select-front.js";
import { newRequestId } from "../front/shared/request-head.js";
import { createRoutes } from "../http/endpoints/all.js";
import { Exchange, preflightHeaders } from "../http/exchange.js";
import { KeyEndings } from "../http/key-endings.js";
import { type Route, type RouteDeps, Router } from "../http/router.js";
import { OrganizationSlots, RunningWork } from "../http/running-work.js";
import { Vocabularies } from "../http/vocabularies.js";
import { createStreamUpgrade, DIALECTS } from "../live/upgrade.js";

export interface TransportDeps
  extends Omit<RouteDeps, "running" | "slots" | "clock" | "endings" | "vocabularies"> {
  readonly endings?: KeyEndings;
  readonly front: FrontKind;
  readonly vocabularies: VocabularyStore;
  /** Creates the front; tests replace it. */
  readonly makeFront?: (handlers: FrontHandlers) => Front;
  readonly clock?: RouteDeps["clock"];
  readonly limits?: FrontLimits;
  readonly metrics?: Metrics;
  /** Returns an organization's concurrency limits; by default those of the paid tier. */
  readonly limitsOf?: (identity: KeyIdentity) => ConcurrencyLimits;
  /** Additional routes, such as the console's. */
  readonly extraRoutes?: readonly Route[];
}

export interface Transport {
  readonly front: FrontFacts;
  /** Starts to listen. Returns the port in use. @throws if the port is taken */
  listen(host: string, port: number): Promise<number>;
  /** Rejects new work (503), notifies live clients, and lets running work finish until the deadline. */
  drain(deadlineMs: number): Promise<void>;
  /** Stops listening, and cuts the remaining connections. */
  close(): Promise<void>;
}

/** Only requests to the API are traced, not probes and pages. */
const TRACED_PATHS = "/v1/";

/** Time that `close` waits for responses in flight. */
const CLOSE_GRACE_MS = 500;

/** @throws if `front` is `uws` and no binding loads */
export function createTransport(deps: TransportDeps): Transport {
  const running = new RunningWork();
  const clock = deps.clock ?? systemClock;
  const slots = new OrganizationSlots(deps.limitsOf ?? (() => CONCURRENCY_LIMITS.paid));
  const metrics = deps.metrics ?? new Metrics({ withProcess: false });
  const endings = deps.endings ?? new KeyEndings();
  const vocabularies = new Vocabularies({ store: deps.vocabularies, clock, log: deps.log });
  const routeDeps: RouteDeps = { ...deps, running, clock, slots, endings, vocabularies };
  const router = new Router([
    ...createRoutes(routeDeps),
    ...(deps.extraRoutes ?? []),
    ...upgradeHints(deps.serve ?? SERVED_PARTS),
  ]);
  const handlers: FrontHandlers = {
    request: (request, response) => serve(request, response, { router, deps: routeDeps, metrics }),
    upgrade: createStreamUpgrade(routeDeps),
    failed: (error) => deps.log.error({ err: error }, "front failed"),
  };
  const front = deps.makeFront?.(handlers) ?? selectFront(deps.front, handlers, deps.limits);
  const facts = frontFacts(deps.front, front);
  deps.log.info(facts, "front selected");
  metrics.frontInfo.set({ front: facts.front, package: facts.package, version: facts.version }, 1);
  return {
    front: facts,
    listen: (host, port) => front.listen(host, port),
    drain: (deadlineMs) => running.drain(deadlineMs),
    close: () => front.close(CLOSE_GRACE_MS),
  };
}

async function serve(
  request: FrontRequest,
  response: FrontResponse,
  { router, deps, metrics }: { router: Router; deps: RouteDeps; metrics: Metrics },
): Promise<void> {
  const requestId = newRequestId();
  const log = deps.log.child({ requestId });
  const startedAtMs = deps.clock.nowMs();
  const exchange = new Exchange(request, response, requestId, log);
  try {
    await answer(exchange, router, deps.tracer ?? NO_TRACER);
  } catch (thrown) {
    await exchange.fail(thrown);
  } finally {
    exchange.ended();
  }
  exchange.span.set({ "http.response.status_code": exchange.status ?? 0 });
  exchange.span.end(exchange.errorName ?? (request.signal.aborted ? "client_left" : null));
  const { method, path } = request;
  const durationMs = deps.clock.nowMs() - startedAtMs;
  count(exchange, durationMs, metrics);
  const outcome = { status: exchange.status, durationMs: Math.round(durationMs) };
  log.info({ method, path, ...outcome, isAborted: request.signal.aborted }, "request served");
}

/** Unknown paths and methods share one label, so that clients cannot create new ones. */
function count(exchange: Exchange, durationMs: number, metrics: Metrics): void {
  const { route, status, errorName, request } = exchange;
  const method = route === null ? "other" : request.method;
  metrics.httpRequests.inc({ method, route: route ?? "other", status: status ?? "none" });
  metrics.httpRequestMs.observe({ route: route ?? "other" }, durationMs);
  if (errorName !== null) metrics.errors.inc({ code: errorName });
}

async function answer(exchange: Exchange, router: Router, tracer: Tracer): Promise<void> {
  const { request } = exchange;
  if (request.malformed !== null) throw new ServiceError("INVALID_REQUEST", request.malformed);
  const { route, params, methods, isSameOrigin } = router.match(request.method, request.path);
  exchange.isSameOrigin = isSameOrigin;
  exchange.route = route?.path ?? null;
  if (route !== null) {
    if (route.path.startsWith(TRACED_PATHS)) exchange.span = startSpan(exchange, route, tracer);
    return route.handle(exchange, params);
  }
  if (request.method === "OPTIONS") {
    exchange.start(204, isSameOrigin ? { allow: methods.join(", ") } : preflightHeaders(request, methods));
    return exchange.end();
  }
  const error = new ServiceError(
    "METHOD_NOT_ALLOWED",
    `the method must be one of ${methods.join(", ")}, received ${request.method}`,
  );
  return exchange.fail(error, { allow: methods.join(", ") });
}

/** Starts the request's span, as part of the client's trace if it sends one. */
function startSpan({ request, requestId }: Exchange, { path }: Route, tracer: Tracer): Span {
  return tracer.begin(`${request.method} ${path}`, request.header("traceparent"), {
    "http.request.method": request.method,
    "http.route": path,
    "dauys.request_id": requestId,
  });
}

/** Routes that answer requests for a live path that do not request an upgrade. */
function upgradeHints(serve: readonly ServedPart[]): Route[] {
  return DIALECTS.map(({ path }) => ({
    method: "GET",
    path,
    handle: async () => {
      const operation = { method: "GET", path };
      if (!isServed(operation, serve)) {
        throw new ServiceError("NOT_FOUND", servedElsewhere(operation, serve));
      }
      throw new ServiceError("INVALID_REQUEST", "this endpoint is a WebSocket; send an upgrade request");
    },
  }));
}
