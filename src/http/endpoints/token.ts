import { requireKnownNames } from "../../protocol/known-names.js";
import { admit } from "../admit.js";
import type { Exchange } from "../exchange.js";
import type { Route, RouteDeps } from "../route.js";
import { TOKEN_LIFETIME_S } from "../stream-tokens.js";

/** Short-lived tokens with which a browser opens the live socket. */
export function tokenRoutes(deps: RouteDeps): readonly Route[] {
  return [{ method: "POST", path: "/v1/stream/token", handle: (exchange) => issueToken(exchange, deps) }];
}

async function issueToken(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  requireKnownNames("parameter", exchange.request.query.keys(), []);
  const body = { token: deps.tokens.issue(identity), expires_in: TOKEN_LIFETIME_S };
  await exchange.json(200, body, { "cache-control": "no-store" });
}
