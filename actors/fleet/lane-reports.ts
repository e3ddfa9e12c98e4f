import { decode, encode } from "@msgpack/msgpack";
import type { LiveWorkerAnswer } from "../../native/threads/protocol.js";

/** State of a lane. In any state but `open`, the front replays the sessions on another lane. */
export type LaneState =
  | "open"
  /** The node does not accept the lane. */
  | "refused"
  /** A bundle is missing. */
  | "gap"
  /** The node does not know the lane. */
  | "unknown"
  /** The lane's worker has ended. */
  | "worker";

/** A node's message about a lane. */
export interface LaneReport {
  /** Counts the reports of a lane from 0. */
  readonly nth: number;
  readonly state: LaneState;
  /** Number of bundles received so far. */
  readonly heard: number;
  /** Read positions of the worker, as a flat list of session, epoch and sample. */
  readonly cursors: readonly number[];
  /** Answers from one worker message, in order. */
  readonly answers: readonly LaneAnswer[];
}

/** `refused`: the node has no room for the session at present. */
export type LaneAnswer =
  | LiveWorkerAnswer
  | { readonly type: "refused"; readonly session: number; readonly epoch: number };

export function encodeReport(report: LaneReport): Uint8Array {
  return encode(report);
}

/** @throws {Error} for bytes that are not MessagePack */
export function decodeReport(bytes: Uint8Array): LaneReport {
  return decode(bytes) as LaneReport;
}
