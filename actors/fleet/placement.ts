import type { Beat } from "./beats.js";

/** What a front wants of a node. */
export interface Wanted {
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  readonly manifest: string;
  /** The version of lanes that it speaks. */
  readonly protocol: number;
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
  const fitting = beats.filter((beat) => fits(beat, wanted));
  const near = fitting.filter(({ zone }) => zone === wanted.zone);
  const reachable = near.length > 0 ? near : fitting;
  const fewest = Math.min(...reachable.map(({ node }) => lanesOn(node)));
  const rest = reachable.filter(({ node }) => lanesOn(node) === fewest);
  const pick = () => rest.splice(Math.floor(random() * rest.length), 1)[0] ?? null;
  const [one, other] = [pick(), pick()];
  if (one === null || other === null) return one;
  return shareOf(other) < shareOf(one) ? other : one;
}

function fits(beat: Beat, { cell, model, manifest, protocol }: Wanted): boolean {
  return (
    beat.cell === cell &&
    beat.model === model &&
    beat.manifest === manifest &&
    beat.protocol.least <= protocol &&
    protocol <= beat.protocol.most &&
    !beat.isDraining &&
    beat.used < beat.capacity
  );
}

function shareOf({ used, capacity }: Beat): number {
  return used / capacity;
}
