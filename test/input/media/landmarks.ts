/** The start of a chunk, box, page, element or frame, and the position of its length. */
export interface Landmark {
  readonly at: number;
  readonly lengthAt: number;
  readonly lengthBytes: number;
}

interface Signature {
  readonly bytes: Buffer;
  /** The offset of the signature's first byte. */
  readonly start: number;
  readonly length: number;
  readonly lengthBytes: number;
}

const ISO_BOXES = [
  ...["ftyp", "moov", "mvhd", "trak", "tkhd", "edts", "elst", "mdia", "mdhd", "hdlr", "minf", "dinf", "dref"],
  ...["stbl", "stsd", "esds", "stts", "stsc", "stsz", "stco", "udta", "meta", "ilst", "mdat", "free", "url "],
];
const RIFF_CHUNKS = ["RIFF", "fmt ", "fact", "LIST", "data"];
/**
 * The IDs of the EBML header, segment, cluster, tracks, information, tags, seek head and cues. @see RFC 9559
 */
const MATROSKA_IDS = [
  ...["1a45dfa3", "18538067", "1f43b675", "1654ae6b", "1549a966", "1254c367", "114d9b74", "1c53bb6b"],
];
/**
 * The first bytes of frames of MPEG audio (Xing is its table of frames), ADTS and FLAC. A few chance matches
 * do no harm.
 */
const FRAMES = ["fffb", "fff3", "ffe3", "fff1", "fff9", "fff8"];

const SIGNATURES: readonly Signature[] = [
  ...ISO_BOXES.map((name) => signature(name, { start: -4, length: -4, lengthBytes: 4 })),
  ...RIFF_CHUNKS.map((name) => signature(name, { start: 0, length: 4, lengthBytes: 4 })),
  ...MATROSKA_IDS.map((id) => signature(id, { start: 0, length: 4, lengthBytes: 8 }, "hex")),
  ...FRAMES.map((sync) => signature(sync, { start: 0, length: 2, lengthBytes: 4 }, "hex")),
  // An Ogg page has a segment count, a FLAC block 24 bits after its type, comments a byte count.
  signature("OggS", { start: 0, length: 26, lengthBytes: 1 }),
  signature("fLaC", { start: 4, length: 5, lengthBytes: 3 }),
  signature("ID3", { start: 0, length: 6, lengthBytes: 4 }),
  signature("\x03vorbis", { start: 0, length: 7, lengthBytes: 4 }),
  signature("OpusTags", { start: 0, length: 8, lengthBytes: 4 }),
  signature("Xing", { start: 0, length: 8, lengthBytes: 4 }),
];

/** Finds every landmark of a file of any container, in order. */
export function landmarksOf(file: Uint8Array): readonly Landmark[] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const found: Landmark[] = [];
  for (const { bytes: wanted, start, length, lengthBytes } of SIGNATURES) {
    for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
      const lengthAt = at + length;
      const isInside = at + start >= 0 && lengthAt >= 0 && lengthAt + lengthBytes <= file.length;
      if (isInside) found.push({ at: at + start, lengthAt, lengthBytes });
    }
  }
  return found.sort((a, b) => a.at - b.at);
}

function signature(
  text: string,
  place: Omit<Signature, "bytes">,
  encoding: "latin1" | "hex" = "latin1",
): Signature {
  return { bytes: Buffer.from(text, encoding), ...place };
}
