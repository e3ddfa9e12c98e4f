import type { WrittenVocabulary } from "../../../core/domain/vocabulary.js";
import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import { readQuery } from "../../../core/protocol/query.js";
import { parseVocabulary } from "../../../core/protocol/vocabulary.js";
import { type AdmitDeps, admit } from "../admit.js";
import { readJson } from "../read-body.js";
import type { Handlers, RouteDeps } from "../router.js";

const NO_STORE = { "cache-control": "no-store" };

/** Words that apply to all requests of the key's organization. */
export function vocabularyHandlers(
  deps: AdmitDeps & Pick<RouteDeps, "conversations">,
): Handlers<"GET /v1/vocabulary" | "PUT /v1/vocabulary"> {
  const { vocabularies } = deps;
  return {
    "GET /v1/vocabulary": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      readQuery(NO_QUERY, exchange.request.query);
      const body: WrittenVocabulary = await vocabularies.read(identity.organizationId);
      await exchange.json(200, body, NO_STORE);
    },
    "PUT /v1/vocabulary": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      readQuery(NO_QUERY, exchange.request.query);
      const { all } = deps.conversations.catalog.hearing;
      const body = parseVocabulary(await readJson(exchange.request), all);
      await vocabularies.replace(identity.organizationId, body);
      await exchange.json(200, body, NO_STORE);
    },
  };
}
