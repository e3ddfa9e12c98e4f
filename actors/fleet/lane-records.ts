// Messages from a front on a lane: bundles of records. A bundle is a header of 8 bytes (version, then its
// number) and records, each a header of 20 bytes and a body padded to 4. All numbers are little-endian,
// unsigned, 32 bits.
import { decode, encode } from "@msgpack/msgpack";
import type { ToLiveWorker } from "../../native/threads/protocol.js";
import type { Versions } from "./heartbeats.js";

/**
 * Supported lane versions. Each new version raises `most`; `least` follows one release later, because engines
 * are upgraded first and must support gateways of the previous release. New records, answers or keys need no
 * new version, because readers ignore unknown ones.
 */
export const LANE_VERSIONS: Versions = { least: 1, most: 1 };

export const RECORD = {
  /** First record of a lane; `Join`. */
  join: 1,
  /** Opens a session from `position` of its audio on; `OpenBody`. */
  open: 2,
  /** 16-bit PCM at `position`. */
  audio: 3,
  /** Ends the utterance at `position`. The audio before it was already sent. */
  finalize: 4,
  /** Ends the audio at `position`. The audio before it was already sent. */
  finish: 5,
  close: 6,
  /** All sessions of the lane, as 32-bit numbers; the node closes all others. */
  alive: 7,
  /** The front gives up the lane. */
  leave: 8,
} as const;

export type RecordType = (typeof RECORD)[keyof typeof RECORD];

export interface LaneRecord {
  /** A `RecordType`, or a type of a later version, which is ignored. */
  readonly type: number;
  readonly session: number;
  readonly epoch: number;
  /** Samples since the start of the session. */
  readonly position: number;
  /** Borrowed bytes, aligned to 4. */
  readonly body: Uint8Array;
}

export interface Bundle {
  readonly version: number;
  /** Counts the bundles of a lane from 0, modulo 2^32. */
  readonly nth: number;
  readonly records: readonly LaneRecord[];
}

/** The model that a front expects on its lane's node. */
export interface Join {
  readonly model: string;
  /** Hash of the model's manifest: different weights under the same name would give different transcripts. */
  readonly manifest: string;
}

type Open = Extract<ToLiveWorker, { type: "open" }>;
/** The options of a session, without its audio and its identity. */
export type OpenBody = Omit<Open, "type" | "session" | "epoch" | "ring">;

const BUNDLE_HEAD_BYTES = 8;
const RECORD_HEAD_BYTES = 20;
/** Largest bundle, headers included: what a NATS cluster forwards in one go. The bus's own limit is 1 MB. */
export const MAX_BUNDLE_BYTES = 65_536;
const NO_BODY = new Uint8Array();

/** Writes records into bundles, one bundle at a time. */
export class BundleWriter {
  readonly #bytes = new Uint8Array(MAX_BUNDLE_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #version: number;
  #length = BUNDLE_HEAD_BYTES;

  /** @param version lane version, written into every bundle */
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
    return Math.max(0, (MAX_BUNDLE_BYTES - this.#length - RECORD_HEAD_BYTES) >> 1);
  }

  hasRoomFor(bodyBytes: number): boolean {
    return this.#length + RECORD_HEAD_BYTES + roundUp(bodyBytes) <= MAX_BUNDLE_BYTES;
  }

  /** @throws {RangeError} if there is no room for the record */
  add(type: RecordType, of: Omit<LaneRecord, "type" | "body">, body: Uint8Array = NO_BODY): void {
    this.#bytes.set(body, this.#begin(type, of, body.length));
  }

  /**
   * Adds an audio record, and returns its samples for the caller to fill before the next call. @throws as
   * `add`
   */
  addAudio(of: Omit<LaneRecord, "type" | "body">, sampleCount: number): Int16Array {
    const start = this.#begin(RECORD.audio, of, sampleCount * 2);
    return new Int16Array(this.#bytes.buffer, start, sampleCount);
  }

  /** Returns a copy of the bundle and starts the next one. */
  take(nth: number): Uint8Array {
    this.#view.setUint32(0, this.#version, true);
    this.#view.setUint32(4, nth, true);
    const bundle = this.#bytes.slice(0, this.#length);
    this.#length = BUNDLE_HEAD_BYTES;
    return bundle;
  }

  /** Writes a record's header. @returns the offset of its body */
  #begin(
    type: RecordType,
    { session, epoch, position }: Omit<LaneRecord, "type" | "body">,
    bodyBytes: number,
  ): number {
    if (!this.hasRoomFor(bodyBytes)) {
      throw new RangeError(
        `cannot add a record of ${bodyBytes} bytes: a bundle holds ${MAX_BUNDLE_BYTES} bytes`,
      );
    }
    const start = this.#length;
    for (const [index, value] of [type, session, epoch, position, bodyBytes].entries())
      this.#view.setUint32(start + 4 * index, value, true);
    const body = start + RECORD_HEAD_BYTES;
    this.#length = body + roundUp(bodyBytes);
    // Padding must never carry bytes of an earlier bundle.
    this.#bytes.fill(0, body + bodyBytes, this.#length);
    return body;
  }
}

/** @throws {RangeError} for bytes that are not a bundle */
export function readBundle(bytes: Uint8Array): Bundle {
  // A bus message may start at an offset that does not allow a view of samples. It is a Buffer, whose `slice`
  // does not copy.
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

/** The samples of an audio record, borrowed like its body. */
export function samplesOf({ body }: LaneRecord): Int16Array {
  return new Int16Array(body.buffer, body.byteOffset, body.length >> 1);
}

/** The sessions of an `alive` record. */
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
  return new RangeError(`cannot read a bundle: cut short at ${length} bytes`);
}
