import { everyModel } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { SERVED_PARTS, type ServedPart, servesTask } from "../../../core/domain/served.js";
import { HTTP_OPERATIONS } from "../../../core/protocol/endpoints.js";
import { isServed, servedElsewhere } from "../../../core/protocol/served-endpoints.js";
import type { Handlers, Route, RouteDeps } from "../router.js";
import { accountHandlers, tokenHandlers } from "./account.js";
import { catalogHandlers } from "./catalog.js";
import { listenFileHandlers, speakHandlers } from "./deepgram.js";
import { jobHandlers } from "./jobs.js";
import { realtimeHandlers } from "./realtime.js";
import { referenceRoutes } from "./reference.js";
import { speechHandlers } from "./speech.js";
import { synthesisHandlers } from "./synthesis.js";
import { transcribeHandlers } from "./transcribe.js";
import { transcriptionsHandlers } from "./transcriptions.js";
import { vocabularyHandlers } from "./vocabulary.js";

/**
 * Creates all HTTP routes of the public API. If an operation of the endpoint table has no handler, this does
 * not compile. Routes of parts that another service serves answer 404 with a hint.
 */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const { serve = SERVED_PARTS } = deps;
  const handlers: Handlers = {
    ...catalogHandlers(deps),
    ...synthesisHandlers(deps),
    ...speechHandlers(deps),
    ...transcribeHandlers(deps),
    ...transcriptionsHandlers(deps),
    ...jobHandlers(deps),
    ...listenFileHandlers(deps),
    ...speakHandlers(deps),
    ...tokenHandlers(deps),
    ...realtimeHandlers(deps),
    ...accountHandlers(deps),
    ...vocabularyHandlers(deps),
  };
  const routes = HTTP_OPERATIONS.map((operation) => {
    const [method, path] = operation.split(" ") as [Route["method"], string];
    const isHere = isServed({ method, path }, serve);
    return {
      method,
      path: routePath(path),
      handle: isHere ? handlers[operation] : elsewhere({ method, path }, serve),
    };
  });
  const models = everyModel(deps.conversations.catalog).filter(({ task }) => servesTask(task, serve));
  return [...routes, ...referenceRoutes(models, serve)];
}

/** Converts `/v1/jobs/{id}` to the notation of routes. */
function routePath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function elsewhere(operation: Pick<Route, "method" | "path">, serve: readonly ServedPart[]): Route["handle"] {
  return async () => {
    throw new ServiceError("NOT_FOUND", servedElsewhere(operation, serve));
  };
}
