import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import {
  type Case,
  decidePunctuation,
  type Mark,
  type Punctuation,
  type Stop,
} from "../../../core/domain/text/display/marks.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph } from "../graph-interface.js";
import type { PunctuationManifest } from "../manifest.js";
import { type ModelPackage, pathOf, readPackageFile } from "../package.js";
import type { PunctuationModel } from "../punctuation-model.js";
import { PUNCTUATION_FOLDER, WORD_WIDTH, WordWeights } from "./word-weights.js";

/**
 * Maximum number of words in a window, and the number of them that the next window repeats: results are taken
 * from the middle. The network was trained on a few sentences at a time: with 200 words, full stops of long
 * Kazakh texts lose 2.6 points of F1.
 */
const MOST_WORDS = 80;
const OVERLAP = 20;
/** Maximum number of windows in a run. */
const ROWS = 32;

/** The shipped model: hashed word pieces and recurrent layers. */
export class Punctuator implements PunctuationModel {
  readonly #graph: Pick<Graph, "run" | "release">;
  readonly #words: WordWeights;

  private constructor(graph: Pick<Graph, "run" | "release">, words: WordWeights) {
    this.#graph = graph;
    this.#words = words;
  }

  /** Loads a package written by the recipe `punctuation`. */
  static async load(folder = PUNCTUATION_FOLDER): Promise<Punctuator> {
    const session = await InferenceSession.create(join(folder, "marks.onnx"), {
      executionProviders: ["cpu"],
      graphOptimizationLevel: "all",
      // A file's workers are idle while its text is read. Short texts of live sessions stay on one thread.
      intraOpNumThreads: 2,
      interOpNumThreads: 1,
      extra: { session: { intra_op: { allow_spinning: "0" } } },
    });
    return new Punctuator(session, new WordWeights(join(folder, "words.safetensors")));
  }

  /**
   * Loads a package whose files have the hashes in its manifest.
   * @throws {ServiceError} `MODEL_BROKEN` with the file and the reason
   */
  static async loadPackage(
    model: ModelPackage<PunctuationManifest>,
    options: GraphOptions,
  ): Promise<Punctuator> {
    await readPackageFile(model, "words");
    const contract = { file: "marks", inputs: ["embedded", "pauses"], outputs: ["marks", "cases"] };
    const graph = await loadGraph(model, contract, options);
    return new Punctuator(graph, new WordWeights(pathOf(model, "words")));
  }

  /**
   * Reads a text of any length, in windows.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown
   */
  async read(words: readonly string[], pauses: Float32Array | null = null): Promise<Punctuation> {
    const windows = windowsOf(words.length);
    const decided: Punctuation = { marks: [], cases: [], stops: [] };
    for (let nth = 0; nth < windows.length; nth += ROWS) {
      const rows = windows.slice(nth, nth + ROWS);
      for (const [row, read] of (await this.#readRows(words, pauses, rows)).entries()) {
        const [first, end] = rows[row]!;
        const from = decided.marks.length - first;
        const to = end - first - (end === words.length ? 0 : OVERLAP / 2);
        (decided.marks as Mark[]).push(...read.marks.slice(from, to));
        (decided.cases as Case[]).push(...read.cases.slice(from, to));
        (decided.stops as Stop[]).push(...read.stops.slice(from, to));
      }
    }
    return decided;
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  /** Reads windows [first, end) of equal length in one run. */
  async #readRows(
    words: readonly string[],
    pauses: Float32Array | null,
    rows: readonly (readonly [number, number])[],
  ): Promise<readonly Punctuation[]> {
    const [first, end] = rows[0]!;
    const width = end - first;
    if (width === 0) return [{ marks: [], cases: [], stops: [] }];
    const embedded = new Float32Array(rows.length * width * WORD_WIDTH);
    const timed = new Float32Array(rows.length * width).fill(-1);
    for (const [row, [start]] of rows.entries()) {
      if (pauses !== null) timed.set(pauses.subarray(start, start + width), row * width);
      for (let at = 0; at < width; at++) {
        this.#words.embed(words[start + at]!, embedded, (row * width + at) * WORD_WIDTH);
      }
    }
    const { marks, cases } = await this.#graph.run({
      embedded: new Tensor("float32", embedded, [rows.length, width, WORD_WIDTH]),
      pauses: new Tensor("float32", timed, [rows.length, width]),
    });
    const part = ({ data, size }: Tensor, row: number) =>
      (data as Float32Array).subarray((row * size) / rows.length, ((row + 1) * size) / rows.length);
    return rows.map((_, row) => decidePunctuation(part(marks!, row), part(cases!, row)));
  }
}

/** Cuts a text into windows [first, end) of equal length, as few as possible; the last ones overlap most. */
function windowsOf(words: number): readonly (readonly [number, number])[] {
  const count = Math.max(1, Math.ceil((words - OVERLAP) / (MOST_WORDS - OVERLAP)));
  const width = Math.ceil((words + (count - 1) * OVERLAP) / count);
  return Array.from({ length: count }, (_, nth) => {
    const first = Math.min(nth * (width - OVERLAP), words - width);
    return [first, first + width];
  });
}
