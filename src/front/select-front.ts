import {
  DEFAULT_FRONT_LIMITS,
  type Front,
  type FrontHandlers,
  type FrontLimits,
} from "../../core/ports/front.js";
import { NodeFront } from "./node/node-front.js";
import { findUws, loadUwsBinding, toText } from "./uws/load-binding.js";
import { UwsFront } from "./uws/uws-front.js";

export type FrontKind = "auto" | "uws" | "node";

/** What a front runs on, for operators. */
export interface FrontFacts {
  readonly front: Front["kind"];
  /** Of the binding of the native front, of Node for the portable one. */
  readonly package: string;
  readonly version: string;
  /** Packages with bindings that are not used, each with the reason; none where the portable front was asked for. */
  readonly passedBy: readonly string[];
}

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

export function frontFacts(asked: FrontKind, { kind }: Pick<Front, "kind">): FrontFacts {
  const node = { front: "node", package: "node:http", version: process.versions.node } as const;
  if (asked === "node" && kind === "node") return { ...node, passedBy: [] };
  const found = findUws();
  const passedBy = found.passedBy.map(toText);
  if (kind === "node" || found.binding === null) return { ...node, passedBy };
  return { front: "uws", package: found.package, version: found.version, passedBy };
}

/** One line for people. */
export function describeFront({ front, package: name, version, passedBy }: FrontFacts): string {
  const because =
    front === "node" && passedBy.length > 0 ? `; no native one loads: ${passedBy.join("; ")}` : "";
  return `${name} ${version}${because}`;
}
