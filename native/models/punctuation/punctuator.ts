import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import {
  type Case,
  decidePunctuation,
  type Mark,
  type Punctuation,
  type Stop,
} from "../../../core/domain/text/display/marks.js";
import {
  OVERLAP_WORDS,
  stretchesOf,
  type WordSpan,
  windowsOf,
} from "../../../core/domain/text/display/text-windows.js";
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
      // With two, a text takes twice the CPU time.
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
   * Reads a text of any length, stretch by stretch, so that the result does not depend on when each was read.
   *
   * @param words lower case
   * @param pauses seconds after each word, -1 where unknown
   */
  async read(
    words: readonly string[],
    pauses: Float32Array | null = null,
    begun: readonly (Punctuation | undefined)[] = [],
  ): Promise<Punctuation> {
    const stretches = stretchesOf(words.length);
    const read: Punctuation[] = [];
    for (const [nth, [first, end]] of stretches.entries())
      read.push(
        begun[nth] ?? (await this.readStretch(words.slice(first, end), pauses?.subarray(first, end) ?? null)),
      );
    return joined(stretches, read);
  }

  async readStretch(words: readonly string[], pauses: Float32Array | null): Promise<Punctuation> {
    if (words.length === 0) return { marks: [], cases: [], stops: [] };
    const windows = windowsOf(words.length);
    const rows = windows.length;
    const width = windows[0]![1];
    const embedded = new Float32Array(rows * width * WORD_WIDTH);
    const timed = new Float32Array(rows * width).fill(-1);
    for (const [row, [first, end]] of windows.entries()) {
      if (pauses !== null) timed.set(pauses.subarray(first, end), row * width);
      for (let at = 0; at < width; at++)
        this.#words.embed(words[first + at]!, embedded, (row * width + at) * WORD_WIDTH);
    }
    const { marks, cases } = await this.#graph.run({
      embedded: new Tensor("float32", embedded, [rows, width, WORD_WIDTH]),
      pauses: new Tensor("float32", timed, [rows, width]),
    });
    const part = ({ data, size }: Tensor, row: number) =>
      (data as Float32Array).subarray((row * size) / rows, ((row + 1) * size) / rows);
    return joined(
      windows,
      windows.map((_, row) => decidePunctuation(part(marks!, row), part(cases!, row))),
    );
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }
}

/**
 * Joins results of overlapping spans of a text, in the middle of each overlap: the mark between two words from
 * the span that chooses the case of the second.
 */
function joined(spans: readonly WordSpan[], read: readonly Punctuation[]): Punctuation {
  const text: { marks: Mark[]; cases: Case[]; stops: Stop[] } = { marks: [], cases: [], stops: [] };
  for (const [nth, [first, end]] of spans.entries()) {
    const { marks, cases, stops } = read[nth]!;
    const isLast = nth === spans.length - 1;
    const cut = end - first - (isLast ? 0 : OVERLAP_WORDS / 2);
    text.cases.push(...cases.slice(text.cases.length - first, cut));
    const from = text.marks.length - first;
    text.marks.push(...marks.slice(from, isLast ? cut : cut - 1));
    text.stops.push(...stops.slice(from, isLast ? cut : cut - 1));
  }
  return text;
}
