/** Rises when peers that know only an earlier one would misunderstand; part of every subject. */
export const ROOT = "dauys.v1";

/** Of what a node serves, named by the kind of work. */
export const BEATS_OF_LIVE = `${ROOT}.beat.live`;

/** One connection between a front and a worker of a node: any loss on it ends it, and another takes its place. */
export interface LaneName {
  /** Random, of one run of a process. */
  readonly front: string;
  /** Counts the lanes of the front. */
  readonly lane: number;
}

/** Where the node hears all its lanes. */
export function lanesOf(node: string): string {
  return `${ROOT}.engine.${node}.live.>`;
}

/** What a lane's front says to its node. */
export function toNode(node: string, { front, lane }: LaneName): string {
  return `${ROOT}.engine.${node}.live.${front}.${lane}`;
}

/** What a lane's node says to its front. */
export function toFront({ front, lane }: LaneName): string {
  return `${ROOT}.front.${front}.live.${lane}`;
}

/** Where a lane's front hears that its node is gone. */
export function lostOf({ front, lane }: LaneName): string {
  return `${ROOT}.front.${front}.lost.${lane}`;
}

/** The lane that a node is spoken to on. */
export function laneOfSubject(subject: string): LaneName {
  const [front = "", lane = ""] = subject.split(".").slice(-2);
  return { front, lane: Number(lane) };
}
