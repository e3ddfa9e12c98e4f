export const EMPTY_WORD_HASH = 2166136261;

/** Adds a letter to a word's hash: 32-bit FNV-1a over output tokens. */
export function extendWordHash(wordHash: number, token: number): number {
  return Math.imul(wordHash ^ token, 16777619) >>> 0;
}

/** Words of the training text, as sorted hashes: 4 bytes a word, one false positive in about 3,000. */
export class Lexicon {
  readonly #hashes: Uint32Array;

  private constructor(hashes: Uint32Array) {
    this.#hashes = hashes;
  }

  /** @param gaps differences of the sorted hashes */
  static fromGaps(gaps: Uint32Array): Lexicon {
    const hashes = new Uint32Array(gaps.length);
    let hash = 0;
    for (let i = 0; i < gaps.length; i++) {
      hash += gaps[i]!;
      hashes[i] = hash;
    }
    return new Lexicon(hashes);
  }

  get memoryBytes(): number {
    return this.#hashes.byteLength;
  }

  has(wordHash: number): boolean {
    let low = 0;
    let high = this.#hashes.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const hash = this.#hashes[middle]!;
      if (hash === wordHash) return true;
      if (hash < wordHash) low = middle + 1;
      else high = middle - 1;
    }
    return false;
  }
}
