/**
 * Returns white Gaussian noise of unit variance; the same seed always gives the same samples.
 * @see Steele and Vigna, "Computationally easy, spectrally good multipliers", 2022, for the mixing
 * (splitmix32); Box and Muller, 1958.
 */
export function gaussianNoise(length: number, seed: number): Float32Array {
  return new GaussianNoise(length, seed).upTo(length);
}

/** The same noise, generated only as far as needed. */
export class GaussianNoise {
  readonly #noise: Float32Array;
  #state: number;
  #drawn = 0;

  constructor(length: number, seed: number) {
    this.#noise = new Float32Array(length);
    this.#state = seed >>> 0;
  }

  /** @returns `[length]`, generated up to the largest `end` so far */
  upTo(end: number): Float32Array {
    const noise = this.#noise;
    let i = this.#drawn;
    for (; i < end; i += 2) {
      const radius = Math.sqrt(-2 * Math.log(this.#uniform()));
      const angle = 2 * Math.PI * this.#uniform();
      noise[i] = radius * Math.cos(angle);
      if (i + 1 < noise.length) noise[i + 1] = radius * Math.sin(angle);
    }
    this.#drawn = i;
    return noise;
  }

  #uniform(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    // Never 0, for the logarithm.
    return ((mixed >>> 0) + 0.5) / 4_294_967_296;
  }
}

/** Returns a seed for a text, so that the same request always sounds the same (FNV-1a over UTF-16 units). */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
