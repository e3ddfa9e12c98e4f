/**
 * White Gaussian noise of unit variance from a seeded generator: the same seed always gives the same samples.
 * @see Steele and Vigna, "Computationally easy, spectrally good multipliers", 2022, for the mixing (splitmix32);
 *   Box and Muller, 1958.
 */
export function gaussianNoise(length: number, seed: number): Float32Array {
  const noise = new Float32Array(length);
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    // Never 0, whose logarithm is not finite.
    return ((mixed >>> 0) + 0.5) / 4_294_967_296;
  };
  for (let i = 0; i < length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    noise[i] = radius * Math.cos(angle);
    if (i + 1 < length) noise[i + 1] = radius * Math.sin(angle);
  }
  return noise;
}

/** A seed for a text, so that the same request sounds the same each time (FNV-1a over UTF-16 units). */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
