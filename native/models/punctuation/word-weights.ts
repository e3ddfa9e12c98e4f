import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { WORD_FEATURES, writeWordFeatures } from "../../../core/domain/text/display/word-features.js";

/** Path of the shipped package, from `dist/native/models/punctuation`. */
export const PUNCTUATION_FOLDER = join(import.meta.dirname, "../../../../models/punctuation-v1");
/** Length of a word's embedding. */
export const WORD_WIDTH = 88;
/** Number of cached embeddings: 1.5 MB. */
const KEPT_WORDS = 4_096;

interface TensorEntry {
  readonly dtype: "F32" | "I8";
  /** Bytes [start, end), counted from the end of the header. */
  readonly data_offsets: readonly [number, number];
}

/**
 * Tensors of `words.safetensors`: the table of word pieces, and the network that reads words one at a time.
 *
 * @see https://github.com/huggingface/safetensors#format
 */
export class WordWeights {
  readonly #bytes: Buffer;
  readonly #header: Readonly<Record<string, TensorEntry>>;
  readonly #dataAt: number;
  readonly #table: Int8Array;
  readonly #scales: Float32Array;
  readonly #features = new Int32Array(WORD_FEATURES);
  /** Cached because half of the words of a text are repetitions. */
  readonly #embedded = new LRUCache<string, Float32Array>({ max: KEPT_WORDS });

  /** Reads 4 MB, synchronously. */
  constructor(path = join(PUNCTUATION_FOLDER, "words.safetensors")) {
    this.#bytes = readFileSync(path);
    const headerBytes = Number(this.#bytes.readBigUInt64LE(0));
    this.#dataAt = 8 + headerBytes;
    this.#header = JSON.parse(this.#bytes.toString("utf8", 8, this.#dataAt));
    const { buffer, byteOffset, byteLength } = this.#slice("table");
    this.#table = new Int8Array(buffer, byteOffset, byteLength);
    this.#scales = this.floats("scales");
  }

  /** Copies a float tensor. */
  floats(name: string): Float32Array {
    const bytes = this.#slice(name);
    return new Float32Array(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer,
    );
  }

  /** Writes the embedding of a lower-case word, `WORD_WIDTH` numbers, to `out` at `at`. */
  embed(word: string, out: Float32Array, at: number): void {
    let embedded = this.#embedded.get(word);
    if (embedded === undefined) {
      embedded = this.#sum(word);
      this.#embedded.set(word, embedded);
    }
    out.set(embedded, at);
  }

  #sum(word: string): Float32Array {
    const sum = new Float32Array(WORD_WIDTH);
    writeWordFeatures(word, this.#features, 0);
    for (const row of this.#features) {
      const scale = this.#scales[row]!;
      const from = row * WORD_WIDTH;
      for (let nth = 0; nth < WORD_WIDTH; nth++) sum[nth]! += this.#table[from + nth]! * scale;
    }
    return sum;
  }

  #slice(name: string): Buffer {
    const entry = this.#header[name];
    if (entry === undefined) throw new Error(`words.safetensors has no tensor ${name}`);
    const [start, end] = entry.data_offsets;
    return this.#bytes.subarray(this.#dataAt + start, this.#dataAt + end);
  }
}
