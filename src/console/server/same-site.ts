import type { FrontRequest } from "../../../core/ports/front.js";
import { ConsoleError } from "./console-error.js";

/**
 * Lets only the console's own pages change anything. The cookie is never sent from another site; this is the second lock.
 *
 * @throws {ConsoleError} `cross_site`
 */
export function requireOwnPage(request: FrontRequest): void {
  const site = request.header("sec-fetch-site");
  // The browser's own word, which holds behind any proxy; over plain HTTP browsers leave it out.
  if (site === "same-origin") return;
  if (site === undefined && hostOf(request.header("origin")) === request.header("host")) return;
  throw new ConsoleError("cross_site", "cross-site request rejected; use the pages of the console");
}

function hostOf(origin: string | undefined): string | null {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : null;
}
