import { uniform } from "../../support/seed.js";
import { type Landmark, landmarksOf } from "./landmarks.js";

/** What damage is made of, in addition to the file itself. */
export interface Harm {
  /** Files of other containers, whose headers and chunks may be inserted. */
  readonly donors: readonly Uint8Array[];
  /** Paths and addresses that must not be opened. */
  readonly references: readonly string[];
}

export interface Mutant {
  readonly bytes: Uint8Array;
  /** The changes that were made, in order. */
  readonly wounds: readonly Wound[];
}

type Bytes = Uint8Array<ArrayBuffer>;
type Wound = keyof typeof WOUNDS;

interface Operation {
  readonly bytes: Bytes;
  readonly harm: Harm;
  /** Returns a number from 0 to 1, excluding 1. */
  readonly next: () => number;
}

/** The size of the part that identifies a container. */
const HEAD_BYTES = 600;
const MOST_WOUNDS = 6;
/** Smaller files have nothing left to damage. */
const SHORTEST_BYTES = 16;
/**
 * Values that are written as lengths of 1 to 8 bytes. The last ones are the rest of the file, plus and minus
 * one.
 */
const LIES = [0n, 1n, 0x7fn, 0x80n, 0x7fff_ffffn, 0x8000_0000n, 0xffff_fff0n, 0xffff_ffffn, -1n, 1n << 62n];

/**
 * The ways in which a file may refer to another file: playlists, ffmpeg protocols, data references and tags.
 */
const REFERENCE_FORMS: readonly ((reference: string) => string)[] = [
  (reference) => reference,
  (reference) => `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${reference}\n#EXT-X-ENDLIST\n`,
  (reference) => `#EXTM3U\n#EXT-X-MAP:URI="${reference}"\n#EXT-X-KEY:METHOD=AES-128,URI="${reference}"\n`,
  (reference) => `ffconcat version 1.0\nfile '${reference}'\n`,
  (reference) => `concat:${reference}|${reference}`,
  (reference) => `subfile,,start,0,end,0,,:${reference}`,
  (reference) => `<?xml version="1.0"?><MPD><BaseURL>${reference}</BaseURL></MPD>`,
  (reference) => `[playlist]\nFile1=${reference}\n`,
  // An ISO data reference without the flag "in the same file".
  (reference) => `url \0\0\0\0${reference}\0`,
  (reference) => `alis\0\0\0\0${reference}\0`,
  (reference) => id3Tag("WXXX", `\0\0${reference}`),
  (reference) => id3Tag("LINK", `APIC${reference}\0`),
];

/** The kinds of damage. Each function gets a copy and may change it in place. */
const WOUNDS = {
  bitFlipped: (wound) => {
    const at = somewhere(wound);
    wound.bytes[at] = wound.bytes[at]! ^ (1 << below(8, wound));
    return wound.bytes;
  },
  byteExtreme: (wound) => {
    wound.bytes[somewhere(wound)] = oneOf([0, 0x7f, 0x80, 0xff], wound);
    return wound.bytes;
  },
  runFilled: (wound) => {
    const at = somewhere(wound);
    return wound.bytes.fill(oneOf([0, 0xff], wound), at, at + 1 + below(8, wound));
  },
  runCutOut: (wound) => {
    const at = somewhere(wound);
    return joined(wound.bytes.subarray(0, at), wound.bytes.subarray(at + someRun(wound)));
  },
  runDoubled: (wound) => {
    const at = somewhere(wound);
    return joined(wound.bytes.subarray(0, at + someRun(wound)), wound.bytes.subarray(at));
  },
  runMoved: (wound) => {
    const { length } = wound.bytes;
    return wound.bytes.copyWithin(somewhere(wound), below(length, wound), below(length, wound));
  },
  truncated: (wound) => wound.bytes.slice(0, 1 + below(wound.bytes.length - 1, wound)),
  lengthFalse: (wound) => {
    const { lengthAt, lengthBytes } = someChunk(wound.bytes, wound).landmark;
    const left = BigInt(wound.bytes.length - lengthAt);
    const lie = oneOf([...LIES, left - 1n, left, left + 1n], wound);
    writeNumber(wound.bytes.subarray(lengthAt, lengthAt + lengthBytes), lie, wound.next() < 0.5);
    return wound.bytes;
  },
  chunkRemoved: (wound) => {
    const { start, end } = someChunk(wound.bytes, wound);
    return joined(wound.bytes.subarray(0, start), wound.bytes.subarray(end));
  },
  chunkRepeated: (wound) => {
    const { start, end } = someChunk(wound.bytes, wound);
    const copies = Array.from({ length: 1 + below(20, wound) }, () => wound.bytes.subarray(start, end));
    return joined(wound.bytes.subarray(0, end), ...copies, wound.bytes.subarray(end));
  },
  chunkMoved: (wound) => {
    const { start, end } = someChunk(wound.bytes, wound);
    return inserted(wound.bytes, wound.bytes.slice(start, end), someChunk(wound.bytes, wound).start);
  },
  chunkOfAnother: (wound) => {
    const donor = oneOf(wound.harm.donors, wound);
    const { start, end } = someChunk(donor, wound);
    return inserted(wound.bytes, donor.subarray(start, end), someChunk(wound.bytes, wound).start);
  },
  headOfAnother: (wound) => {
    const head = oneOf(wound.harm.donors, wound).subarray(0, 4 + below(HEAD_BYTES, wound));
    return joined(head, wound.bytes.subarray(wound.next() < 0.5 ? 0 : head.length));
  },
  referenceBefore: (wound) => {
    // Half of the references are in a tag, after which the container is still detected.
    const reference = someReference(wound);
    const text = Buffer.from(reference).toString("latin1");
    const tag = Buffer.from(id3Tag("WOAF", text), "latin1");
    return joined(wound.next() < 0.5 ? reference : tag, wound.bytes);
  },
  referenceInserted: (wound) => inserted(wound.bytes, someReference(wound), somewhere(wound)),
  referenceWritten: (wound) => {
    // The reference overwrites existing bytes in tags, code tables and data references, so lengths remain
    // right.
    const { at, lengthBytes } = someChunk(wound.bytes, wound).landmark;
    const reference = someReference(wound);
    const start = Math.min(at + oneOf([0, 4, 4 + lengthBytes, 16], wound), wound.bytes.length);
    wound.bytes.set(reference.subarray(0, wound.bytes.length - start), start);
    return wound.bytes;
  },
} as const satisfies Record<string, (operation: Operation) => Bytes>;

