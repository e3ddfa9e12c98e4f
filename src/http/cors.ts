import type { FrontRequest } from "../../core/ports/front.js";
import { ANSWER_HEADERS, IDEMPOTENCY } from "../../core/protocol/endpoints.js";

const EXPOSED = [
  ...Object.keys(ANSWER_HEADERS),
  ...Object.keys(IDEMPOTENCY.answerHeaders),
  ...["X-Svc-Error", "x-request-id", "x-should-retry", "Retry-After"],
].join(", ");

/** On every answer: browsers of any origin may call the API, without cookies. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": EXPOSED,
};

/** Answer to an OPTIONS request. The requested headers are reflected, since `*` does not cover Authorization. */
export function preflightHeaders(request: FrontRequest, methods: readonly string[]): Record<string, string> {
  const requested = request.header("access-control-request-headers") ?? "";
  const allowed = requested.split(",").map((name) => name.trim().toLowerCase());
  const names = allowed.filter((name) => /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)).slice(0, 50);
  return {
    allow: methods.join(", "),
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers":
      names.length > 0
        ? names.join(", ")
        : `authorization, content-type, ${IDEMPOTENCY.header.toLowerCase()}`,
    "access-control-max-age": "86400",
    vary: "access-control-request-headers",
  };
}
