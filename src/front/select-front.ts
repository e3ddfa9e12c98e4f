import { DEFAULT_FRONT_LIMITS, type Front, type FrontHandlers, type FrontLimits } from "../ports/front.js";
import { NodeFront } from "./node/node-front.js";
import { loadUwsBinding } from "./uws/uws-binding.js";
import { UwsFront } from "./uws/uws-front.js";

export type FrontKind = "auto" | "uws" | "node";

/**
 * Makes the front that was asked for; `auto` takes the native one wherever its binding loads.
 *
 * @throws when `uws` is asked for and cannot be had
 */
export function selectFront(
  kind: FrontKind,
  handlers: FrontHandlers,
  limits: FrontLimits = DEFAULT_FRONT_LIMITS,
): Front {
  if (kind === "node") return new NodeFront(handlers, limits);
  const binding = loadUwsBinding();
  if (typeof binding !== "string") return new UwsFront(binding, handlers, limits);
  if (kind === "uws") throw new Error(`Cannot use FRONT=uws: ${binding}`);
  return new NodeFront(handlers, limits);
}
