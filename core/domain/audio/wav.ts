import { ServiceError } from "../errors.js";
import { littleEndianBytes } from "./pcm.js";

type WavFormat = "pcm" | "float" | "alaw" | "mulaw";

/** The header of a WAVE file. A block is one sample of every channel. */
export interface WavHeader {
  readonly format: WavFormat;
  readonly channels: number;
  readonly sampleRateHz: number;
  /** Bits of a stored sample, padding included: 8, 16, 24, 32 or 64. */
  readonly bitsPerSample: number;
  readonly blockBytes: number;
  readonly dataOffset: number;
  /** Length of the samples in whole blocks; null for a stream of unknown length. */
  readonly dataBytes: number | null;
}

/** Maximum number of bytes before the samples (tags, cover art). */
export const LONGEST_WAV_HEADER_BYTES = 1 << 20;

/** Header length of files that we write. */
const HEAD_BYTES = 44;
/** Data size that makes readers take everything up to the end of the file. */
const UNKNOWN_BYTES = 0xffff_ffff;
const NO_SAMPLES = new Int16Array(0);
const RATE_HZ = { min: 4_000, max: 384_000 };
const MAX_CHANNELS = 32;
const FORMATS = new Map<number, { readonly format: WavFormat; readonly bits: readonly number[] }>([
  [1, { format: "pcm", bits: [8, 16, 24, 32] }],
  [3, { format: "float", bits: [32, 64] }],
  [6, { format: "alaw", bits: [8] }],
  [7, { format: "mulaw", bits: [8] }],
]);
/** Codes of the sample formats of files that we write, with their bits per sample. */
const STREAMED_FORMATS = {
  linear16: { code: 1, bits: 16 },
  alaw: { code: 6, bits: 8 },
  mulaw: { code: 7, bits: 8 },
} as const;
const EXTENSIBLE = 0xfffe;
/** Bytes 2 to 15 of sub-formats that repeat a plain format code (KSDATAFORMAT_SUBTYPE_*). */
const SUBFORMAT_TAIL = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

/** Samples of a file that we write: 16-bit numbers, or bytes as they are in the file. */
export type WavPiece = Int16Array | Uint8Array;

type WavFields = Omit<WavHeader, "dataOffset" | "dataBytes">;

/**
 * Reads the header of a RIFF/WAVE file from its first bytes.
 *
 * A data size of 0 or 0xFFFFFFFF, which recorders write first and may never update, means that the samples
 * last until the end of the file; a size larger than the file is reduced.
 * @param prefix the first bytes of the file, as many as are available
 * @param totalBytes length of the whole file, when known
 * @returns null while more bytes are needed
 * @throws {ServiceError} `AUDIO_UNREADABLE` when the file has another format, or ends before its samples
 * @see Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft, 1991
 */
export function parseWavHeader(prefix: Uint8Array, totalBytes?: number): WavHeader | null {
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  if (prefix.length < 12) return needMore(prefix, totalBytes, "the form header");
  checkForm(view);
  let fields: WavFields | null = null;
  let offset = 12;
  while (offset + 8 <= prefix.length) {
    const id = tag(view, offset);
    const size = view.getUint32(offset + 4, true);
    const body = offset + 8;
    if (id === "data") {
      if (fields === null) throw unreadable("chunk fmt must come before chunk data, received data first");
      return { ...fields, dataOffset: body, dataBytes: dataBytes(size, body, fields.blockBytes, totalBytes) };
    }
    if (id === "fmt ") {
      if (size < 16 || size > 65_536)
        throw unreadable(`chunk fmt must have 16 to 65536 bytes, received ${size}`);
      if (body + size > prefix.length) return needMore(prefix, totalBytes, "chunk fmt");
      fields = formatFields(view, body, size);
    }
    offset = body + size + (size & 1);
  }
  return needMore(prefix, totalBytes, "chunk data");
}

