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

/** The library that a front uses, shown to operators. */
export interface FrontFacts {
  readonly front: Front["kind"];
  readonly package: string;
  readonly version: string;
  /** Packages whose bindings are not used, with reasons; empty if the portable front was requested. */
  readonly unused: readonly string[];
}

/**
 * Creates the requested front. `auto` selects the native one if its binding loads.
 *
 * @throws if `uws` is requested and no binding loads
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
  if (asked === "node" && kind === "node") return { ...node, unused: [] };
  const found = findUws();
  const unused = found.unused.map(toText);
  if (kind === "node" || found.binding === null) return { ...node, unused };
  return { front: "uws", package: found.package, version: found.version, unused };
}

/** Describes the front in one line for the start message. */
export function describeFront({ front, package: name, version, unused }: FrontFacts): string {
  const because = front === "node" && unused.length > 0 ? `; no native one loads: ${unused.join("; ")}` : "";
  return `${name} ${version}${because}`;
}
