import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { decidePunctuation, type Punctuation } from "../../../core/domain/text/display/marks.js";
import { PUNCTUATION_FOLDER, WORD_WIDTH, WordWeights } from "./word-weights.js";

/** Words read at once, and how many of them the next window reads again: decisions are taken in the middle. */
const WINDOW = 200;
const OVERLAP = 50;

/** Restores punctuation and capitals of transcripts. Runs one text at a time. */
export class Punctuator {
  readonly #session: InferenceSession;
  readonly #words: WordWeights;

  private constructor(session: InferenceSession, words: WordWeights) {
    this.#session = session;
    this.#words = words;
  }

  /** Loads a package written by the recipe `punctuation`. */
  static async load(folder = PUNCTUATION_FOLDER): Promise<Punctuator> {
    const session = await InferenceSession.create(join(folder, "marks.onnx"), {
      executionProviders: ["cpu"],
      graphOptimizationLevel: "all",
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    });
    return new Punctuator(session, new WordWeights(join(folder, "words.safetensors")));
  }

  /**
   * Reads a text of any length, in windows.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown
   */
  async read(words: readonly string[], pauses: Float32Array | null = null): Promise<Punctuation> {
    if (words.length <= WINDOW) return this.#readWindow(words, pauses);
    const windows: Punctuation[] = [];
    let decided = 0;
    for (let first = 0; decided < words.length; first += WINDOW - OVERLAP) {
      const end = Math.min(words.length, first + WINDOW);
      const read = await this.#readWindow(words.slice(first, end), pauses?.slice(first, end) ?? null);
      const from = decided - first;
      const to = end === words.length ? end - first : WINDOW - OVERLAP / 2;
      windows.push({
        marks: read.marks.slice(from, to),
        cases: read.cases.slice(from, to),
        stops: read.stops.slice(from, to),
      });
      decided = first + to;
    }
    return {
      marks: windows.flatMap(({ marks }) => marks),
      cases: windows.flatMap(({ cases }) => cases),
      stops: windows.flatMap(({ stops }) => stops),
    };
  }

  async release(): Promise<void> {
    await this.#session.release();
  }

  async #readWindow(words: readonly string[], pauses: Float32Array | null): Promise<Punctuation> {
    const count = words.length;
    if (count === 0) return { marks: [], cases: [], stops: [] };
    const embedded = new Float32Array(count * WORD_WIDTH);
    for (const [at, word] of words.entries()) this.#words.embed(word, embedded, at * WORD_WIDTH);
    const { marks, cases } = await this.#session.run({
      embedded: new Tensor("float32", embedded, [1, count, WORD_WIDTH]),
      pauses: new Tensor("float32", pauses ?? new Float32Array(count).fill(-1), [1, count]),
    });
    return decidePunctuation(marks!.data as Float32Array, cases!.data as Float32Array);
  }
}
