import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import {
  type Case,
  decidePunctuation,
  type Mark,
  type Punctuation,
  type Stop,
} from "../../../core/domain/text/display/marks.js";
import { OVERLAP_WORDS, windowsOf } from "../../../core/domain/text/display/text-windows.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph } from "../graph-interface.js";
import type { PunctuationManifest } from "../manifest.js";
import { type ModelPackage, pathOf, readPackageFile } from "../package.js";
import type { PunctuationModel } from "../punctuation-model.js";
import { PUNCTUATION_FOLDER, WORD_WIDTH, WordWeights } from "./word-weights.js";

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
      intraOpNumThreads: 1,
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
   * Reads a text of any length, window by window: several in a run take as long, and a window's result would
   * depend on the others.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown
   */
  async read(
    words: readonly string[],
    pauses: Float32Array | null = null,
    begun: readonly (Punctuation | undefined)[] = [],
  ): Promise<Punctuation> {
    const decided: Punctuation = { marks: [], cases: [], stops: [] };
    for (const [nth, [first, end]] of windowsOf(words.length).entries()) {
      const read =
        begun[nth] ?? (await this.readWindow(words.slice(first, end), pauses?.subarray(first, end) ?? null));
      const from = decided.marks.length - first;
      const to = end - first - (end === words.length ? 0 : OVERLAP_WORDS / 2);
      (decided.marks as Mark[]).push(...read.marks.slice(from, to));
      (decided.cases as Case[]).push(...read.cases.slice(from, to));
      (decided.stops as Stop[]).push(...read.stops.slice(from, to));
    }
    return decided;
  }

  async readWindow(words: readonly string[], pauses: Float32Array | null): Promise<Punctuation> {
    const count = words.length;
    if (count === 0) return { marks: [], cases: [], stops: [] };
    const embedded = new Float32Array(count * WORD_WIDTH);
    for (const [at, word] of words.entries()) this.#words.embed(word, embedded, at * WORD_WIDTH);
    const { marks, cases } = await this.#graph.run({
      embedded: new Tensor("float32", embedded, [1, count, WORD_WIDTH]),
      pauses: new Tensor("float32", pauses?.slice() ?? new Float32Array(count).fill(-1), [1, count]),
    });
    return decidePunctuation(marks!.data as Float32Array, cases!.data as Float32Array);
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }
}
