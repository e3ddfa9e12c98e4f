import { everyModel } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { SERVED_PARTS, type ServedPart, servesTask } from "../../../core/domain/served.js";
import { HTTP_OPERATIONS } from "../../../core/protocol/endpoints.js";
import { isServed, servedElsewhere } from "../../../core/protocol/served-endpoints.js";
import type { Handlers, Route, RouteDeps } from "../router.js";
import { accountHandlers, tokenHandlers } from "./account.js";
import { catalogHandlers } from "./catalog.js";
import { referenceRoutes } from "./reference.js";
import { speechHandlers, synthesisHandlers } from "./synthesis.js";
import { transcribeHandlers } from "./transcribe.js";
import { transcriptionsHandlers } from "./transcriptions.js";

/**
 * Creates all HTTP routes of the public API. An operation of the endpoint table without a handler does not
 * compile; routes of parts that another service serves answer 404 with a hint.
 */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const { serve = SERVED_PARTS } = deps;
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
    return { method, path, handle: isServed(path, serve) ? handlers[operation] : elsewhere(path, serve) };
  });
  const models = everyModel(deps.conversations.catalog).filter(({ task }) => servesTask(task, serve));
  return [...routes, ...referenceRoutes(models, serve)];
}

function elsewhere(path: string, serve: readonly ServedPart[]): Route["handle"] {
  return async () => {
    throw new ServiceError("NOT_FOUND", servedElsewhere(path, serve));
  };
}
