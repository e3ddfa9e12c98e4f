import type { Beat, Versions } from "./beats.js";

/** What a front wants of a node. */
export interface Wanted {
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  readonly manifest: string;
  /** Versions of lanes that it speaks. */
  readonly protocol: Versions;
  /** A node that is not meant. */
  readonly except?: string;
  /** Sessions that the node must have room for; 1 when absent. */
  readonly room?: number;
}

/**
 * Pure: the node for another lane, or null when none fits. Nodes of the front's zone come before others, those with the
 * fewest lanes of this front before those with more; of two of the rest, taken at random, the one with the smaller share of
 * its room taken. Two choices suffice against the herd: all fronts hear the same beats.
 *
 * @param lanesOn how many lanes the front has on a node
 * @param random from 0 to 1, exclusive
 */
export function placeLane(
  beats: readonly Beat[],
  wanted: Wanted,
  lanesOn: (node: string) => number,
  random: () => number,
): Beat | null {
  const reachable = reachableOf(beats, wanted);
  const fewest = Math.min(...reachable.map(({ node }) => lanesOn(node)));
  const rest = reachable.filter(({ node }) => lanesOn(node) === fewest);
  const pick = () => rest.splice(Math.floor(random() * rest.length), 1)[0] ?? null;
  const [one, other] = [pick(), pick()];
  if (one === null || other === null) return one;
  return shareOf(other) < shareOf(one) ? other : one;
}

/**
 * Pure: whether a lane would stand better on another node than on its own: one of the front's zone where its own is of another,
 * or one with at least two lanes of the front fewer, so that it is not moved back.
 */
export function isBetterElsewhere(
  beats: readonly Beat[],
  wanted: Wanted,
  lanesOn: (node: string) => number,
  own: Pick<Beat, "node" | "zone">,
): boolean {
  const reachable = reachableOf(beats, wanted);
  if (own.zone !== wanted.zone && reachable.some(({ zone }) => zone === wanted.zone)) return true;
  const most = lanesOn(own.node) - 2;
  return reachable.some(({ node, zone }) => zone === own.zone && lanesOn(node) <= most);
}

/** Pure: the latest version that both speak; null when there is none. */
export function commonVersion(one: Versions, other: Versions): number | null {
  const version = Math.min(one.most, other.most);
  return version >= one.least && version >= other.least ? version : null;
}

/** Nodes that can take a lane: those of the front's zone, or else all. */
function reachableOf(beats: readonly Beat[], wanted: Wanted): readonly Beat[] {
  const fitting = beats.filter((beat) => fits(beat, wanted));
  const near = fitting.filter(({ zone }) => zone === wanted.zone);
  return near.length > 0 ? near : fitting;
}

function fits(beat: Beat, { cell, model, manifest, protocol, except, room = 1 }: Wanted): boolean {
  return (
    beat.node !== except &&
    beat.cell === cell &&
    beat.model === model &&
    beat.manifest === manifest &&
    commonVersion(beat.protocol, protocol) !== null &&
    !beat.isDraining &&
    beat.used + room <= beat.capacity
  );
}

function shareOf({ used, capacity }: Beat): number {
  return used / capacity;
}
