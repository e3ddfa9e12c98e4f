import { ServiceError } from "../domain/errors.js";
import { nearestName } from "../domain/text/nearest-name.js";

/** What a name stands for, in a message. */
export type NameKind = "parameter" | "field";

const LONGEST_SHOWN = 40;

/**
 * Refuses names that are not known: what is misspelt would do nothing, and nobody would be told.
 *
 * @throws {ServiceError} `UNKNOWN_PARAMETER`, which names the nearest known name, or all of them
 */
export function requireKnownNames(kind: NameKind, names: Iterable<string>, known: readonly string[]): void {
  for (const name of names) {
    if (!known.includes(name)) throw unknownName(kind, name, known);
  }
}

/**
 * Refuses near misses of known names and passes over all others: for paths whose clients were written for somebody else's
 * interface, which has more names than ours.
 *
 * @param ignored names that those clients send, near to one of ours or not
 * @throws {ServiceError} `UNKNOWN_PARAMETER`
 */
export function refuseNearMisses(
  kind: NameKind,
  names: Iterable<string>,
  { known, ignored }: { readonly known: readonly string[]; readonly ignored: readonly string[] },
): void {
  for (const name of names) {
    if (known.includes(name) || ignored.includes(name) || nearestName(name, known) === null) continue;
    throw unknownName(kind, name, known);
  }
}

/** Says which name is not known, and what may have been meant. */
export function unknownNameRule(kind: NameKind, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  if (nearest !== null) return `unknown ${kind} ${shownName(name)}: did you mean ${JSON.stringify(nearest)}?`;
  const names = known.length === 0 ? "there are none here" : `known are ${known.join(", ")}`;
  return `unknown ${kind} ${shownName(name)}: ${names}`;
}

/** A name from outside, fit for a message. */
export function shownName(name: string): string {
  return JSON.stringify(fitName(name));
}

/** The beginning of a name. A key that was put where a name belongs is not repeated. */
function fitName(name: string): string {
  return name.slice(0, LONGEST_SHOWN).replace(/sk-svc-.*/s, "sk-svc-...");
}

function unknownName(kind: NameKind, name: string, known: readonly string[]): ServiceError {
  const param = fitName(name);
  return new ServiceError("UNKNOWN_PARAMETER", unknownNameRule(kind, name, known), { param });
}
