/** The available bytes end before the frame does. */
export class NeedsMoreBytes extends Error {
  override readonly name = "NeedsMoreBytes";
}

/** Shared: a stack trace for each incomplete frame would cost more than reading it. */
const NEEDS_MORE = new NeedsMoreBytes("the frame goes on");

/** Reads the bits of one frame, the highest of a byte first. */
export class FlacBits {
  readonly bytes: Uint8Array;
  #bit = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The offset of the next whole byte. */
  get byteOffset(): number {
    return (this.#bit + 7) >>> 3;
  }

  alignToByte(): void {
    this.#bit = this.byteOffset * 8;
  }

  /** @param count 0 to 33 */
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

  /** Two's complement. @param count 0 to 33 */
  signed(count: number): number {
    if (count === 0) return 0;
    const value = this.unsigned(count);
    return value >= 2 ** (count - 1) ? value - 2 ** count : value;
  }

  /** Counts the zeros before the next one, and reads that too. */
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
   * Reads Rice-coded numbers: a unary quotient, then `parameter` bits, with the sign in the lowest bit.
   *
   * @param parameter 0 to 30
   */
  rice(target: Float64Array, start: number, end: number, parameter: number): void {
    const { bytes } = this;
    const factor = 2 ** parameter;
    let bit = this.#bit;
    for (let i = start; i < end; i++) {
      const at = bit >>> 3;
      // Most numbers fit in four bytes.
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

  /** Reads four bytes as one number; bytes behind the end count as zero. */
  #word(at: number): number {
    const { bytes } = this;
    const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
    return high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
  }
}
