import { decode, encode } from "@msgpack/msgpack";
import type { LiveWorkerAnswer } from "../../native/threads/protocol.js";

/** State of a lane. After any state but `open`, the front replays the sessions on another lane. */
export type LaneState =
  | "open"
  /** The node does not accept the lane. */
  | "refused"
  /** A bundle is missing. */
  | "gap"
  /** The node has no such lane. */
  | "unknown"
  /** The lane's worker has ended. */
  | "worker";

/** A node's message on a lane. */
export interface LaneReport {
  /** Counts the reports of a lane from 0. */
  readonly nth: number;
  readonly state: LaneState;
  /** Bundles received so far. */
  readonly heard: number;
  /** Read positions of the worker: session, epoch and sample, repeated. */
  readonly cursors: readonly number[];
  /** Answers of one worker message, in order. */
  readonly answers: readonly LaneAnswer[];
}

/** `refused`: the node has no room for the session now. */
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
