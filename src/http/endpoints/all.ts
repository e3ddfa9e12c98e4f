import type { Route, RouteDeps } from "../route.js";
import { catalogRoutes } from "./catalog.js";
import { referenceRoutes } from "./reference.js";
import { speechRoutes } from "./speech.js";
import { synthesisRoutes } from "./synthesis.js";
import { tokenRoutes } from "./token.js";
import { transcribeRoutes } from "./transcribe.js";
import { transcriptionsRoutes } from "./transcriptions.js";

/** Every HTTP route of the public interface. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  return [
    ...catalogRoutes(deps),
    ...synthesisRoutes(deps),
    ...speechRoutes(deps),
    ...transcribeRoutes(deps),
    ...transcriptionsRoutes(deps),
    ...tokenRoutes(deps),
    ...referenceRoutes(),
  ];
}
