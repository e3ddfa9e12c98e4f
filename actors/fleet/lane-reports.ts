import { decode, encode } from "@msgpack/msgpack";
import type { LiveWorkerAnswer } from "../../native/threads/protocol.js";

/** What becomes of a lane. `open` goes on; after any other word its front replays the sessions on another lane. */
export type LaneState =
  | "open"
  /** The node does not take it. */
  | "refused"
  /** A bundle is missing. */
  | "gap"
  /** The node knows of no such lane. */
  | "unknown"
  /** The worker that it was on has ended. */
  | "worker";

/** What a node says on a lane. */
export interface LaneReport {
  /** Counts the reports of a lane from 0. */
  readonly nth: number;
  readonly state: LaneState;
  /** Bundles that were heard: the number of the last and one more. */
  readonly heard: number;
  /** Session, epoch and sample in turn: how far the worker has read. */
  readonly cursors: readonly number[];
  /** Of one turn of the worker, in order. */
  readonly answers: readonly LaneAnswer[];
}

/** `refused`: the node has no room for the session now. */
export type LaneAnswer =
  | LiveWorkerAnswer
  | { readonly type: "refused"; readonly session: number; readonly epoch: number };

export function encodeReport(report: LaneReport): Uint8Array {
  return encode(report);
}

/** @throws {Error} for bytes that are no report */
export function decodeReport(bytes: Uint8Array): LaneReport {
  return decode(bytes) as LaneReport;
}
