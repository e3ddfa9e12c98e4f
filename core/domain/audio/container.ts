/** Container formats of audio files, detected from their bytes, not from names or extensions. */
export type Container =
  | "wav"
  | "mp3"
  | "aac"
  | "mp4"
  | "flac"
  | "ogg"
  | "webm"
  | "aiff"
  | "caf"
  | "amr"
  | "au";

/** Number of bytes of a file that are enough to detect its container. */
export const CONTAINER_HEAD_BYTES = 1 << 16;

const MPEG_KBPS = {
  v1Layer1: [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  v1Layer2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  v1Layer3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  v2Layer1: [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  v2Layer2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const MPEG_RATES_HZ = [44_100, 48_000, 32_000];
/** First boxes of an ISO file; recorders and QuickTime do not always start with `ftyp`. */
const MP4_BOXES = ["ftyp", "moov", "mdat", "free", "skip", "wide", "pnot"];

/** First bytes of streamed files, with at least 32 significant bits; \uffff stands for any byte. */
const STREAMED_SIGNATURES: readonly (readonly [Container, string])[] = [
  ["wav", "RIFF\uffff\uffff\uffff\uffffWAVE"],
  ["webm", "\x1a\x45\xdf\xa3"],
  ["ogg", "OggS\0"],
  ["flac", "fLaC"],
  // Boxes of an ISO file, with sizes below 64 KiB.
  ...["ftyp", "styp", "moof", "moov"].map((box) => ["mp4", `\0\0\uffff\uffff${box}`] as const),
  ...["\x02", "\x03", "\x04"].map((version) => ["mp3", `ID3${version}\0`] as const),
];
const ANY_BYTE = 0xffff;

/**
 * Detects the container from the first bytes of a file after any ID3 tag.
 *
 * Only binary signatures count, so files that refer to other files (playlists, SVG, scripts) are never
 * recognized. MPEG audio has no signature, so a second frame must follow exactly where the first one ends.
 *
 * @returns null for other formats
 */
export function detectContainer(head: Uint8Array): Container | null {
  if (has(head, 0, "RIFF") || has(head, 0, "RIFX") || has(head, 0, "RF64") || has(head, 0, "BW64")) {
    return has(head, 8, "WAVE") ? "wav" : null;
  }
  if (has(head, 0, "fLaC")) return "flac";
  if (has(head, 0, "OggS")) return "ogg";
  if (has(head, 0, "\x1a\x45\xdf\xa3")) return "webm";
  if (has(head, 0, "FORM") && (has(head, 8, "AIFF") || has(head, 8, "AIFC"))) return "aiff";
  if (has(head, 0, "caff")) return "caf";
  if (has(head, 0, "#!AMR")) return "amr";
  if (has(head, 0, ".snd")) return "au";
  if (MP4_BOXES.some((box) => has(head, 4, box))) return "mp4";
  if (findsTwoFrames(head, adtsFrameBytes)) return "aac";
  if (findsTwoFrames(head, mpegFrameBytes)) return "mp3";
  return null;
}

/**
 * Detects a live client that sends a file instead of samples. Samples may have any value, so a signature has
 * at least 32 bits; one session in four billion would match by chance.
 * @param head the first bytes so far
 * @returns null for samples; `open` while more bytes could still complete a signature
 */
export function detectStreamedFile(head: Uint8Array): Container | "open" | null {
  const possible = STREAMED_SIGNATURES.filter(([, signature]) => agrees(head, signature));
  const found = possible.find(([, { length }]) => length <= head.length);
  if (found !== undefined) return found[0];
  if (possible.length > 0) return "open";
  return beginsWithEqualFrames(head) ? "mp3" : null;
}

function agrees(head: Uint8Array, signature: string): boolean {
  for (let i = 0; i < Math.min(head.length, signature.length); i++) {
    const wanted = signature.charCodeAt(i);
    if (wanted !== ANY_BYTE && wanted !== head[i]) return false;
  }
  return true;
}

/** Finds two MPEG frames with equal headers: 19 bits of the second are known from the first. */
function beginsWithEqualFrames(first: Uint8Array): boolean {
  const bytes = mpegFrameBytes(first, 0);
  if (bytes === 0 || mpegFrameBytes(first, bytes) === 0) return false;
  return first[1] === first[bytes + 1] && (first[2]! & 0x0c) === (first[bytes + 2]! & 0x0c);
}

/** Length of an ID3v2 tag at the start of a file, 0 without one. @see id3.org, ID3v2.4 structure */
export function id3Bytes(head: Uint8Array): number {
  if (!has(head, 0, "ID3") || head.length < 10) return 0;
  const size = head.subarray(6, 10).reduce((total, byte) => total * 128 + (byte & 0x7f), 0);
  const footerBytes = (head[5]! & 0x10) === 0 ? 0 : 10;
  return 10 + size + footerBytes;
}

/** Returns whether an Ogg file's first stream is Opus, by its first page's only packet. @see RFC 7845 */
export function isOggOpus(head: Uint8Array): boolean {
  return has(head, 28, "OpusHead");
}

/** Finds a frame that another frame or the end of the file follows, after padding of up to half of `head`. */
function findsTwoFrames(head: Uint8Array, frameBytes: (head: Uint8Array, offset: number) => number): boolean {
  const lastStart = Math.min(head.length - 4, CONTAINER_HEAD_BYTES / 2);
  for (let offset = 0; offset <= lastStart; offset++) {
    if (head[offset] !== 0xff) continue;
    const bytes = frameBytes(head, offset);
    if (bytes === 0) continue;
    if (offset + bytes === head.length || frameBytes(head, offset + bytes) > 0) return true;
  }
  return false;
}

/** Length of the MPEG-1 or 2 audio frame at `offset`, 0 without one. @see ISO 11172-3, 2.4.1.3 */
function mpegFrameBytes(head: Uint8Array, offset: number): number {
  if (offset + 4 > head.length || head[offset] !== 0xff || (head[offset + 1]! & 0xe0) !== 0xe0) return 0;
  const version = (head[offset + 1]! >> 3) & 3;
  const layer = 4 - ((head[offset + 1]! >> 1) & 3);
  const rateHz = MPEG_RATES_HZ[(head[offset + 2]! >> 2) & 3];
  if (version === 1 || layer === 4 || rateHz === undefined) return 0;
  const isVersion1 = version === 3;
  const kbps = bitRates(isVersion1, layer)[head[offset + 2]! >> 4];
  if (kbps === undefined || kbps === 0) return 0;
  const frameRateHz = isVersion1 ? rateHz : version === 2 ? rateHz / 2 : rateHz / 4;
  const padding = (head[offset + 2]! >> 1) & 1;
  if (layer === 1) return (Math.floor((12_000 * kbps) / frameRateHz) + padding) * 4;
  const samplesPer8 = layer === 3 && !isVersion1 ? 72 : 144;
  return Math.floor((samplesPer8 * 1_000 * kbps) / frameRateHz) + padding;
}

function bitRates(isVersion1: boolean, layer: number): readonly number[] {
  if (!isVersion1) return layer === 1 ? MPEG_KBPS.v2Layer1 : MPEG_KBPS.v2Layer2;
  return layer === 1 ? MPEG_KBPS.v1Layer1 : layer === 2 ? MPEG_KBPS.v1Layer2 : MPEG_KBPS.v1Layer3;
}

/** Length of the ADTS frame at `offset`, 0 without one. @see ISO 13818-7, 6.2 */
function adtsFrameBytes(head: Uint8Array, offset: number): number {
  if (offset + 7 > head.length || head[offset] !== 0xff || (head[offset + 1]! & 0xf6) !== 0xf0) return 0;
  const rateIndex = (head[offset + 2]! >> 2) & 15;
  const bytes = ((head[offset + 3]! & 3) << 11) | (head[offset + 4]! << 3) | (head[offset + 5]! >> 5);
  return rateIndex < 13 && bytes > 7 ? bytes : 0;
}

function has(bytes: Uint8Array, offset: number, signature: string): boolean {
  if (bytes.length < offset + signature.length) return false;
  for (let i = 0; i < signature.length; i++) {
    if (bytes[offset + i] !== signature.charCodeAt(i)) return false;
  }
  return true;
}
