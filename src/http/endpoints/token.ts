import { TOKEN_QUERY } from "../../protocol/catalog-schemas.js";
import { readQuery } from "../../protocol/query.js";
import { admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import type { Handlers, RouteDeps } from "../route.js";
import { TOKEN_LIFETIME_S } from "../stream-tokens.js";

/** Short-lived tokens with which a browser opens the live socket. */
export function tokenHandlers(deps: RouteDeps): Handlers<"POST /v1/stream/token"> {
  return { "POST /v1/stream/token": (exchange) => issueToken(exchange, deps) };
}

async function issueToken(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  readQuery(TOKEN_QUERY, exchange.request.query);
  const body = { token: deps.tokens.issue(identity), expires_in: TOKEN_LIFETIME_S };
  await exchange.json(200, body, { "cache-control": "no-store" });
}
