import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import { readQuery } from "../../../core/protocol/query.js";
import { type AdmitDeps, admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import type { Handlers, RouteDeps } from "../route.js";
import { TOKEN_LIFETIME_S } from "../signed-credentials.js";

type TokenDeps = AdmitDeps & Pick<RouteDeps, "tokens">;

/** Issues short-lived tokens with which a browser opens a live socket. */
export function tokenHandlers(deps: TokenDeps): Handlers<"POST /v1/stream/token"> {
  return { "POST /v1/stream/token": (exchange) => issueToken(exchange, deps) };
}

async function issueToken(exchange: Exchange, deps: TokenDeps): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  readQuery(NO_QUERY, exchange.request.query);
  const body = { token: deps.tokens.issue(identity), expires_in: TOKEN_LIFETIME_S };
  await exchange.json(200, body, { "cache-control": "no-store" });
}
