import type { ServedPart } from "../../core/domain/served.js";

/** First words of every subject; the version rises when older peers would misunderstand. */
const ROOT = "dauys.v1";

/** Heartbeats of live nodes. */
export const LIVE_HEARTBEATS = `${ROOT}.beat.live`;

/** A connection between a front and a worker of a node; any loss ends it, and another replaces it. */
export interface LaneName {
  /** Random per run of a process. */
  readonly front: string;
  /** Counts the lanes of the front. */
  readonly lane: number;
}

/** Subject on which a node receives all its lanes. */
export function lanesOf(node: string): string {
  return `${ROOT}.engine.${node}.live.>`;
}

/** From a lane's front to its node. */
export function toNode(node: string, { front, lane }: LaneName): string {
  return `${ROOT}.engine.${node}.live.${front}.${lane}`;
}

/** From a lane's node to its front. */
export function toFront({ front, lane }: LaneName): string {
  return `${ROOT}.front.${front}.live.${lane}`;
}

/** Subject on which a lane's front learns that its node has left. */
export function lostOf({ front, lane }: LaneName): string {
  return `${ROOT}.front.${front}.lost.${lane}`;
}

/** The lane of a subject from `toNode`. */
export function laneOfSubject(subject: string): LaneName {
  const [front = "", lane = ""] = subject.split(".").slice(-2);
  return { front, lane: Number(lane) };
}

/** Heartbeats of nodes for a kind of work. */
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

/** Subject on which a front receives messages about its calls; the call's number is the last word. */
export function answersTo(front: string, call: number | "*" = "*"): string {
  return `${ROOT}.front.${front}.call.${call}`;
}

/**
 * Subject on which a front learns that a node has stopped a kind of work; `<kind>.<node>` are the last words.
 */
export function nodeGone(front: string, kind = "*", node = "*"): string {
  return `${ROOT}.front.${front}.unheard.${kind}.${node}`;
}

export function lastWord(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
