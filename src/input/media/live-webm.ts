import { type Demuxer, NoOpus, type OpusPart } from "./demuxer.js";
import { opusHead } from "./opus-stream.js";

const ID = {
  ebml: 0x1a45dfa3,
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  codec: 0x86,
  codecPrivate: 0x63a2,
  encodings: 0x6d80,
  cluster: 0x1f43b675,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;

/** Elements whose children are read. Where they end does not matter, so their sizes may be unknown. */
const ENTERED: readonly number[] = [ID.segment, ID.tracks, ID.track, ID.cluster, ID.blockGroup];
/** Elements that are read as a whole. All others are skipped. */
const READ: readonly number[] = [ID.trackNumber, ID.codec, ID.codecPrivate, ID.block, ID.simpleBlock];
/** Longest element that is read; audio blocks are far shorter. */
const LONGEST_READ_BYTES = 1 << 16;
/** The track number of a block is read before it is known whether the block contains audio. */
const BLOCK_HEAD_BYTES = 12;
const LACING = 0x06;
const NO_BYTES = new Uint8Array(0);

interface Track {
  number: number;
  codec: string;
  head: Uint8Array;
  isEncoded: boolean;
}

/**
 * Finds the packets of the first Opus track in a WebM stream, as recorded by browsers. Holds at most one
 * block in memory, whatever sizes the stream claims.
 *
 * @see RFC 8794 and RFC 9559
 */
export class LiveWebm implements Demuxer {
  #held: Uint8Array = NO_BYTES;
  #skipBytes = 0;
  #tracks: Track[] = [];
  #chosen: Track | null = null;

  *push(bytes: Uint8Array): Iterable<OpusPart> {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    let at = 0;
    while (true) {
      const skipped = Math.min(this.#skipBytes, this.#held.length - at);
      this.#skipBytes -= skipped;
      at += skipped;
      const element = this.#skipBytes > 0 ? null : elementAt(this.#held, at);
      if (element === null) break;
      const { id, size, start } = element;
      if (ENTERED.includes(id)) {
        at = start;
        yield* this.#enter(id);
      } else if (!READ.includes(id) || this.#isOther(id, this.#held.subarray(start))) {
        if (size === null) throw damaged("an element without a size cannot be skipped");
        at = start;
        this.#note(id);
        this.#skipBytes = size;
      } else {
        if (size === null || size > LONGEST_READ_BYTES) throw damaged("an audio block is too long");
        if (this.#held.length < start + size) break;
        at = start + size;
        yield* this.#read(id, this.#held.subarray(start, at));
      }
    }
    this.#held = at === this.#held.length ? NO_BYTES : this.#held.slice(at);
  }

  *#enter(id: number): Iterable<OpusPart> {
    if (id === ID.track) {
      if (this.#tracks.length >= 64) throw damaged("it has too many tracks");
      this.#tracks.push({ number: 0, codec: "", head: NO_BYTES, isEncoded: false });
    }
    if (id !== ID.cluster || this.#chosen !== null) return;
    this.#chosen = this.#chooseTrack();
    yield { type: "head", head: this.#chosen.head };
  }

  /** Chooses the Opus track. @throws {NoOpus} if there is none that can be decoded */
  #chooseTrack(): Track {
    const track = this.#tracks.find(({ codec }) => codec === "A_OPUS");
    if (track === undefined) {
      const codecs = this.#tracks
        .map(({ codec }) => codec)
        .filter((codec) => /^[A-Z_0-9/]{1,30}$/.test(codec));
      const received = codecs.length === 0 ? "no codec" : codecs.slice(0, 4).join(" and ");
      throw new NoOpus(`live WebM must have an Opus track, received ${received}`);
    }
    if (track.isEncoded) throw new NoOpus("live WebM must not compress or encrypt its Opus track");
    if (opusHead(track.head) === null) throw damaged("its Opus track has no header");
    return track;
  }

  #note(id: number): void {
    const track = this.#tracks.at(-1);
    if (id === ID.encodings && track !== undefined) track.isEncoded = true;
    if (id !== ID.ebml) return;
    // A recorder that was stopped and restarted begins another stream.
    this.#tracks = [];
    this.#chosen = null;
  }

  /** Returns whether a block belongs to another track, such as video, and may therefore be long. */
  #isOther(id: number, payload: Uint8Array): boolean {
    if (id !== ID.block && id !== ID.simpleBlock) return false;
    const number = variableAt(payload, 0);
    return number !== null && number.value !== this.#chosen?.number;
  }

  *#read(id: number, payload: Uint8Array): Iterable<OpusPart> {
    const track = this.#tracks.at(-1);
    if (id === ID.block || id === ID.simpleBlock) {
      yield { type: "packet", packet: packetOf(payload), dropped: 0 };
    } else if (track === undefined || this.#chosen !== null) return;
    else if (id === ID.trackNumber) track.number = payload.reduce((number, byte) => number * 256 + byte, 0);
    else if (id === ID.codec) track.codec = Buffer.from(payload).toString("latin1");
    else track.head = payload.slice();
  }
}

/** Returns the packet in a block. The track's number, a two-byte time, and flags precede it. */
function packetOf(block: Uint8Array): Uint8Array {
  const { end } = variableAt(block, 0) ?? { end: block.length };
  const flags = block[end + 2] ?? 0;
  if ((flags & LACING) !== 0) throw new NoOpus("live WebM must have one packet per block, received lacing");
  return block.subarray(end + 3);
}

interface Element {
  readonly id: number;
  /** Null if the size is unknown. */
  readonly size: number | null;
  readonly start: number;
}

/** Reads the head of an element; null if it is still incomplete. */
function elementAt(bytes: Uint8Array, at: number): Element | null {
  const first = bytes[at];
  if (first === undefined) return null;
  const idBytes = Math.clz32(first) - 23;
  if (idBytes > 4) throw damaged("it has an invalid element");
  const size = variableAt(bytes, at + idBytes);
  if (size === null) return null;
  const id = bytes.subarray(at, at + idBytes).reduce((number, byte) => number * 256 + byte, 0);
  const start = size.end;
  // The track's number decides whether the rest of the block is read.
  const isBlock = id === ID.block || id === ID.simpleBlock;
  const needed = isBlock ? Math.min(BLOCK_HEAD_BYTES, size.value ?? BLOCK_HEAD_BYTES) : 0;
  return bytes.length < start + needed ? null : { id, size: size.value, start };
}

/**
 * Reads a number of variable length. Its value is null if all of its bits are set.
 * @returns null if the number is still incomplete
 */
function variableAt(
  bytes: Uint8Array,
  at: number,
): { readonly value: number | null; readonly end: number } | null {
  const first = bytes[at];
  if (first === undefined) return null;
  const length = Math.clz32(first) - 23;
  if (length > 8) throw damaged("it has an invalid size");
  if (bytes.length < at + length) return null;
  const rest = bytes.subarray(at + 1, at + length);
  const top = first & ((1 << (8 - length)) - 1);
  const isUnknown = top === (1 << (8 - length)) - 1 && rest.every((byte) => byte === 0xff);
  const value = rest.reduce((number, byte) => number * 256 + byte, top);
  return { value: isUnknown ? null : value, end: at + length };
}

function damaged(why: string): NoOpus {
  return new NoOpus(`cannot decode the WebM: ${why}`, { isOtherFormat: false });
}
