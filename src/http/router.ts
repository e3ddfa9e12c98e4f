import { ServiceError } from "../../core/domain/errors.js";
import type { ServedPart } from "../../core/domain/served.js";
import type { Log } from "../../core/observe/log.js";
import type { AccountReports } from "../../core/ports/account-reports.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Conversations } from "../../core/ports/conversations.js";
import type { Idempotency } from "../../core/ports/idempotency.js";
import type { Jobs, WebhookSender } from "../../core/ports/jobs.js";
import type { KeyStore } from "../../core/ports/key-store.js";
import type { Tracer } from "../../core/ports/span.js";
import type { SpoolRoom } from "../../core/ports/spool-room.js";
import type { StreamDecoders } from "../../core/ports/stream-decoder.js";
import type { UrlSource } from "../../core/ports/url-source.js";
import type { HttpOperation } from "../../core/protocol/endpoints.js";
import type { ClientSecrets } from "./client-secrets.js";
import type { Exchange } from "./exchange.js";
import type { AnswerFiles } from "./kept-answers.js";
import type { KeyEndings } from "./key-endings.js";
import type { OrganizationSlots, RunningWork, SpeechBudget } from "./running-work.js";
import type { StreamTokens } from "./signed-credentials.js";
import type { Vocabularies } from "./vocabularies.js";

/**
 * A route. GET also answers HEAD. `/*` at the end of a path matches everything below it, `:name` one segment.
 */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Whether to omit CORS headers, so that pages of other origins cannot read the response. */
  readonly isSameOrigin?: boolean;
  readonly handle: Handler;
}

/** Ends the exchange, or throws a `ServiceError` that becomes the response. */
type Handler = (exchange: Exchange, params: PathParams) => Promise<void>;

export type PathParams = Readonly<Record<string, string>>;

/** Handlers for operations of the endpoint table. */
export type Handlers<Operation extends HttpOperation = HttpOperation> = Readonly<Record<Operation, Handler>>;

export interface RouteDeps {
  /** Parts to serve; all of them if absent. */
  readonly serve?: readonly ServedPart[];
  readonly conversations: Conversations;
  /** Decoders of live WebM, Ogg and Opus. If absent, such audio is rejected. */
  readonly decoders?: StreamDecoders | null;
  readonly keys: KeyStore;
  readonly endings: KeyEndings;
  readonly log: Log;
  readonly tracer?: Tracer;
  readonly clock: Clock;
  readonly running: RunningWork;
  readonly tokens: StreamTokens;
  readonly secrets: ClientSecrets;
  readonly slots: OrganizationSlots;
  readonly vocabularies: Vocabularies;
  /** An existing folder for uploads. They are deleted when their requests end. */
  readonly spoolDir: string;
  /** Limits the disk space of uploads; unlimited if absent. */
  readonly room?: SpoolRoom;
  readonly speechBudget: SpeechBudget;
  readonly idempotency: Idempotency;
  readonly reports: AccountReports;
  readonly answers: AnswerFiles;
  readonly urls: UrlSource;
  readonly jobs: Jobs;
  readonly webhooks: WebhookSender;
  /** Returns whether the service can work, for `/ready`. */
  readonly isReady: () => boolean | Promise<boolean>;
}

export interface RouteMatch {
  /** Null if the path does not support the method. */
  readonly route: Route | null;
  readonly params: PathParams;
  /** All methods that the path supports, for the `Allow` header. */
  readonly methods: readonly string[];
  readonly isSameOrigin: boolean;
}

type Methods = Map<string, Route>;

/** Finds routes by exact path first, then by paths with `:name` segments, then by the longest prefix. */
export class Router {
  readonly #exact = new Map<string, Methods>();
  readonly #patterns = new Map<string, { readonly segments: readonly string[]; readonly methods: Methods }>();
  readonly #prefixes = new Map<string, Methods>();
  /** Matches of exact paths by method and path, so that most requests cost one look-up. */
  readonly #known = new Map<string, RouteMatch>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const methods = this.#methodsOf(route.path);
      if (methods.has(route.method)) throw new Error(`Cannot serve ${route.method} ${route.path} twice`);
      methods.set(route.method, route);
    }
    for (const [path, own] of this.#exact)
      for (const method of [...own.keys(), "HEAD", "OPTIONS"])
        this.#known.set(`${method} ${path}`, this.#search(method, path));
  }

  /** @throws {ServiceError} `NOT_FOUND` */
  match(method: string, path: string): RouteMatch {
    return this.#known.get(`${method} ${path}`) ?? this.#search(method, path);
  }

  #search(method: string, path: string): RouteMatch {
    const segments = path.split("/");
    const found = [this.#exact.get(path), this.#byPattern(segments), this.#byPrefix(path)].filter(
      (methods) => methods !== undefined,
    );
    if (found.length === 0) throw new ServiceError("NOT_FOUND", noSuchEndpoint(method, path));
    const names = new Set(found.flatMap((methods) => [...methods.keys()]));
    if (names.has("GET")) names.add("HEAD");
    names.add("OPTIONS");
    const wanted = method === "HEAD" ? "GET" : method;
    const route = found.find((methods) => methods.has(wanted))?.get(wanted) ?? null;
    return {
      route,
      params: route === null ? {} : paramsOf(route.path.split("/"), segments),
      methods: [...names],
      isSameOrigin: found.some((methods) => [...methods.values()].some((one) => one.isSameOrigin === true)),
    };
  }

  #methodsOf(path: string): Methods {
    if (path.endsWith("/*")) return entryOf(this.#prefixes, path.slice(0, -1), () => new Map());
    const segments = path.split("/");
    if (!segments.some(isParam)) return entryOf(this.#exact, path, () => new Map());
    return entryOf(this.#patterns, path, () => ({ segments, methods: new Map() })).methods;
  }

  #byPattern(segments: readonly string[]): Methods | undefined {
    for (const pattern of this.#patterns.values())
      if (fits(pattern.segments, segments)) return pattern.methods;
    return undefined;
  }

  #byPrefix(path: string): Methods | undefined {
    let found: { readonly prefix: string; readonly methods: Methods } | undefined;
    for (const [prefix, methods] of this.#prefixes) {
      if (path.startsWith(prefix) && prefix.length > (found?.prefix.length ?? 0)) found = { prefix, methods };
    }
    return found?.methods;
  }
}

export function noSuchEndpoint(method: string, path: string): string {
  return `no such endpoint: ${method} ${path.slice(0, 100)}`;
}

function entryOf<T>(table: Map<string, T>, key: string, make: () => T): T {
  const entry = table.get(key) ?? make();
  table.set(key, entry);
  return entry;
}

function isParam(segment: string): boolean {
  return segment.startsWith(":");
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => isParam(part) || part === segments[index])
  );
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): PathParams {
  const params = pattern.map((part, index) => [part.slice(1), segments[index] ?? ""] as const);
  return Object.fromEntries(params.filter((_param, index) => isParam(pattern[index]!)));
}
