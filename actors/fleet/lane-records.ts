// What a front says on a lane: bundles of records. A bundle is a head of 8 bytes (version, then its number) and records, each
// a head of 20 bytes and a body that is padded to 4. All numbers are little-endian, 32 bits, unsigned.
import { decode, encode } from "@msgpack/msgpack";
import type { ToLiveWorker } from "../../native/threads/protocol.js";
import type { Versions } from "./beats.js";

/**
 * Versions of lanes that are spoken here. Another rises `most`, and `least` follows a release later: engines come first, and
 * speak with gateways of the release before. What only adds records, answers or keys needs no version: they are passed by.
 */
export const LANE_VERSIONS: Versions = { least: 1, most: 1 };

export const RECORD = {
  /** The lane's first: what its front wants; `Join`. */
  join: 1,
  /** A session, from `position` of its audio on; `OpenBody`. */
  open: 2,
  /** PCM of 16 bits at `position`. */
  audio: 3,
  /** The utterance ends at `position`, up to which the audio was sent before. */
  finalize: 4,
  /** The audio ends at `position`, up to which it was sent before. */
  finish: 5,
  close: 6,
  /** All sessions of the lane, as 32-bit numbers; others are over. */
  alive: 7,
  /** The front gives the lane up. */
  leave: 8,
} as const;

export type RecordType = (typeof RECORD)[keyof typeof RECORD];

export interface LaneRecord {
  /** A `RecordType`, or one of a later version: such a record is passed by. */
  readonly type: number;
  readonly session: number;
  readonly epoch: number;
  /** Samples of the session since its beginning. */
  readonly position: number;
  /** Lent, at a multiple of 4. */
  readonly body: Uint8Array;
}

export interface Bundle {
  readonly version: number;
  /** Counts the bundles of a lane from 0, modulo 2^32. */
  readonly nth: number;
  readonly records: readonly LaneRecord[];
}

/** What a front expects of the node that takes a lane of its. */
export interface Join {
  readonly model: string;
  /** Hash of the model's manifest: other weights of its name would hear other words. */
  readonly manifest: string;
}

type Open = Extract<ToLiveWorker, { type: "open" }>;
/** What a worker needs to know of a session, but its audio and its names. */
export type OpenBody = Omit<Open, "type" | "session" | "epoch" | "ring">;

const BUNDLE_HEAD_BYTES = 8;
const RECORD_HEAD_BYTES = 20;
/** The largest, heads included: what a cluster hands on at once, and small beside 1 MB, the most that it takes. */
export const MOST_BUNDLE_BYTES = 65_536;
const NO_BODY = new Uint8Array();

/** Gathers records into one bundle at a time. */
export class BundleWriter {
  readonly #bytes = new Uint8Array(MOST_BUNDLE_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #version: number;
  #length = BUNDLE_HEAD_BYTES;

  /** @param version of the lane, written into every bundle */
  constructor(version: number) {
    this.#version = version;
  }

  get isEmpty(): boolean {
    return this.#length === BUNDLE_HEAD_BYTES;
  }

  get byteLength(): number {
    return this.#length;
  }

  /** Samples that an audio record may still hold. */
  get roomSamples(): number {
    return Math.max(0, (MOST_BUNDLE_BYTES - this.#length - RECORD_HEAD_BYTES) >> 1);
  }

  hasRoomFor(bodyBytes: number): boolean {
    return this.#length + RECORD_HEAD_BYTES + roundUp(bodyBytes) <= MOST_BUNDLE_BYTES;
  }

  /** @throws {RangeError} when there is no room for it */
  add(type: RecordType, of: Omit<LaneRecord, "type" | "body">, body: Uint8Array = NO_BODY): void {
    this.#bytes.set(body, this.#begin(type, of, body.length));
  }

  /** An audio record of `sampleCount` samples, to be filled at once by the caller. @throws {RangeError} as `add` */
  addAudio(of: Omit<LaneRecord, "type" | "body">, sampleCount: number): Int16Array {
    const start = this.#begin(RECORD.audio, of, sampleCount * 2);
    return new Int16Array(this.#bytes.buffer, start, sampleCount);
  }

  /** The bundle, whose bytes are the caller's; the next one begins. */
  take(nth: number): Uint8Array {
    this.#view.setUint32(0, this.#version, true);
    this.#view.setUint32(4, nth, true);
    const bundle = this.#bytes.slice(0, this.#length);
    this.#length = BUNDLE_HEAD_BYTES;
    return bundle;
  }

  /** Writes a record's head. @returns where its body begins */
  #begin(
    type: RecordType,
    { session, epoch, position }: Omit<LaneRecord, "type" | "body">,
    bodyBytes: number,
  ): number {
    if (!this.hasRoomFor(bodyBytes)) {
      throw new RangeError(
        `Cannot add a record: a bundle holds ${MOST_BUNDLE_BYTES} bytes, received ${bodyBytes}`,
      );
    }
    const start = this.#length;
    for (const [index, value] of [type, session, epoch, position, bodyBytes].entries())
      this.#view.setUint32(start + 4 * index, value, true);
    const body = start + RECORD_HEAD_BYTES;
    this.#length = body + roundUp(bodyBytes);
    // The bytes that were there before go to no one else.
    this.#bytes.fill(0, body + bodyBytes, this.#length);
    return body;
  }
}

/** @throws {RangeError} for bytes that are no bundle */
export function readBundle(bytes: Uint8Array): Bundle {
  // The bus lends memory at any offset, where no view of samples can begin; and it lends a Buffer, whose `slice` is no copy.
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  const view = new DataView(aligned.buffer, aligned.byteOffset, aligned.byteLength);
  if (aligned.length < BUNDLE_HEAD_BYTES) throw cutShort(aligned.length);
  const records: LaneRecord[] = [];
  let at = BUNDLE_HEAD_BYTES;
  while (at < aligned.length) {
    if (at + RECORD_HEAD_BYTES > aligned.length) throw cutShort(aligned.length);
    const field = (index: number) => view.getUint32(at + 4 * index, true);
    const start = at + RECORD_HEAD_BYTES;
    const end = start + field(4);
    if (end > aligned.length) throw cutShort(aligned.length);
    const body = aligned.subarray(start, end);
    records.push({ type: field(0), session: field(1), epoch: field(2), position: field(3), body });
    at = start + roundUp(body.length);
  }
  return { version: view.getUint32(0, true), nth: view.getUint32(4, true), records };
}

/** The samples of an audio record, lent as its body is. */
export function samplesOf({ body }: LaneRecord): Int16Array {
  return new Int16Array(body.buffer, body.byteOffset, body.length >> 1);
}

/** The sessions that an `alive` record names. */
export function sessionsOf({ body }: LaneRecord): Uint32Array {
  return new Uint32Array(body.buffer, body.byteOffset, body.length >> 2);
}

export function encodeOpen({ type: _, session: __, epoch: ___, ring: ____, ...body }: Open): Uint8Array {
  return encode(body satisfies OpenBody);
}

export function decodeOpen({ body }: LaneRecord): OpenBody {
  return decode(body) as OpenBody;
}

export function encodeJoin(join: Join): Uint8Array {
  return encode(join);
}

export function decodeJoin({ body }: LaneRecord): Join {
  return decode(body) as Join;
}

function roundUp(bytes: number): number {
  return (bytes + 3) & -4;
}

function cutShort(length: number): RangeError {
  return new RangeError(`Cannot read a bundle: it is cut short, received ${length} bytes`);
}
