import { asServiceError, type ErrorCode } from "../../../core/domain/errors.js";
import type { FrontRequest } from "../../../core/ports/front.js";
import { errorHeaders, HTTP_STATUS } from "../../../core/protocol/error-status.js";
import type { Exchange } from "../../http/exchange.js";
import { readJson } from "../../http/read-body.js";
import type { PathParams, Route } from "../../http/router.js";
import { accountRoutes } from "./account-routes.js";
import { CONSOLE_ERRORS, ConsoleError } from "./console-error.js";
import { creditRoutes } from "./credit-routes.js";
import { keyRoutes } from "./key-routes.js";
import { memberRoutes } from "./member-routes.js";
import {
  API,
  type ConsoleAnswer,
  type ConsoleDeps,
  type ConsoleRoute,
  noOrganization,
  type OpenCall,
  ownersOnly,
} from "./route.js";
import { serviceRoutes } from "./service-routes.js";
import { sessionRoutes } from "./session-routes.js";
import { sessionOf } from "./sessions.js";

const METHODS = ["GET", "POST", "PATCH", "DELETE"] as const;
/** Enough for an address, a password and a name, even if every character is escaped. */
const LONGEST_BODY_BYTES = 8 * 1024;
const PRIVATE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Lists every route of the console's API. */
export function consoleRoutes(deps: ConsoleDeps): readonly ConsoleRoute[] {
  return [
    ...accountRoutes(deps),
    ...sessionRoutes(),
    ...keyRoutes(),
    ...creditRoutes(deps),
    ...memberRoutes(deps),
    ...serviceRoutes(deps),
  ];
}

/** Converts the console's routes into routes of the service. */
export function consoleApi(deps: ConsoleDeps): readonly Route[] {
  const rows = consoleRoutes(deps).map((row) =>
    route(row.method, row.path, async (exchange, params) => {
      if (row.method !== "GET") requireOwnPage(exchange.request);
      return run(row, openCall(exchange, deps, params));
    }),
  );
  const others = METHODS.map((method) =>
    route(method, `${API}/*`, async ({ request }) => {
      throw new ConsoleError("not_found", `no such endpoint: ${method} ${request.path}`);
    }),
  );
  return [...rows, ...others];
}

function route(
  method: Route["method"],
  path: string,
  answer: (exchange: Exchange, params: PathParams) => Promise<ConsoleAnswer | null>,
): Route {
  return {
    method,
    path,
    isSameOrigin: true,
    handle: async (exchange, params) => {
      try {
        const answered = await answer(exchange, params);
        if (answered === null) return;
        await exchange.json(answered.status ?? 200, answered.body, { ...PRIVATE, ...answered.headers });
      } catch (thrown) {
        await sendError(exchange, thrown);
      }
    },
  };
}

async function run(row: ConsoleRoute, call: OpenCall): Promise<ConsoleAnswer | null> {
  if (row.access === "open") return row.handle(call);
  const { users, members } = call.deps.store;
  const session = sessionOf(call.exchange.request);
  const user = session === null ? null : await users.findSession(session);
  if (session === null || user === null)
    throw new ConsoleError("not_signed_in", "not signed in; sign in first");
  const userCall = { ...call, user, session };
  if (row.access === "user") return row.handle(userCall);
  const organizationId = call.param("organization");
  const role = await members.roleOf(organizationId, user.id);
  if (role === null) throw noOrganization();
  if (row.access === "owner" && role !== "owner") throw ownersOnly();
  return row.handle({ ...userCall, organizationId, role });
}

function openCall(exchange: Exchange, deps: ConsoleDeps, params: PathParams): OpenCall {
  return {
    exchange,
    deps,
    param: (name) => params[name] ?? "",
    body: () => readJson(exchange.request, LONGEST_BODY_BYTES),
  };
}

async function sendError(exchange: Exchange, thrown: unknown): Promise<void> {
  if (thrown instanceof ConsoleError) {
    const { code, message, retryAfterSeconds } = thrown;
    const retry = retryAfterSeconds === null ? {} : { "retry-after": String(retryAfterSeconds) };
    return exchange.json(CONSOLE_ERRORS[code], { code, detail: message }, { ...PRIVATE, ...retry });
  }
  const error = asServiceError(thrown);
  if (error.code !== "INTERNAL") {
    if (exchange.isOver || exchange.status !== null) return exchange.fail(thrown);
    const body = { code: "invalid_request", detail: error.message };
    return exchange.json(HTTP_STATUS[error.code], body, { ...PRIVATE, ...connectionHeader(error.code) });
  }
  exchange.log.error({ err: thrown }, "console request failed");
  if (exchange.isOver || exchange.status !== null) return exchange.fail(thrown);
  const body = { code: "unavailable", detail: "the console is not available; try again in a moment" };
  return exchange.json(CONSOLE_ERRORS.unavailable, body, PRIVATE);
}

/** Closes the connection if a body arrived too slowly, because the rest of it could take hours. */
function connectionHeader(code: ErrorCode): Record<string, string> {
  const { connection } = errorHeaders(code);
  return connection === undefined ? {} : { connection };
}

/**
 * Rejects changes from other sites. Browsers do not send the cookie from there either; this is a second
 * check.
 *
 * @throws {ConsoleError} `cross_site`
 */
function requireOwnPage(request: FrontRequest): void {
  const site = request.header("sec-fetch-site");
  if (site === "same-origin") return;
  // Browsers omit the header over plain HTTP.
  if (site === undefined && hostOf(request.header("origin")) === request.header("host")) return;
  throw new ConsoleError("cross_site", "cross-site request rejected; use the pages of the console");
}

function hostOf(origin: string | undefined): string | null {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : null;
}