/** Writes a WAVE file of 16-bit mono PCM. */
export function writeWav(pcm: Int16Array, sampleRateHz: number): Uint8Array {
  const file = new Uint8Array(HEAD_BYTES + pcm.byteLength);
  file.set(wavHead(pcm.length, sampleRateHz));
  file.set(littleEndianBytes(pcm), HEAD_BYTES);
  return file;
}

/** @param moreBytes length of what follows the samples */
function wavHead(
  sampleCount: number,
  sampleRateHz: number,
  moreBytes = 0,
  format: keyof typeof STREAMED_FORMATS = "linear16",
): Uint8Array {
  const { code, bits } = STREAMED_FORMATS[format];
  const sampleBytes = bits / 8;
  const dataBytes = sampleCount * sampleBytes;
  const head = new Uint8Array(HEAD_BYTES);
  const view = new DataView(head.buffer);
  putTag(head, 0, "RIFF");
  view.setUint32(4, HEAD_BYTES - 8 + dataBytes + moreBytes, true);
  putTag(head, 8, "WAVE");
  putTag(head, 12, "fmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, code, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRateHz, true);
  view.setUint32(28, sampleRateHz * sampleBytes, true);
  view.setUint16(32, sampleBytes, true);
  view.setUint16(34, bits, true);
  putTag(head, 36, "data");
  view.setUint32(40, dataBytes, true);
  return head;
}

/** Writes the header of a WAVE file of unknown length; its data lasts until the end of the file. */
export function streamedWavHead(
  format: keyof typeof STREAMED_FORMATS,
  sampleRateHz: number,
  channels = 1,
): Uint8Array {
  const head = wavHead(0, sampleRateHz);
  const { code, bits } = STREAMED_FORMATS[format];
  const view = new DataView(head.buffer);
  view.setUint32(4, UNKNOWN_BYTES, true);
  view.setUint16(20, code, true);
  view.setUint16(22, channels, true);
  view.setUint32(28, (sampleRateHz * channels * bits) / 8, true);
  view.setUint16(32, (channels * bits) / 8, true);
  view.setUint16(34, bits, true);
  view.setUint32(40, UNKNOWN_BYTES, true);
  return head;
}

/**
 * Writes a WAVE file in parts without copying its samples; each piece is released as soon as its part is
 * taken.
 * @param pieces samples in order, as numbers or as bytes of `format`; emptied
 * @param more chunks after the samples
 */
export function wavInParts(
  pieces: WavPiece[],
  sampleRateHz: number,
  more?: Uint8Array,
  format: keyof typeof STREAMED_FORMATS = "linear16",
): { readonly bytes: number; readonly parts: Iterable<Uint8Array> } {
  const dataBytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const sampleCount = dataBytes / (STREAMED_FORMATS[format].bits / 8);
  // Chunks begin at even positions.
  const rest = dataBytes % 2 === 0 ? more : withPadding(more);
  const head = wavHead(sampleCount, sampleRateHz, rest?.length, format);
  return {
    bytes: head.length + dataBytes + (rest?.length ?? 0),
    parts: partsOf(head, pieces, rest),
  };
}

function withPadding(more: Uint8Array = new Uint8Array(0)): Uint8Array {
  const padded = new Uint8Array(more.length + 1);
  padded.set(more, 1);
  return padded;
}

function* partsOf(
  head: Uint8Array,
  pieces: WavPiece[],
  more: Uint8Array | undefined,
): Generator<Uint8Array, void, undefined> {
  yield head;
  for (const [index, piece] of pieces.entries()) {
    pieces[index] = NO_SAMPLES;
    yield piece instanceof Uint8Array ? piece : littleEndianBytes(piece);
  }
  pieces.length = 0;
  if (more !== undefined) yield more;
}

function checkForm(view: DataView): void {
  const form = tag(view, 0);
  if (form === "RIFX") throw unreadable("byte order must be little-endian (RIFF), received RIFX");
  if (form === "RF64" || form === "BW64") throw unreadable(`sizes must be 32-bit (RIFF), received ${form}`);
  if (form !== "RIFF") throw unreadable(`form must be RIFF, received ${printable(form)}`);
  const type = tag(view, 8);
  if (type !== "WAVE") throw unreadable(`type must be WAVE, received ${printable(type)}`);
}

function formatFields(view: DataView, body: number, size: number): WavFields {
  const code = formatCode(view, body, size);
  const known = FORMATS.get(code);
  if (known === undefined) {
    throw unreadable(`format must be PCM (1), float (3), A-law (6) or mu-law (7), received ${code}`);
  }
  const channels = view.getUint16(body + 2, true);
  if (channels < 1 || channels > MAX_CHANNELS) {
    throw unreadable(`channels must be 1 to ${MAX_CHANNELS}, received ${channels}`);
  }
  const sampleRateHz = view.getUint32(body + 4, true);
  if (sampleRateHz < RATE_HZ.min || sampleRateHz > RATE_HZ.max) {
    throw unreadable(`sampleRateHz must be ${RATE_HZ.min} to ${RATE_HZ.max}, received ${sampleRateHz}`);
  }
  const bits = view.getUint16(body + 14, true);
  // Samples of 12 or 20 bits fill the high bits of their bytes, so they read as 16 or 24 bits.
  const bitsPerSample = known.format === "pcm" ? Math.ceil(bits / 8) * 8 : bits;
  if (!known.bits.includes(bitsPerSample)) {
    throw unreadable(`bitsPerSample of ${known.format} must be ${known.bits.join(", ")}, received ${bits}`);
  }
  const blockBytes = (channels * bitsPerSample) / 8;
  const declaredBytes = view.getUint16(body + 12, true);
  if (declaredBytes !== blockBytes && declaredBytes !== 0) {
    throw unreadable(
      `block must be ${blockBytes} bytes (${channels} x ${bitsPerSample} bits), received ${declaredBytes}`,
    );
  }
  return { format: known.format, channels, sampleRateHz, bitsPerSample, blockBytes };
}

function formatCode(view: DataView, body: number, size: number): number {
  const code = view.getUint16(body, true);
  if (code !== EXTENSIBLE) return code;
  if (size < 40) throw unreadable(`chunk fmt of an extensible format must have 40 bytes, received ${size}`);
  const isPlain = SUBFORMAT_TAIL.every((byte, i) => view.getUint8(body + 26 + i) === byte);
  if (!isPlain) throw unreadable("sub-format must be one of the plain formats, received another identifier");
  return view.getUint16(body + 24, true);
}

function dataBytes(
  declared: number,
  offset: number,
  blockBytes: number,
  totalBytes: number | undefined,
): number | null {
  const isOpen = declared === 0 || declared === 0xffff_ffff;
  if (totalBytes === undefined) return isOpen ? null : declared - (declared % blockBytes);
  const available = Math.max(0, totalBytes - offset);
  const bytes = isOpen ? available : Math.min(declared, available);
  return bytes - (bytes % blockBytes);
}

function needMore(prefix: Uint8Array, totalBytes: number | undefined, wanted: string): null {
  if (totalBytes !== undefined && prefix.length >= totalBytes) {
    throw unreadable(`file must have ${wanted}, received ${totalBytes} bytes without it`);
  }
  if (prefix.length >= LONGEST_WAV_HEADER_BYTES) {
    throw unreadable(
      `${wanted} must begin within ${LONGEST_WAV_HEADER_BYTES} bytes, received ${prefix.length} without it`,
    );
  }
  return null;
}

function tag(view: DataView, offset: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((i) => view.getUint8(offset + i)));
}

function putTag(file: Uint8Array, offset: number, text: string): void {
  for (let i = 0; i < 4; i++) file[offset + i] = text.charCodeAt(i);
}

/** Quotes bytes of an untrusted file as plain ASCII. */
function printable(text: string): string {
  return JSON.stringify(text.replace(/[^\x20-\x7e]/g, "?"));
}

function unreadable(rule: string): ServiceError {
  return new ServiceError("AUDIO_UNREADABLE", `cannot read the WAVE file: ${rule}`);
}
