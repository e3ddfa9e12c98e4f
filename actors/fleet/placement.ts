import type { Heartbeat, Versions } from "./heartbeats.js";

/** A front's requirements for a node. */
export interface Wanted {
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  readonly manifest: string;
  /** Hash of the manifest of a model for diarization that the node must have. */
  readonly diarization?: string;
  /** Protocol versions that the front supports. */
  readonly protocol: Versions;
  /** A node to exclude. */
  readonly except?: string;
  /** Number of sessions for which the node must have room; 1 by default. */
  readonly room?: number;
}

/**
 * Pure: chooses the node for another lane; null if none fits. Prefers nodes in the front's zone, then those
 * with the fewest lanes of this front. Of these it picks two at random and takes the less loaded one: all
 * fronts see the same heartbeats, so choosing the least loaded node would send every lane to the same one.
 * @param lanesOn returns the number of the front's lanes on a node
 * @param random returns a number from 0 to 1, exclusive
 */
export function placeLane(
  heartbeats: readonly Heartbeat[],
  wanted: Wanted,
  lanesOn: (node: string) => number,
  random: () => number,
): Heartbeat | null {
  const reachable = reachableOf(heartbeats, wanted);
  const fewest = Math.min(...reachable.map(({ node }) => lanesOn(node)));
  const rest = reachable.filter(({ node }) => lanesOn(node) === fewest);
  const pick = () => rest.splice(Math.floor(random() * rest.length), 1)[0] ?? null;
  const [one, other] = [pick(), pick()];
  if (one === null || other === null) return one;
  return shareOf(other) < shareOf(one) ? other : one;
}

/**
 * Pure: returns whether another node would be better for a lane: one in the front's zone if the lane is
 * outside it, or one with at least two fewer of the front's lanes. With a smaller difference, the lane would
 * move back.
 */
export function isBetterElsewhere(
  heartbeats: readonly Heartbeat[],
  wanted: Wanted,
  lanesOn: (node: string) => number,
  own: Pick<Heartbeat, "node" | "zone">,
): boolean {
  const reachable = reachableOf(heartbeats, wanted);
  if (own.zone !== wanted.zone && reachable.some(({ zone }) => zone === wanted.zone)) return true;
  const most = lanesOn(own.node) - 2;
  return reachable.some(({ node, zone }) => zone === own.zone && lanesOn(node) <= most);
}

/** Pure: returns the latest version that both sides support; null if there is none. */
export function commonVersion(one: Versions, other: Versions): number | null {
  const version = Math.min(one.most, other.most);
  return version >= one.least && version >= other.least ? version : null;
}

/** Nodes that can take a lane: those in the front's zone, or all if the zone has none. */
function reachableOf(heartbeats: readonly Heartbeat[], wanted: Wanted): readonly Heartbeat[] {
  const fitting = heartbeats.filter((heartbeat) => fits(heartbeat, wanted));
  const near = fitting.filter(({ zone }) => zone === wanted.zone);
  return near.length > 0 ? near : fitting;
}

function fits(heartbeat: Heartbeat, wanted: Wanted): boolean {
  const { cell, model, manifest, diarization, protocol, except, room = 1 } = wanted;
  return (
    heartbeat.node !== except &&
    heartbeat.cell === cell &&
    heartbeat.model === model &&
    heartbeat.manifest === manifest &&
    (diarization === undefined || heartbeat.diarization === diarization) &&
    commonVersion(heartbeat.protocol, protocol) !== null &&
    !heartbeat.isDraining &&
    heartbeat.used + room <= heartbeat.capacity
  );
}

function shareOf({ used, capacity }: Heartbeat): number {
  return used / capacity;
}
