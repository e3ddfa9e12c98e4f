import { LRUCache } from "lru-cache";
import { Tensor } from "onnxruntime-node";
import { type GraphOptions, loadGraph, requireDimension, requireFixed } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { fileNameOf, type ModelPackage } from "../package.js";
import type { PublicRecognizerManifest } from "../public-recognizer-manifest.js";
import { floatsOf } from "../stream-caches.js";
import type { Tokens } from "../tokens.js";

const DECODER = { file: "decoder", inputs: ["y"], outputs: ["decoder_out"] } as const satisfies GraphContract;
const JOINER = {
  file: "joiner",
  inputs: ["encoder_out", "decoder_out"],
  outputs: ["logit"],
} as const satisfies GraphContract;

/** Number of contexts whose decoder output is kept: 8 MB with the usual 512 floats each. */
const KEPT_CONTEXTS = 4_096;

/** Decoder and joiner of a transducer whose decoder depends only on the last tokens. */
export class StatelessGraphs {
  /** Number of floats per frame of the encoder's output. */
  readonly width: number;
  readonly tokens: Tokens;
  readonly #decoder: Graph;
  readonly #joiner: Graph;
  readonly #names: { readonly decoder: string; readonly joiner: string };
  readonly #contextSize: number;
  /** Outputs by context: the greedy and the beam search of an utterance share most contexts. */
  readonly #decoded = new LRUCache<string, Tensor>({ max: KEPT_CONTEXTS });

  private constructor(
    decoder: Graph,
    joiner: Graph,
    tokens: Tokens,
    names: { decoder: string; joiner: string },
  ) {
    this.#decoder = decoder;
    this.#joiner = joiner;
    this.tokens = tokens;
    this.#names = names;
    this.#contextSize = requireFixed(decoder, names.decoder, "y", 1);
    this.width = requireFixed(joiner, names.joiner, "encoder_out", 1);
    requireDimension(joiner, names.joiner, "logit", { axis: 1, expected: tokens.width });
  }

  /** @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor */
  static async load(
    model: ModelPackage<PublicRecognizerManifest>,
    tokens: Tokens,
    options: GraphOptions,
  ): Promise<StatelessGraphs> {
    const names = { decoder: fileNameOf(model, "decoder"), joiner: fileNameOf(model, "joiner") };
    const decoder = await loadGraph(model, DECODER, options);
    return new StatelessGraphs(decoder, await loadGraph(model, JOINER, options), tokens, names);
  }

  /** Makes the context before the first token: no token, then the blank. The embedding of -1 is zero. */
  firstContext(): BigInt64Array {
    const context = new BigInt64Array(this.#contextSize).fill(-1n);
    context[context.length - 1] = BigInt(this.tokens.columns[0]!);
    return context;
  }

  /** @returns `[1, width]`, shared with other callers */
  async decode(context: BigInt64Array): Promise<Tensor> {
    const key = context.join();
    const known = this.#decoded.get(key);
    if (known !== undefined) return known;
    const y = new Tensor("int64", context, [1, this.#contextSize]);
    const answer = await this.#decoder.run({ y });
    floatsOf(this.#names.decoder, "decoder_out", answer, this.width);
    const decoded = answer["decoder_out"]!;
    this.#decoded.set(key, decoded);
    return decoded;
  }

  /**
   * Scores the next token of several paths at one frame.
   *
   * @param encoded the frame, `[width]`
   * @param decoded `[paths, width]`
   * @returns `[paths, columns]` in the joiner's order, not normalized
   */
  async join(encoded: Float32Array, decoded: Tensor): Promise<Float32Array> {
    const paths = decoded.dims[0]!;
    const frames = paths === 1 ? encoded : repeated(encoded, paths);
    const answer = await this.#joiner.run({
      encoder_out: new Tensor("float32", frames, [paths, this.width]),
      decoder_out: decoded,
    });
    return floatsOf(this.#names.joiner, "logit", answer, paths * this.tokens.width);
  }

  async release(): Promise<void> {
    await this.#decoder.release();
    await this.#joiner.release();
  }
}

function repeated(values: Float32Array, times: number): Float32Array {
  const all = new Float32Array(times * values.length);
  for (let i = 0; i < times; i++) all.set(values, i * values.length);
  return all;
}
