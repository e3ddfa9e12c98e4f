/** Properties of a file that its frames may omit. */
export interface FlacStreamInfo {
  readonly sampleRateHz: number;
  readonly bitsPerSample: number;
}

/** One decoded frame, with the same members as frames of other decoders. */
export interface FlacFrame {
  /** Samples by channel, from -1 to 1. Up to 24 bits are exact. */
  readonly channelData: readonly Float32Array[];
  readonly samplesDecoded: number;
  readonly sampleRate: number;
}

interface FrameHeader {
  readonly samples: number;
  readonly sampleRateHz: number;
  readonly channels: number;
  readonly stereo: "independent" | "left-side" | "side-right" | "mid-side";
  readonly bitsPerSample: number;
}

const RATES_HZ = [88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
/** Bits per sample by code. 0 stands for the file's own value, null for an invalid code. */
const SAMPLE_BITS = [0, 8, 12, null, 16, 20, 24, 32];
const STEREO = ["left-side", "side-right", "mid-side"] as const;
/** Coefficients of the fixed predictors, by order. */
const FIXED = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];
const CRC8 = table(8, 0x07);
const CRC16 = table(16, 0x8005);

/** Returns whether a frame could start here, with a fixed or variable block size. */
export function isFlacSync(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0xff && (bytes[at + 1]! & 0xfe) === 0xf8;
}

/**
 * Decodes one frame and verifies its checksum.
 *
 * @returns null if there is no frame, or a damaged one
 * @throws {NeedsMoreBytes}
 */
export function decodeFlacFrame(bits: FlacBits, info: FlacStreamInfo): FlacFrame | null {
  const header = readHeader(bits, info);
  if (header === null) return null;
  const channels: Float64Array[] = [];
  for (let i = 0; i < header.channels; i++) {
    const channel = readSubframe(bits, header.samples, header.bitsPerSample + (isSide(header, i) ? 1 : 0));
    if (channel === null) return null;
    channels.push(channel);
  }
  bits.alignToByte();
  const checksum = crc16(bits.bytes.subarray(0, bits.byteOffset));
  if (bits.unsigned(16) !== checksum) return null;
  uncouple(channels, header.stereo);
  const scale = 2 ** (1 - header.bitsPerSample);
  const channelData = channels.map((channel) => scaled(channel, scale));
  return { channelData, samplesDecoded: header.samples, sampleRate: header.sampleRateHz };
}

function readHeader(bits: FlacBits, info: FlacStreamInfo): FrameHeader | null {
  bits.unsigned(16);
  const sizeCode = bits.unsigned(4);
  const rateCode = bits.unsigned(4);
  const channelCode = bits.unsigned(4);
  const bitsPerSample = SAMPLE_BITS[bits.unsigned(3)];
  if (bits.unsigned(1) !== 0 || sizeCode === 0 || rateCode === 15 || channelCode > 10) return null;
  if (bitsPerSample == null || !skipNumber(bits)) return null;
  const samples = readBlockSize(bits, sizeCode);
  const sampleRateHz = readRate(bits, rateCode) ?? info.sampleRateHz;
  const head = bits.bytes.subarray(0, bits.byteOffset);
  if (bits.unsigned(8) !== head.reduce((crc, byte) => CRC8[crc ^ byte]!, 0) || sampleRateHz === 0)
    return null;
  return {
    samples,
    sampleRateHz,
    channels: channelCode < 8 ? channelCode + 1 : 2,
    stereo: STEREO[channelCode - 8] ?? "independent",
    bitsPerSample: bitsPerSample || info.bitsPerSample,
  };
}

/** Skips the frame or sample number, which has up to 36 bits in a UTF-8-like encoding. */
function skipNumber(bits: FlacBits): boolean {
  const first = bits.unsigned(8);
  const ones = Math.clz32(~(first << 24));
  if (ones === 0) return true;
  if (ones === 1 || ones > 7) return false;
  for (let i = 1; i < ones; i++) {
    if (bits.unsigned(8) >>> 6 !== 2) return false;
  }
  return true;
}

function readBlockSize(bits: FlacBits, code: number): number {
  if (code === 1) return 192;
  if (code <= 5) return 144 << code;
  if (code === 6) return bits.unsigned(8) + 1;
  return code === 7 ? bits.unsigned(16) + 1 : 1 << code;
}