const WOUND_NAMES = Object.keys(WOUNDS) as Wound[];

/**
 * Returns the damaged copy of a file for a seed and a number: one to six changes, mostly few. The beginning,
 * which identifies the container, is changed as often as all the rest.
 */
export function mutantOf(file: Uint8Array, harm: Harm, seed: number, index: number): Mutant {
  const next = uniform(seed ^ Math.imul(index + 1, 0x9e37_79b9));
  const count = 1 + Math.floor(next() ** 2 * MOST_WOUNDS);
  const wounds: Wound[] = [];
  let bytes = new Uint8Array(file);
  while (wounds.length < count && bytes.length > SHORTEST_BYTES) {
    const name = WOUND_NAMES[Math.floor(next() * WOUND_NAMES.length)]!;
    bytes = WOUNDS[name]({ bytes, harm, next });
    wounds.push(name);
  }
  return { bytes, wounds };
}

/** Yields the first `count` mutants of a seed. */
export function* mutantsOf(file: Uint8Array, harm: Harm, seed: number, count: number): Generator<Mutant> {
  for (let index = 0; index < count; index++) yield mutantOf(file, harm, seed, index);
}

function somewhere({ bytes, next }: Operation): number {
  return Math.floor(next() * (next() < 0.5 ? Math.min(bytes.length, HEAD_BYTES) : bytes.length));
}

function someRun({ next }: Operation): number {
  return 1 + Math.floor(next() ** 3 * 400);
}

function someChunk(
  bytes: Uint8Array,
  operation: Operation,
): { readonly landmark: Landmark; readonly start: number; readonly end: number } {
  const landmarks = landmarksOf(bytes);
  if (landmarks.length === 0) {
    const at = below(bytes.length - 8, operation);
    return { landmark: { at, lengthAt: at + 4, lengthBytes: 4 }, start: at, end: at + 8 };
  }
  const index = below(landmarks.length, operation);
  const landmark = landmarks[index]!;
  return { landmark, start: landmark.at, end: landmarks[index + 1]?.at ?? bytes.length };
}

function someReference(operation: Operation): Bytes {
  const form = oneOf(REFERENCE_FORMS, operation);
  return new Uint8Array(Buffer.from(form(oneOf(operation.harm.references, operation)), "latin1"));
}

/** Returns an ID3v2.3 tag with one frame. @see id3.org, ID3v2.3 structure */
function id3Tag(frame: string, text: string): string {
  const length = String.fromCharCode((text.length + 10) >> 7, (text.length + 10) & 0x7f);
  const frameLength = String.fromCharCode(text.length >> 8, text.length & 0xff);
  return `ID3\x03\0\0\0\0${length}${frame}\0\0${frameLength}\0\0${text}`;
}

function writeNumber(field: Uint8Array, value: bigint, isLittleEndian: boolean): void {
  for (let i = 0; i < field.length; i++) {
    const byte = Number((value >> BigInt(8 * i)) & 0xffn);
    field[isLittleEndian ? i : field.length - 1 - i] = byte;
  }
}

function below(limit: number, { next }: Operation): number {
  return Math.floor(next() * Math.max(0, limit));
}

function oneOf<T>(choices: readonly T[], operation: Operation): T {
  return choices[below(choices.length, operation)]!;
}

function inserted(bytes: Uint8Array, what: Uint8Array, at: number): Bytes {
  return joined(bytes.subarray(0, at), what, bytes.subarray(at));
}

function joined(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
