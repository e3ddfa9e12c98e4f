/** Hash of no letters yet; see `extendWordHash`. */
export const EMPTY_WORD_HASH = 2166136261;

/** Hash of a word one letter longer: 32-bit FNV-1a over output tokens, kept up letter by letter by the decoder. */
export function extendWordHash(wordHash: number, token: number): number {
  return Math.imul(wordHash ^ token, 16777619) >>> 0;
}

/** Words seen in the training text, as sorted hashes: 5 bytes a word, one false acquaintance in about 3,000. */
export class Lexicon {
  readonly #hashes: Uint32Array;
  readonly #codes: Uint8Array;
  readonly #codeBook: Float32Array;

  private constructor(hashes: Uint32Array, codes: Uint8Array, codeBook: Float32Array) {
    this.#hashes = hashes;
    this.#codes = codes;
    this.#codeBook = codeBook;
  }

  /** @param gaps differences of the sorted hashes; @param codes index of each word's log-prob in `codeBook` */
  static fromGaps(gaps: Uint32Array, codes: Uint8Array, codeBook: Float32Array): Lexicon {
    const hashes = new Uint32Array(gaps.length);
    let hash = 0;
    for (let i = 0; i < gaps.length; i++) {
      hash += gaps[i]!;
      hashes[i] = hash;
    }
    // A copy, so that the bytes of the file can be freed.
    return new Lexicon(hashes, codes.slice(), codeBook);
  }

  get memoryBytes(): number {
    return this.#hashes.byteLength + this.#codes.byteLength;
  }

  get size(): number {
    return this.#hashes.length;
  }

  has(wordHash: number): boolean {
    return this.#find(wordHash) >= 0;
  }

  /** Log-prob of the word in running text, natural log; -Infinity for an unknown word. */
  logProb(wordHash: number): number {
    const index = this.#find(wordHash);
    return index < 0 ? Number.NEGATIVE_INFINITY : this.#codeBook[this.#codes[index]!]!;
  }

  #find(wordHash: number): number {
    let low = 0;
    let high = this.#hashes.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const hash = this.#hashes[middle]!;
      if (hash === wordHash) return middle;
      if (hash < wordHash) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}
