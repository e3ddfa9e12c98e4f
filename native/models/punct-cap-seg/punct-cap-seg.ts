import { Tensor } from "onnxruntime-node";
import type { Case, Mark, Punctuation, Stop } from "../../../core/domain/text/display/marks.js";
import { type GraphOptions, loadGraph } from "../graph.js";
import type { Graph } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage, readPackageFile } from "../package.js";
import type { PunctuationModel } from "../punctuation-model.js";
import type { PunctCapSegManifest } from "./manifest.js";
import { type TokenWindow, tokenWindows } from "./token-windows.js";
import { type Token, UnigramTokenizer } from "./unigram-tokenizer.js";
import { type TokenLabels, wordLabels } from "./word-labels.js";

/**
 * Number of outputs, in the order of the published graphs: marks before and after a token, its capitals,
 * sentence ends.
 */
const OUTPUTS = 4;
/** Number of special tokens around a window. */
const SPECIAL = 2;
/** Number of words whose tokens are cached; most words of speech are frequent. */
const MAX_CACHED_WORDS = 20_000;

/**
 * Public models that label the pieces of lower-case text: punctuation, capitals, and sentence boundaries. The
 * graph already decides; it outputs labels, not probabilities.
 *
 * @see https://github.com/1-800-BAD-CODE/punctuators
 */
export class PunctCapSeg implements PunctuationModel {
  readonly #graph: Graph;
  readonly #tokenizer: UnigramTokenizer;
  readonly #manifest: PunctCapSegManifest;
  readonly #tokensOf = new Map<string, readonly Token[]>();

  private constructor(graph: Graph, tokenizer: UnigramTokenizer, manifest: PunctCapSegManifest) {
    this.#graph = graph;
    this.#tokenizer = tokenizer;
    this.#manifest = manifest;
  }

  /** @throws {ServiceError} `MODEL_BROKEN` with the file and the reason */
  static async load(model: ModelPackage<PunctCapSegManifest>, options: GraphOptions): Promise<PunctCapSeg> {
    const bytes = await readPackageFile(model, "tokenizer");
    const tokenizer = tokenizerOf(bytes, fileNameOf(model, "tokenizer"));
    // Exports may name their outputs differently, but not order them differently.
    const graph = await loadGraph(model, { file: "model", inputs: ["input_ids"], outputs: [] }, options);
    const found = graph.outputNames.length;
    if (found === OUTPUTS) return new PunctCapSeg(graph, tokenizer, model.manifest);
    await graph.release();
    throw brokenModel(`Cannot load ${fileNameOf(model, "model")}: it must have 4 outputs, found ${found}`);
  }

  async read(words: readonly string[]): Promise<Punctuation> {
    const tokens = words.map((word) => this.#encode(word));
    const flat = tokens.flat();
    const { longestTokens, overlapTokens } = this.#manifest;
    const labels: TokenLabels[] = [];
    for (const window of tokenWindows(flat.length, longestTokens - SPECIAL, overlapTokens))
      labels.push(...(await this.#label(flat, window)));
    const marks: Mark[] = [];
    const cases: Case[] = [];
    const stops: Stop[] = [];
    const spellings: (string | null)[] = [];
    let next = 0;
    for (const [at, word] of words.entries()) {
      const own = labels.slice(next, next + tokens[at]!.length);
      next += own.length;
      const read = wordLabels(word, own, at === words.length - 1);
      marks.push(read.mark);
      cases.push(read.case);
      spellings.push(read.spelling);
      stops.push(read.mark === "?" ? "?" : ".");
    }
    return { marks, cases, stops, spellings };
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }

  /** Pieces never cross spaces, so words can be encoded one by one. */
  #encode(word: string): readonly Token[] {
    const known = this.#tokensOf.get(word);
    if (known !== undefined) return known;
    if (this.#tokensOf.size >= MAX_CACHED_WORDS) this.#tokensOf.clear();
    const tokens = this.#tokenizer.encode(word);
    this.#tokensOf.set(word, tokens);
    return tokens;
  }

  async #label(tokens: readonly Token[], { first, end, from, to }: TokenWindow): Promise<TokenLabels[]> {
    const { bosId, eosId } = this.#tokenizer;
    const ids = [bosId, ...tokens.slice(first, end).map(({ id }) => id), eosId];
    const feeds = { input_ids: new Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]) };
    const results = await this.#graph.run(feeds);
    const [, post, capitals, ends] = this.#graph.outputNames.map((name) => results[name]!);
    const { postLabels } = this.#manifest;
    const width = capitals!.size / ids.length;
    return tokens.slice(from, to).map(({ text }, nth) => {
      // Skip the special token at the start.
      const at = from - first + nth + 1;
      return {
        text,
        post: postLabels[numberAt(post!, at)] ?? postLabels[0]!,
        capitals: Array.from(
          { length: width },
          (_, letter) => numberAt(capitals!, at * width + letter) !== 0,
        ),
        isEnd: numberAt(ends!, at) !== 0,
      };
    });
  }
}

/** Labels are 64-bit integers or booleans; quantized graphs may have other integers. */
function numberAt({ data }: Tensor, at: number): number {
  return Number(data[at]);
}

function tokenizerOf(bytes: Uint8Array, name: string): UnigramTokenizer {
  try {
    return new UnigramTokenizer(bytes);
  } catch (error) {
    throw brokenModel(`Cannot load ${name}: ${(error as Error).message}`, error);
  }
}
