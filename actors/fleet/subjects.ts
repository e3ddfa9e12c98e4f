import type { ServedPart } from "../../core/domain/served.js";

/** Prefix of every subject. The version rises when older peers would misunderstand messages. */
const ROOT = "dauys.v1";

/** Heartbeats of live nodes. */
export const LIVE_HEARTBEATS = `${ROOT}.beat.live`;

/** A connection between a front and a worker of a node. Any loss ends it, and another one replaces it. */
export interface LaneName {
  /** Random name, new in each run of a process. */
  readonly front: string;
  /** Number of the lane, counted by the front. */
  readonly lane: number;
}

/** Subject on which a node receives all its lanes. */
export function lanesOf(node: string): string {
  return `${ROOT}.engine.${node}.live.>`;
}

/** Subject of messages from a lane's front to its node. */
export function toNode(node: string, { front, lane }: LaneName): string {
  return `${ROOT}.engine.${node}.live.${front}.${lane}`;
}

/** Subject of messages from a lane's node to its front. */
export function toFront({ front, lane }: LaneName): string {
  return `${ROOT}.front.${front}.live.${lane}`;
}

/** Subject on which a lane's front learns that its node has left. */
export function lostOf({ front, lane }: LaneName): string {
  return `${ROOT}.front.${front}.lost.${lane}`;
}

/** Returns the lane that a subject from `toNode` belongs to. */
export function laneOfSubject(subject: string): LaneName {
  const [front = "", lane = ""] = subject.split(".").slice(-2);
  return { front, lane: Number(lane) };
}

/** Subject of heartbeats of nodes for a kind of work. */
export function heartbeatsOf(kind: ServedPart): string {
  return `${ROOT}.beat.${kind}`;
}

/** Subject on which a node receives all calls of a kind; `front` is the last token of the subject. */
export function callsTo(node: string, kind: ServedPart, front = "*"): string {
  return `${ROOT}.engine.${node}.${kind}.${front}`;
}

/** Subject on which a node learns that a front has left; `front` is the last token of the subject. */
export function frontGone(node: string, kind: ServedPart, front = "*"): string {
  return `${ROOT}.engine.${node}.unheard.${kind}.${front}`;
}

/** Subject on which a front receives messages about its calls; the last token is the call's number. */
export function answersTo(front: string, call: number | "*" = "*"): string {
  return `${ROOT}.front.${front}.call.${call}`;
}

/**
 * Subject on which a front learns that a node has stopped a kind of work; the last tokens are
 * `<kind>.<node>`.
 */
export function nodeGone(front: string, kind = "*", node = "*"): string {
  return `${ROOT}.front.${front}.unheard.${kind}.${node}`;
}

export function lastWord(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
