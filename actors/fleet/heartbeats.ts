import { decode, encode } from "@msgpack/msgpack";

/** A node's heartbeat: the model it serves, its capacity and its load. */
export interface Heartbeat {
  /** Random name, new in each run of the node's process. */
  readonly node: string;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  /** Hash of the model's manifest. */
  readonly manifest: string;
  /** Protocol versions that the node supports. */
  readonly protocol: Versions;
  /** Number of sessions or calls that the node accepts. */
  readonly capacity: number;
  readonly used: number;
  /** The node accepts no more work, and is about to end. */
  readonly isDraining: boolean;
  /**
   * Frames of speech that fill the largest run of a file node's workers; absent if workers run pieces alone.
   */
  readonly runFrames?: number;
  /** Hash of the manifest of a file node's model for diarization; absent without one. */
  readonly diarization?: string;
}

/** A range of protocol versions, both ends included. */
export interface Versions {
  readonly least: number;
  readonly most: number;
}

export const HEARTBEAT_EVERY_MS = 500;

export function encodeHeartbeat(heartbeat: Heartbeat): Uint8Array {
  return encode(heartbeat);
}

/** @throws {TypeError} for other messages; {Error} for bytes that are not MessagePack */
export function decodeHeartbeat(bytes: Uint8Array): Heartbeat {
  const heartbeat = decode(bytes) as Partial<Heartbeat> | null;
  const isHeartbeat =
    typeof heartbeat?.node === "string" &&
    typeof heartbeat.model === "string" &&
    typeof heartbeat.protocol?.least === "number" &&
    typeof heartbeat.protocol.most === "number" &&
    typeof heartbeat.capacity === "number" &&
    typeof heartbeat.used === "number";
  if (!isHeartbeat) throw new TypeError("cannot read a heartbeat: a member is missing");
  return heartbeat as Heartbeat;
}
