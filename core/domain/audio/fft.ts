/** `exp(-2 pi i k / size)` for each `k` below `size`. */
interface Turns {
  readonly cos: Float64Array;
  readonly sin: Float64Array;
}

/** Joins groups of `radix` transforms of `part` elements each. */
interface Stage {
  readonly radix: number;
  readonly part: number;
}

/** `[size]` complex numbers. */
interface Complexes {
  readonly real: Float64Array;
  readonly imaginary: Float64Array;
}

/**
 * Discrete Fourier transform of one length, fast for small prime factors. Allocates its tables once; not
 * re-entrant.
 * @see Cooley and Tukey, 1965, decimation in time with mixed radices.
 */
export class Fft {
  readonly size: number;
  readonly #turns: Turns;
  /** Index of the input that each element is before the first stage. */
  readonly #order: Uint32Array;
  readonly #stages: readonly Stage[];
  readonly #work: Complexes;
  readonly #terms: Complexes;
  /** For real signals of even length; created when needed. */
  #half: Fft | null = null;

  /** @throws {RangeError} when `size` is not a positive integer */
  constructor(size: number) {
    if (!Number.isInteger(size) || size < 1)
      throw new RangeError(`size of a transform must be a positive integer, received ${size}`);
    const radices = radicesOf(size);
    this.size = size;
    this.#turns = {
      cos: Float64Array.from({ length: size }, (_, k) => Math.cos((2 * Math.PI * k) / size)),
      sin: Float64Array.from({ length: size }, (_, k) => -Math.sin((2 * Math.PI * k) / size)),
    };
    this.#order = Uint32Array.from(orderOf(size, radices));
    let part = 1;
    this.#stages = radices.toReversed().map((radix) => {
      const stage = { radix, part };
      part *= radix;
      return stage;
    });
    this.#work = complexes(size);
    this.#terms = complexes(Math.max(1, ...radices));
  }

  /** Transforms `real` and `imaginary`, `[size]` each, in place. */
  transform(real: Float64Array, imaginary: Float64Array): void {
    const work = this.#work;
    for (let at = 0; at < this.size; at++) {
      work.real[at] = real[this.#order[at]!]!;
      work.imaginary[at] = imaginary[this.#order[at]!]!;
    }
    this.#join();
    real.set(work.real);
    imaginary.set(work.imaginary);
  }

  /**
   * Computes squared magnitudes of the transform of a real signal.
   *
   * @param signal at most `size` samples, padded with zeros
   * @param power receives bins 0 to `floor(size / 2)`
   */
  powerSpectrum(signal: Float64Array, power: Float64Array): void {
    if (this.size % 2 === 0) {
      this.#half ??= new Fft(this.size / 2);
      this.#powerOfPairs(this.#half.#transformPairs(signal), power);
      return;
    }
    const { real, imaginary } = this.#work;
    for (let at = 0; at < this.size; at++) real[at] = sampleOf(signal, this.#order[at]!);
    imaginary.fill(0);
    this.#join();
    for (let bin = 0; bin <= this.size >> 1; bin++) power[bin] = real[bin]! ** 2 + imaginary[bin]! ** 2;
  }

  /** Transforms a real signal of twice the length, with its odd samples as imaginary parts. */
  #transformPairs(signal: Float64Array): Complexes {
    const { real, imaginary } = this.#work;
    for (let at = 0; at < this.size; at++) {
      const index = 2 * this.#order[at]!;
      real[at] = sampleOf(signal, index);
      imaginary[at] = sampleOf(signal, index + 1);
    }
    this.#join();
    return this.#work;
  }

  /**
   * Separates the transforms of the even and the odd samples, which are conjugate-symmetric and
   * -antisymmetric, and joins them as a stage of radix 2.
   */
  #powerOfPairs({ real, imaginary }: Complexes, power: Float64Array): void {
    const { cos, sin } = this.#turns;
    const half = real.length;
    for (let bin = 0; bin <= half; bin++) {
      const at = bin % half;
      const mirrored = (half - bin) % half;
      const evenReal = (real[at]! + real[mirrored]!) / 2;
      const evenImaginary = (imaginary[at]! - imaginary[mirrored]!) / 2;
      const oddReal = (imaginary[at]! + imaginary[mirrored]!) / 2;
      const oddImaginary = (real[mirrored]! - real[at]!) / 2;
      power[bin] =
        (evenReal + oddReal * cos[bin]! - oddImaginary * sin[bin]!) ** 2 +
        (evenImaginary + oddReal * sin[bin]! + oddImaginary * cos[bin]!) ** 2;
    }
  }

  #join(): void {
    for (const { radix, part } of this.#stages) {
      if (radix === 4) joinFours(part, this.#turns, this.#work);
      else joinAny(radix, part, this.#turns, this.#work, this.#terms);
    }
  }
}

function complexes(size: number): Complexes {
  return { real: new Float64Array(size), imaginary: new Float64Array(size) };
}

function sampleOf(signal: Float64Array, index: number): number {
  return index < signal.length ? signal[index]! : 0;
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

/** Returns the indices of `size` inputs in groups that the last radix joins first. */
function orderOf(size: number, radices: readonly number[], from = 0, stride = 1): number[] {
  const [radix, ...rest] = radices;
  if (radix === undefined) return [from];
  return Array.from({ length: radix }, (_, r) =>
    orderOf(size / radix, rest, from + r * stride, stride * radix),
  ).flat();
}

function joinFours(part: number, { cos, sin }: Turns, { real, imaginary }: Complexes): void {
  const size = real.length;
  const stride = size / (4 * part);
  for (let k = 0; k < part; k++) {
    const turn = k * stride;
    const cosB = cos[turn]!;
    const sinB = sin[turn]!;
    const cosC = cos[2 * turn]!;
    const sinC = sin[2 * turn]!;
    const cosD = cos[3 * turn]!;
    const sinD = sin[3 * turn]!;
    for (let a = k; a < size; a += 4 * part) {
      const b = a + part;
      const c = b + part;
      const d = c + part;
      const realB = real[b]! * cosB - imaginary[b]! * sinB;
      const imaginaryB = real[b]! * sinB + imaginary[b]! * cosB;
      const realC = real[c]! * cosC - imaginary[c]! * sinC;
      const imaginaryC = real[c]! * sinC + imaginary[c]! * cosC;
      const realD = real[d]! * cosD - imaginary[d]! * sinD;
      const imaginaryD = real[d]! * sinD + imaginary[d]! * cosD;
      const realEven = real[a]! + realC;
      const imaginaryEven = imaginary[a]! + imaginaryC;
      const realOdd = real[a]! - realC;
      const imaginaryOdd = imaginary[a]! - imaginaryC;
      real[a] = realEven + realB + realD;
      imaginary[a] = imaginaryEven + imaginaryB + imaginaryD;
      real[b] = realOdd + imaginaryB - imaginaryD;
      imaginary[b] = imaginaryOdd - realB + realD;
      real[c] = realEven - realB - realD;
      imaginary[c] = imaginaryEven - imaginaryB - imaginaryD;
      real[d] = realOdd - imaginaryB + imaginaryD;
      imaginary[d] = imaginaryOdd + realB - realD;
    }
  }
}

/** @param terms room for `radix` numbers */
function joinAny(
  radix: number,
  part: number,
  { cos, sin }: Turns,
  { real, imaginary }: Complexes,
  terms: Complexes,
): void {
  const size = real.length;
  const stride = size / (radix * part);
  const turnStep = size / radix;
  for (let k = 0; k < part; k++) {
    for (let start = k; start < size; start += radix * part) {
      for (let r = 0; r < radix; r++) {
        const at = start + r * part;
        const turn = r * k * stride;
        terms.real[r] = real[at]! * cos[turn]! - imaginary[at]! * sin[turn]!;
        terms.imaginary[r] = real[at]! * sin[turn]! + imaginary[at]! * cos[turn]!;
      }
      for (let q = 0; q < radix; q++) {
        let sumReal = 0;
        let sumImaginary = 0;
        for (let r = 0, turn = 0; r < radix; r++) {
          sumReal += terms.real[r]! * cos[turn]! - terms.imaginary[r]! * sin[turn]!;
          sumImaginary += terms.real[r]! * sin[turn]! + terms.imaginary[r]! * cos[turn]!;
          turn += q * turnStep;
          if (turn >= size) turn -= size;
        }
        real[start + q * part] = sumReal;
        imaginary[start + q * part] = sumImaginary;
      }
    }
  }
}
