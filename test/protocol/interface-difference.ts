import type { Shape } from "./interface-shape.js";

/** How one version of the interface differs from another. */
export interface InterfaceDifference {
  /** One line for each breaking change, which says what is missing, different or newly required. */
  readonly broken: readonly string[];
  /** The paths of everything that is new. */
  readonly added: readonly string[];
}

/** The keywords of a JSON schema that restrict values. A new one rejects what was accepted before. */
const RESTRICTIONS = new Set([
  ...["required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"],
  ...["minItems", "maxItems", "pattern", "format", "enum", "const", "type", "additionalProperties"],
]);
/** Objects whose keys are names of the interface: `format` is an option there, or a field. */
const NAME_MAPS = new Set(["properties", "options", "schemas", "headers", "responses", "messages"]);
const SEPARATOR = " › ";

/** Compares two versions of the interface. Order does not matter. */
export function compareInterfaces(before: Shape, now: Shape): InterfaceDifference {
  const [old, fresh] = [leavesOf(before), leavesOf(now)];
  const removed = topmost(old, fresh).map((path) => `removed: ${path}`);
  const changed = [...old].flatMap(([path, value]) => {
    const other = fresh.get(path);
    const isSame = other === undefined || other === value || isWider(path, value, other);
    return isSame ? [] : [`changed: ${path}: ${value} → ${other}`];
  });
  const added = topmost(fresh, old);
  const isBroken = (path: string) =>
    isRestriction(path) || fresh.get(`${path}${SEPARATOR}required`) === "true";
  return {
    broken: [...removed, ...changed, ...added.filter(isBroken).map((path) => `required now: ${path}`)],
    added: added.filter((path) => !isBroken(path)),
  };
}

/** Returns whether a query parameter now accepts higher numbers and everything that it accepted before. */
function isWider(path: string, value: string, other: string): boolean {
  const keys = path.split(SEPARATOR);
  const isOfQuery = keys.some((key) => key === "query" || key.startsWith("query "));
  return isOfQuery && keys.at(-1) === "maximum" && Number(other) > Number(value);
}

/** Returns whether a new path in an existing object rejects accepted input or requires an optional field. */
function isRestriction(path: string): boolean {
  const [beforeList = "", list = "", last = ""] = path.split(SEPARATOR).slice(-3);
  if (list === "required") return !NAME_MAPS.has(beforeList);
  return RESTRICTIONS.has(last) && !NAME_MAPS.has(list);
}

/** The paths of `these` that `others` lack, without paths below a listed one. */
function topmost(these: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): readonly string[] {
  const missing = [...these.keys()].filter((path) => !others.has(path));
  const known = new Set(missing);
  return missing.filter((path) => !known.has(path.split(SEPARATOR).slice(0, -1).join(SEPARATOR)));
}

/**
 * Returns every object, list and value by its path. The items of a list are keyed by identity, so their order
 * does not matter.
 */
function leavesOf(shape: Shape, path = "", leaves = new Map<string, string>()): Map<string, string> {
  if (typeof shape !== "object" || shape === null) return leaves.set(path, JSON.stringify(shape));
  leaves.set(path, Array.isArray(shape) ? "a list" : "an object");
  const entries = Array.isArray(shape) ? identified(shape) : Object.entries(shape);
  for (const [key, value] of entries)
    leavesOf(value, path === "" ? key : `${path}${SEPARATOR}${key}`, leaves);
  return leaves;
}

/** Returns the items of a list by their identities. If several share one, all but the first are numbered. */
function identified(items: readonly Shape[]): readonly (readonly [identity: string, item: Shape])[] {
  const counts = new Map<string, number>();
  return items.map((item) => {
    const identity = identityOf(item);
    const count = (counts.get(identity) ?? 0) + 1;
    counts.set(identity, count);
    return [count === 1 ? identity : `${identity} #${count}`, item];
  });
}

/**
 * Names an item: a parameter by its place and name, a message by its type, others by reference, code, type or
 * content.
 */
function identityOf(item: Shape): string {
  if (!isObject(item)) return JSON.stringify(item);
  const { name, in: place, $ref, code, type, properties } = item;
  if (name !== undefined) return place === undefined ? `${name}` : `${place} ${name}`;
  const messageType =
    isObject(properties) && isObject(properties["type"]) ? properties["type"]["const"] : undefined;
  return `${$ref ?? code ?? messageType ?? type ?? JSON.stringify(item)}`;
}

function isObject(shape: Shape | undefined): shape is { readonly [key: string]: Shape } {
  return typeof shape === "object" && shape !== null && !Array.isArray(shape);
}
