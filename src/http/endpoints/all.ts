import { everyModel } from "../../domain/catalog/catalog.js";
import { HTTP_OPERATIONS } from "../../protocol/endpoints.js";
import type { Handlers, Route, RouteDeps } from "../route.js";
import { accountHandlers } from "./account.js";
import { catalogHandlers } from "./catalog.js";
import { referenceRoutes } from "./reference.js";
import { speechHandlers } from "./speech.js";
import { synthesisHandlers } from "./synthesis.js";
import { tokenHandlers } from "./token.js";
import { transcribeHandlers } from "./transcribe.js";
import { transcriptionsHandlers } from "./transcriptions.js";

/** Every HTTP route of the public interface: an operation of the endpoint table without a handler does not compile. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const handlers: Handlers = {
    ...catalogHandlers(deps),
    ...synthesisHandlers(deps),
    ...speechHandlers(deps),
    ...transcribeHandlers(deps),
    ...transcriptionsHandlers(deps),
    ...tokenHandlers(deps),
    ...accountHandlers(deps),
  };
  const routes = HTTP_OPERATIONS.map((operation) => {
    const [method, path] = operation.split(" ") as [Route["method"], string];
    return { method, path, handle: handlers[operation] };
  });
  return [...routes, ...referenceRoutes(everyModel(deps.conversations.catalog))];
}
