import type { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import { type DeepReadonly, parseWith } from "./fields.js";
import { refuseNearMisses, requireKnownNames } from "./known-names.js";

/** The parameters of a path, and what becomes of names that are not among them. */
export interface Query<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  readonly others: "refused" | OtherNames;
  /** Parameters that may be given several times, where names that are not known are refused. */
  readonly repeatable?: readonly string[];
}

/** For paths that clients of another vendor's interface call: their names are ignored, near misses of ours are not. */
interface OtherNames {
  /** Names that clients are known to send: none of them is taken for a slip. */
  readonly passed: readonly string[];
  /** Names beside the schema's that mean something here. */
  readonly alsoKnown?: readonly string[];
}

/** What an empty query says: most requests have one, and no reading is changed afterwards. */
const EMPTY_READINGS = new WeakMap<Query, unknown>();

/**
 * Reads a query; of a name that may be given twice the last one counts.
 *
 * @throws {ServiceError} `UNKNOWN_PARAMETER`; `INVALID_REQUEST` for a name that is given twice, and as `parseWith`
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

/** Of a name that is given twice, the one that was meant cannot be told. */
function requireOnce(given: URLSearchParams, repeatable: readonly string[]): void {
  for (const name of new Set(given.keys())) {
    if (repeatable.includes(name) || given.getAll(name).length === 1) continue;
    throw new ServiceError("INVALID_REQUEST", `${name} must be given once`, { param: name });
  }
}
