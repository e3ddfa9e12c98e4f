import type { UpgradeDecision } from "../../../core/ports/front.js";
import { newRequestId } from "./request-id.js";

/** The only version of the protocol that was ever published as a standard. */
const VERSION = "13";

/** How a handshake of another version of WebSocket is refused, or null. @see RFC 6455, section 4.4 */
export function refusedVersion(
  version: string | undefined,
): Extract<UpgradeDecision, { type: "refuse" }> | null {
  const given = (version ?? "").trim();
  if (given === VERSION) return null;
  const shown = given === "" ? "none" : JSON.stringify(given.slice(0, 20));
  const detail = `the Sec-WebSocket-Version header must be ${VERSION}, received ${shown}`;
  return {
    type: "refuse",
    status: 426,
    headers: {
      "content-type": "application/json",
      "sec-websocket-version": VERSION,
      "x-request-id": newRequestId(),
      "x-svc-error": "invalid_request",
      "access-control-allow-origin": "*",
    },
    body: JSON.stringify({ detail }),
  };
}
