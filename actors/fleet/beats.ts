import { decode, encode } from "@msgpack/msgpack";

/** A node's sign of life: what it serves, and how much of that is taken. */
export interface Beat {
  /** Random, of one run of its process. */
  readonly node: string;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  /** Hash of the model's manifest. */
  readonly manifest: string;
  /** Versions of the lanes that it speaks. */
  readonly protocol: Versions;
  /** Sessions that it takes. */
  readonly capacity: number;
  readonly used: number;
  /** It takes no more work and is about to end. */
  readonly isDraining: boolean;
  /** Of a node that works on files: frames of speech that fill the largest run of its workers; absent where pieces run alone. */
  readonly runFrames?: number;
}

/** Versions of what is said on a lane, from `least` to `most`. */
export interface Versions {
  readonly least: number;
  readonly most: number;
}

export const BEAT_EVERY_MS = 500;

export function encodeBeat(beat: Beat): Uint8Array {
  return encode(beat);
}

/** @throws {TypeError} for bytes that are no beat, and {Error} for those that are no message */
export function decodeBeat(bytes: Uint8Array): Beat {
  const beat = decode(bytes) as Partial<Beat> | null;
  const isBeat =
    typeof beat?.node === "string" &&
    typeof beat.model === "string" &&
    typeof beat.protocol?.least === "number" &&
    typeof beat.protocol.most === "number" &&
    typeof beat.capacity === "number" &&
    typeof beat.used === "number";
  if (!isBeat) throw new TypeError("Cannot read a beat: a member is missing");
  return beat as Beat;
}
