import { type NumberKind, phoneKind } from "./number-kinds.js";
import type { DigitRun } from "./spoken-digits.js";

/**
 * Numbers that a reading may have in excess of the simplest one: "жиырма үш" hardly ever means 20, 3. Without
 * a cue only a telephone number may have any, because one in ten readings passes a card's check digit by
 * chance. A thousand belongs to the number around it; otherwise every sum would become digits.
 */
export const MOST_EXCESS = 2;
export const MOST_EXCESS_OF_CUED_PHONE = 6;

/** Digits, and the excess numbers in this reading of the words. */
export interface Reading {
  readonly digits: string;
  readonly excess: number;
}

interface State {
  readonly digits: string;
  /** Number of spoken numbers in this reading. */
  readonly cost: number;
  readonly hasThousand: boolean;
}

/**
 * Reads digits from an item on; keeps the simplest reading for each end and state.
 */
export function readingsFrom(
  run: DigitRun,
  first: number,
  kind: NumberKind,
): ReadonlyMap<number, readonly Reading[]> {
  const start: State = { digits: "", cost: 0, hasThousand: false };
  const byEnd = new Map<number, Map<string, State>>([[first, new Map([["", start]])]]);
  const fewest = new Map<number, number>([[first, 0]]);
  const mostExcess = kind === phoneKind ? MOST_EXCESS_OF_CUED_PHONE : MOST_EXCESS;
  let furthest = first;
  for (let at = first; at < run.at.length && at <= furthest; at++) {
    // A plus sign starts a number.
    if (at > first && run.plusAt[at] !== -1) break;
    const [states, fewestHere] = [byEnd.get(at), fewest.get(at)];
    for (const { end, digits, cost, hasThousand, isSum } of fewestHere === undefined ? [] : run.groups[at]!) {
      fewest.set(end, Math.min(fewest.get(end) ?? Number.POSITIVE_INFINITY, fewestHere! + cost));
      if (isSum || (hasThousand && !kind.hasThousands)) continue;
      for (const state of states?.values() ?? []) {
        // The excess of a reading never shrinks.
        if (state.cost - fewestHere! > mostExcess) continue;
        const longer = state.digits + digits;
        if (longer.length > kind.longest || !kind.canStart(longer)) continue;
        const next = {
          digits: longer,
          cost: state.cost + cost,
          hasThousand: state.hasThousand || hasThousand,
        };
        const known = byEnd.get(end) ?? new Map<string, State>();
        const key = kind.stateOf(longer);
        if (next.cost < (known.get(key)?.cost ?? Number.POSITIVE_INFINITY)) known.set(key, next);
        byEnd.set(end, known);
        furthest = Math.max(furthest, end);
      }
    }
  }
  byEnd.delete(first);
  const readings = new Map<number, readonly Reading[]>();
  for (const [end, states] of byEnd) {
    // A reading that splits a number at either end leaves one more.
    const fewestInside = run.fewestBefore.at(-1)! - run.fewestBefore[first]! - run.fewestFrom[end]!;
    const likely = [...states.values()]
      .map(({ digits, cost, hasThousand }) => ({ digits, excess: cost - fewestInside, hasThousand }))
      .filter(({ excess, hasThousand }) => excess <= (hasThousand ? 0 : mostExcess));
    if (likely.length > 0) readings.set(end, likely);
  }
  return readings;
}