/** Reads the sample rate; null for the file's own rate. */
function readRate(bits: FlacBits, code: number): number | null {
  if (code === 12) return bits.unsigned(8) * 1_000;
  if (code === 13) return bits.unsigned(16);
  if (code === 14) return bits.unsigned(16) * 10;
  return code === 0 ? null : RATES_HZ[code - 1]!;
}

function isSide({ stereo }: FrameHeader, channel: number): boolean {
  return channel === 0 ? stereo === "side-right" : stereo === "left-side" || stereo === "mid-side";
}

/** Reads the samples of one channel; null if they are invalid. */
function readSubframe(bits: FlacBits, samples: number, depth: number): Float64Array | null {
  if (bits.unsigned(1) !== 0) return null;
  const type = bits.unsigned(6);
  const wasted = bits.unsigned(1) === 0 ? 0 : bits.zeros() + 1;
  const kept = depth - wasted;
  if (kept <= 0) return null;
  const channel = new Float64Array(samples);
  if (!readSamples(bits, channel, type, kept)) return null;
  if (wasted > 0) for (let i = 0; i < samples; i++) channel[i] = channel[i]! * 2 ** wasted;
  return channel;
}

function readSamples(bits: FlacBits, channel: Float64Array, type: number, depth: number): boolean {
  if (type === 0) {
    channel.fill(bits.signed(depth));
    return true;
  }
  if (type === 1) {
    for (let i = 0; i < channel.length; i++) channel[i] = bits.signed(depth);
    return true;
  }
  const isLinear = type >= 32;
  const order = isLinear ? type - 31 : type - 8;
  if (order < 0 || (!isLinear && order > 4) || order > channel.length) return false;
  for (let i = 0; i < order; i++) channel[i] = bits.signed(depth);
  let coefficients: readonly number[] = FIXED[order] ?? [];
  let shift = 0;
  if (isLinear) {
    const precision = bits.unsigned(4) + 1;
    shift = bits.signed(5);
    if (precision === 16 || shift < 0) return false;
    coefficients = Array.from({ length: order }, () => bits.signed(precision));
  }
  if (!readResidual(bits, channel, order)) return false;
  predict(channel, Float64Array.from(coefficients), 2 ** shift);
  return true;
}

/** Reads the residual of the prediction, in partitions with one parameter each. */
function readResidual(bits: FlacBits, channel: Float64Array, order: number): boolean {
  const method = bits.unsigned(2);
  if (method > 1) return false;
  const parameterBits = 4 + method;
  const escaped = 2 ** parameterBits - 1;
  const partitions = 1 << bits.unsigned(4);
  const size = channel.length / partitions;
  if (!Number.isInteger(size) || size < order) return false;
  for (let i = 0; i < partitions; i++) {
    const start = i === 0 ? order : i * size;
    const parameter = bits.unsigned(parameterBits);
    if (parameter < escaped) bits.rice(channel, start, (i + 1) * size, parameter);
    else {
      const depth = bits.unsigned(5);
      for (let at = start; at < (i + 1) * size; at++) channel[at] = bits.signed(depth);
    }
  }
  return true;
}

/** Sums stay below 2^53: 33 bits per sample, 15 bits per coefficient, 32 coefficients. */
function predict(channel: Float64Array, coefficients: Float64Array, divisor: number): void {
  const order = coefficients.length;
  // This is exact, since the divisor is a power of two.
  const factor = 1 / divisor;
  for (let i = order; i < channel.length; i++) {
    let sum = 0;
    for (let j = 0, at = i - 1; j < order; j++, at--) sum += coefficients[j]! * channel[at]!;
    channel[i] = channel[i]! + Math.floor(sum * factor);
  }
}

/** Restores left and right from the stored channels. */
function uncouple(channels: readonly Float64Array[], stereo: FrameHeader["stereo"]): void {
  if (stereo === "independent") return;
  const [first, second] = channels as readonly [Float64Array, Float64Array];
  for (let i = 0; i < first.length; i++) {
    const a = first[i]!;
    const b = second[i]!;
    if (stereo === "left-side") second[i] = a - b;
    else if (stereo === "side-right") first[i] = a + b;
    else {
      // The sum was halved. Its lost last bit equals that of the difference.
      const sum = 2 * a + Math.abs(b % 2);
      first[i] = (sum + b) / 2;
      second[i] = (sum - b) / 2;
    }
  }
}

