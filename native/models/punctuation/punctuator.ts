import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { decidePunctuation, type Punctuation } from "../../../core/domain/text/display/marks.js";
import { WORD_FEATURES, writeWordFeatures } from "../../../core/domain/text/display/word-features.js";

/** The shipped graph, from `dist/native/models/punctuation`. */
const SHIPPED = join(import.meta.dirname, "../../../../models/punctuation-v1/marks.onnx");
/** Words per window, and words that the next window reads again, so that decisions are made in the middle. */
const WINDOW = 200;
const OVERLAP = 50;

/** Restores punctuation and capitals of transcripts. Runs one text at a time. */
export class Punctuator {
  readonly #session: InferenceSession;

  private constructor(session: InferenceSession) {
    this.#session = session;
  }

  /** Loads a graph written by the recipe `punctuation`. */
  static async load(path = SHIPPED): Promise<Punctuator> {
    const session = await InferenceSession.create(path, {
      executionProviders: ["cpu"],
      graphOptimizationLevel: "all",
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
    return new Punctuator(session);
  }

  /**
   * Reads a text of any length, in windows.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown
   */
  async read(words: readonly string[], pauses: Float32Array | null = null): Promise<Punctuation> {
    if (words.length <= WINDOW) return this.#readWindow(words, pauses);
    const all: {
      marks: Punctuation["marks"][number][];
      cases: Punctuation["cases"][number][];
      ends: number[];
    } = {
      marks: [],
      cases: [],
      ends: [],
    };
    for (let first = 0; ; first += WINDOW - OVERLAP) {
      const end = Math.min(words.length, first + WINDOW);
      const read = await this.#readWindow(words.slice(first, end), pauses?.slice(first, end) ?? null);
      const from = all.marks.length - first;
      const to = end === words.length ? end - first : WINDOW - OVERLAP / 2;
      all.marks.push(...read.marks.slice(from, to));
      all.cases.push(...read.cases.slice(from, to));
      all.ends.push(...read.ends.slice(from, to));
      if (end === words.length) return all;
    }
  }

  async release(): Promise<void> {
    await this.#session.release();
  }

  async #readWindow(words: readonly string[], pauses: Float32Array | null): Promise<Punctuation> {
    const count = words.length;
    if (count === 0) return { marks: [], cases: [], ends: [] };
    const features = new Int32Array(count * WORD_FEATURES);
    for (const [at, word] of words.entries()) writeWordFeatures(word, features, at * WORD_FEATURES);
    const { marks, cases, ends } = await this.#session.run({
      features: new Tensor("int32", features, [1, count, WORD_FEATURES]),
      pauses: new Tensor("float32", pauses ?? new Float32Array(count).fill(-1), [1, count]),
    });
    return decidePunctuation(
      marks!.data as Float32Array,
      cases!.data as Float32Array,
      ends!.data as Float32Array,
    );
  }
}
