import { ServiceError } from "../domain/errors.js";

/** What a name stands for, in a message. */
export type NameKind = "parameter" | "field";

/** Shorter pieces of a name are found in too many others. */
const SHORTEST_PIECE = 4;
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

/** The known name that was most likely meant; null when none is near. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const wanted = folded(name);
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const full = folded(candidate);
    const isPiece =
      wanted.length >= SHORTEST_PIECE && (full.startsWith(wanted) || candidate.split("_").includes(wanted));
    const distance = isPiece ? 1 : editDistance(wanted, full);
    if (distance > (isPiece ? 1 : tolerance(full)) || distance >= least) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
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

/** Two names that differ in case and separators alone are the same slip. */
function folded(name: string): string {
  return name
    .slice(0, LONGEST_SHOWN)
    .toLowerCase()
    .replace(/[-_.\s[\]]/g, "");
}

/** How many slips a name of that length may have. */
function tolerance({ length }: string): number {
  return length <= 4 ? 1 : length <= 9 ? 2 : 3;
}

/** Letters to be inserted, left out, changed or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(changed, swapped, last[j]! + 1, row[j - 1]! + 1));
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