function scaled(channel: Float64Array, scale: number): Float32Array {
  const samples = new Float32Array(channel.length);
  for (let i = 0; i < channel.length; i++) samples[i] = channel[i]! * scale;
  return samples;
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (let i = 0; i < bytes.length; i++) crc = ((crc << 8) & 0xffff) ^ CRC16[(crc >>> 8) ^ bytes[i]!]!;
  return crc;
}

/** Computes the CRC of each byte value, highest bit first. */
function table(width: number, polynomial: number): Uint16Array {
  const top = 1 << (width - 1);
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) crc = (crc & top) === 0 ? crc << 1 : (crc << 1) ^ polynomial;
    return crc & (2 * top - 1);
  });
}

/** Thrown if the available bytes end before the frame does. */
export class NeedsMoreBytes extends Error {
  override readonly name = "NeedsMoreBytes";
}

/** Shared, because a stack trace for each incomplete frame would cost more than reading the frame. */
const NEEDS_MORE = new NeedsMoreBytes("the frame goes on");

/** Reads the bits of one frame, starting with the highest bit of each byte. */
export class FlacBits {
  readonly bytes: Uint8Array;
  #bit = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get byteOffset(): number {
    return (this.#bit + 7) >>> 3;
  }

  alignToByte(): void {
    this.#bit = this.byteOffset * 8;
  }

  /** Reads an unsigned number. @param count number of bits, 0 to 33 */
  unsigned(count: number): number {
    if (count > 24) {
      const high = this.unsigned(count - 16);
      return high * 65_536 + this.unsigned(16);
    }
    const end = this.#bit + count;
    if (end > this.bytes.length * 8) throw NEEDS_MORE;
    const word = this.#word(this.#bit >>> 3);
    const value = count === 0 ? 0 : (word << (this.#bit & 7)) >>> (32 - count);
    this.#bit = end;
    return value;
  }

  /** Reads a signed number in two's complement. @param count 0 to 33 */
  signed(count: number): number {
    if (count === 0) return 0;
    const value = this.unsigned(count);
    return value >= 2 ** (count - 1) ? value - 2 ** count : value;
  }

  /** Reads a unary number: counts zero bits up to the next 1 bit, and consumes it. */
  zeros(): number {
    const start = this.#bit;
    for (;;) {
      const at = this.#bit >>> 3;
      if (at >= this.bytes.length) throw NEEDS_MORE;
      const inByte = this.#bit & 7;
      const rest = (this.bytes[at]! << (24 + inByte)) >>> 0;
      const leading = Math.clz32(rest);
      if (leading < 8 - inByte) {
        this.#bit += leading + 1;
        return this.#bit - start - 1;
      }
      this.#bit += 8 - inByte;
    }
  }

  /**
   * Reads Rice-coded numbers: a unary quotient, then `parameter` bits. The lowest bit of the result is the
   * sign.
   *
   * @param parameter 0 to 30
   */
  rice(target: Float64Array, start: number, end: number, parameter: number): void {
    const { bytes } = this;
    const factor = 2 ** parameter;
    let bit = this.#bit;
    for (let i = start; i < end; i++) {
      const at = bit >>> 3;
      // Fast path: most numbers fit into four bytes.
      if (at + 4 <= bytes.length) {
        const word = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
        const rest = word << (bit & 7);
        const quotient = Math.clz32(rest);
        const used = quotient + 1 + parameter;
        if (used <= 25) {
          const low = parameter === 0 ? 0 : (rest << (quotient + 1)) >>> (32 - parameter);
          const folded = (quotient << parameter) | low;
          target[i] = (folded >>> 1) ^ -(folded & 1);
          bit += used;
          continue;
        }
      }
      this.#bit = bit;
      const folded = this.zeros() * factor + this.unsigned(parameter);
      target[i] = folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
      bit = this.#bit;
    }
    this.#bit = bit;
  }

  /** Reads four bytes as one number. Bytes after the end count as zero. */
  #word(at: number): number {
    const { bytes } = this;
    const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
    return high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
  }
}
