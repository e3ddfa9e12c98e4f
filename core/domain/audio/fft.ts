/**
 * Discrete Fourier transform of one length, fast for small prime factors. Allocates its tables once; not
 * re-entrant.
 * @see Cooley and Tukey, 1965, decimation in time with mixed radices.
 */
export class Fft {
  readonly size: number;
  readonly #radices: readonly number[];
  /** `exp(-2 pi i k / size)`. */
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;
  readonly #inReal: Float64Array;
  readonly #inImaginary: Float64Array;
  readonly #real: Float64Array;
  readonly #imaginary: Float64Array;
  readonly #termReal: Float64Array;
  readonly #termImaginary: Float64Array;

  /** @throws {RangeError} when `size` is not a positive integer */
  constructor(size: number) {
    if (!Number.isInteger(size) || size < 1)
      throw new RangeError(`size of a transform must be a positive integer, received ${size}`);
    this.size = size;
    this.#radices = radicesOf(size);
    this.#cos = Float64Array.from({ length: size }, (_, k) => Math.cos((2 * Math.PI * k) / size));
    this.#sin = Float64Array.from({ length: size }, (_, k) => -Math.sin((2 * Math.PI * k) / size));
    this.#inReal = new Float64Array(size);
    this.#inImaginary = new Float64Array(size);
    this.#real = new Float64Array(size);
    this.#imaginary = new Float64Array(size);
    const widest = Math.max(1, ...this.#radices);
    this.#termReal = new Float64Array(widest);
    this.#termImaginary = new Float64Array(widest);
  }

  /** Transforms `real` and `imaginary`, `[size]` each, in place. */
  transform(real: Float64Array, imaginary: Float64Array): void {
    this.#inReal.set(real);
    this.#inImaginary.set(imaginary);
    this.#recurse(this.size, 0, 1, 0, 0);
    real.set(this.#real);
    imaginary.set(this.#imaginary);
  }

  /**
   * Computes squared magnitudes of the transform of a real signal.
   *
   * @param signal at most `size` samples, padded with zeros
   * @param power receives bins 0 to `floor(size / 2)`
   */
  powerSpectrum(signal: Float64Array, power: Float64Array): void {
    this.#inReal.fill(0).set(signal);
    this.#inImaginary.fill(0);
    this.#recurse(this.size, 0, 1, 0, 0);
    for (let bin = 0; bin <= this.size >> 1; bin++) {
      power[bin] = this.#real[bin]! ** 2 + this.#imaginary[bin]! ** 2;
    }
  }

  /**
   * Transform of the `size` inputs at `from`, `from + stride`, ..., into the outputs at `to` and after it.
   */
  #recurse(size: number, from: number, stride: number, to: number, depth: number): void {
    const radix = this.#radices[depth];
    if (radix === undefined) {
      this.#real[to] = this.#inReal[from]!;
      this.#imaginary[to] = this.#inImaginary[from]!;
      return;
    }
    const part = size / radix;
    for (let r = 0; r < radix; r++) {
      this.#recurse(part, from + r * stride, stride * radix, to + r * part, depth + 1);
    }
    for (let k = 0; k < part; k++) this.#butterfly(radix, part, stride, to + k, k);
  }

  /** Combines element `k` of `radix` partial transforms at a distance of `part`. */
  #butterfly(radix: number, part: number, stride: number, to: number, k: number): void {
    for (let r = 0; r < radix; r++) {
      const at = to + r * part;
      const turn = r * k * stride;
      const cos = this.#cos[turn]!;
      const sin = this.#sin[turn]!;
      this.#termReal[r] = this.#real[at]! * cos - this.#imaginary[at]! * sin;
      this.#termImaginary[r] = this.#real[at]! * sin + this.#imaginary[at]! * cos;
    }
    const turnStep = this.size / radix;
    for (let q = 0; q < radix; q++) {
      let real = 0;
      let imaginary = 0;
      for (let r = 0; r < radix; r++) {
        const turn = ((r * q) % radix) * turnStep;
        const cos = this.#cos[turn]!;
        const sin = this.#sin[turn]!;
        real += this.#termReal[r]! * cos - this.#termImaginary[r]! * sin;
        imaginary += this.#termReal[r]! * sin + this.#termImaginary[r]! * cos;
      }
      this.#real[to + q * part] = real;
      this.#imaginary[to + q * part] = imaginary;
    }
  }
}

/** Factors of `size`, fours first: one pass of radix 4 is cheaper than two of radix 2. */
function radicesOf(size: number): number[] {
  const radices: number[] = [];
  let rest = size;
  for (let radix = 4; rest > 1; radix = radix === 4 ? 2 : radix === 2 ? 3 : radix + 2) {
    for (; rest % radix === 0; rest /= radix) radices.push(radix);
  }
  return radices;
}
