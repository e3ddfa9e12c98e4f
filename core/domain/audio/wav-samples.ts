import { ALAW_SAMPLES, MULAW_SAMPLES } from "./g711.js";
import { parseWavHeader, type WavHeader } from "./wav.js";

const NOTHING = new Float32Array(0);

/**
 * Converts the bytes of a WAVE file, cut anywhere, to mono samples at the file's rate.
 *
 * Channels are averaged. Float samples beyond -1 to 1 are clipped, NaN becomes silence. Bytes after the
 * samples and an incomplete last block are ignored.
 */
export class WavSampleReader {
  readonly #totalBytes: number | undefined;
  readonly #channel: number | undefined;
  #header: WavHeader | null = null;
  /** All bytes so far until the header is known, then the start of a block. */
  #held: Uint8Array = new Uint8Array(0);
  #remainingBytes = Number.POSITIVE_INFINITY;
  #sampleCount = 0;

  /**
   * @param totalBytes length of the whole file, when known
   * @param channel as in `decodeBlocks`
   */
  constructor(totalBytes?: number, channel?: number) {
    this.#totalBytes = totalBytes;
    this.#channel = channel;
  }

  /** Null until enough bytes have arrived. */
  get header(): WavHeader | null {
    return this.#header;
  }

  /** Mono samples returned so far. */
  get sampleCount(): number {
    return this.#sampleCount;
  }

  /** @throws {ServiceError} `AUDIO_UNREADABLE` if the header is invalid */
  push(bytes: Uint8Array): Float32Array {
    if (this.#remainingBytes === 0) return NOTHING;
    const joined = this.#held.length === 0 ? bytes : concat(this.#held, bytes);
    if (this.#header !== null) return this.#decode(this.#header, joined);
    const header = parseWavHeader(joined, this.#totalBytes);
    if (header === null) {
      this.#held = joined === bytes ? bytes.slice() : joined;
      return NOTHING;
    }
    this.#header = header;
    this.#remainingBytes = header.dataBytes ?? Number.POSITIVE_INFINITY;
    return this.#decode(header, joined.subarray(header.dataOffset));
  }

  /** Ends the file. @throws {ServiceError} `AUDIO_UNREADABLE` when it ended before its samples */
  end(): void {
    if (this.#header === null) parseWavHeader(this.#held, this.#held.length);
  }

  #decode(header: WavHeader, bytes: Uint8Array): Float32Array {
    const usable = bytes.length > this.#remainingBytes ? bytes.subarray(0, this.#remainingBytes) : bytes;
    const blockCount = Math.floor(usable.length / header.blockBytes);
    const usedBytes = blockCount * header.blockBytes;
    this.#held = usable.slice(usedBytes);
    this.#remainingBytes -= usedBytes;
    this.#sampleCount += blockCount;
    return blockCount === 0 ? NOTHING : decodeBlocks(header, usable.subarray(0, usedBytes), this.#channel);
  }
}

/**
 * Converts whole blocks to mono samples.
 * @param channel the only one to read, from 0; by default all are averaged
 */
export function decodeBlocks(header: WavHeader, bytes: Uint8Array, channel?: number): Float32Array {
  const samples = new Float32Array(bytes.length / header.blockBytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = sampleReader(header);
  const sampleBytes = header.bitsPerSample / 8;
  if (channel !== undefined) {
    const first = channel * sampleBytes;
    for (let i = 0; i < samples.length; i++) samples[i] = read(view, first + i * header.blockBytes);
    return samples;
  }
  let offset = 0;
  for (let i = 0; i < samples.length; i++) {
    let sum = 0;
    for (let channel = 0; channel < header.channels; channel++, offset += sampleBytes)
      sum += read(view, offset);
    samples[i] = sum / header.channels;
  }
  return samples;
}

type ReadSample = (view: DataView, offset: number) => number;

const PCM_READERS: ReadonlyMap<number, ReadSample> = new Map<number, ReadSample>([
  [8, (view, offset) => (view.getUint8(offset) - 128) / 128],
  [16, (view, offset) => view.getInt16(offset, true) / 32_768],
  [24, (view, offset) => ((view.getInt8(offset + 2) << 16) | view.getUint16(offset, true)) / 8_388_608],
  [32, (view, offset) => view.getInt32(offset, true) / 2_147_483_648],
]);

function sampleReader(header: WavHeader): ReadSample {
  switch (header.format) {
    case "pcm":
      return PCM_READERS.get(header.bitsPerSample)!;
    case "alaw":
      return (view, offset) => ALAW_SAMPLES[view.getUint8(offset)]!;
    case "mulaw":
      return (view, offset) => MULAW_SAMPLES[view.getUint8(offset)]!;
    case "float":
      return header.bitsPerSample === 32
        ? (view, offset) => clipped(view.getFloat32(offset, true))
        : (view, offset) => clipped(view.getFloat64(offset, true));
  }
}

function clipped(value: number): number {
  // NaN fails both comparisons, infinities do not.
  if (value >= -1 && value <= 1) return value;
  return value > 1 ? 1 : value < -1 ? -1 : 0;
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
