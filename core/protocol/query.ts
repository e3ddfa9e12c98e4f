import type { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import { type DeepReadonly, parseWith, refuseNearMisses, requireKnownNames } from "./fields.js";

/** The parameters of a path, and the treatment of other names. */
export interface Query<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  readonly others: "refused" | OtherNames;
  /** Parameters that may be repeated, on paths that reject other names. */
  readonly repeatable?: readonly string[];
}

/**
 * Other names on paths for clients of another vendor: those are ignored, near misses of ours are rejected.
 */
interface OtherNames {
  /** Names that those clients use, which must not be mistaken for typos of ours. */
  readonly passed: readonly string[];
  /** Names with a meaning here that are not in the schema. */
  readonly alsoKnown?: readonly string[];
}

/** Cache of empty queries, the most common ones; parsed data is immutable. */
const EMPTY_READINGS = new WeakMap<Query, unknown>();

/**
 * Parses a query; the last value of a repeatable parameter counts.
 *
 * @throws {ServiceError} `UNKNOWN_PARAMETER`; `INVALID_REQUEST` for repeated parameters, and as `parseWith`
 */
export function readQuery<Schema extends z.ZodObject>(
  query: Query<Schema>,
  given: URLSearchParams,
): DeepReadonly<z.output<Schema>> {
  if (given.size > 0) return readGiven(query, given);
  const known = EMPTY_READINGS.get(query);
  if (known !== undefined) return known as DeepReadonly<z.output<Schema>>;
  const reading = Object.freeze(readGiven(query, given)) as DeepReadonly<z.output<Schema>>;
  EMPTY_READINGS.set(query, reading);
  return reading;
}

function readGiven<Schema extends z.ZodObject>(
  { schema, others, repeatable = [] }: Query<Schema>,
  given: URLSearchParams,
): DeepReadonly<z.output<Schema>> {
  const names = Object.keys(schema.shape);
  if (others === "refused") {
    requireKnownNames("parameter", given.keys(), names);
    requireOnce(given, repeatable);
  } else {
    const known = [...names, ...(others.alsoKnown ?? [])];
    refuseNearMisses("parameter", given.keys(), { known, ignored: others.passed });
  }
  return parseWith(schema, Object.fromEntries(given));
}

/** Rejects repeated parameters, which are ambiguous. */
function requireOnce(given: URLSearchParams, repeatable: readonly string[]): void {
  for (const name of new Set(given.keys())) {
    if (repeatable.includes(name) || given.getAll(name).length === 1) continue;
    throw new ServiceError("INVALID_REQUEST", `${name} must be given once`, { param: name });
  }
}
