import { type InferenceSession, Tensor } from "onnxruntime-node";
import { type GraphOptions, loadGraph, requireDimensionWithin, requireFixed } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import type { NemoTdtManifest } from "./manifest.js";

const DECODER = {
  file: "decoder",
  inputs: ["targets", "target_length"],
  outputs: ["outputs"],
} as const satisfies GraphContract;
const JOINER = {
  file: "joiner",
  inputs: ["encoder_outputs", "decoder_outputs"],
  outputs: ["outputs"],
} as const satisfies GraphContract;
const DECODER_JOINT = {
  file: "decoderJoint",
  inputs: ["encoder_outputs", "targets", "target_length", "input_states_1", "input_states_2"],
  outputs: ["outputs", "output_states_1", "output_states_2"],
} as const satisfies GraphContract;

/** Maximum number of durations; Parakeet's models have five, 0 to 4 frames. */
const MOST_DURATIONS = 8;

type Answer = InferenceSession.OnnxValueMapType;

/** State of the decoder after the tokens so far. */
export interface Prediction {
  /** The last token, which `states` do not include yet. */
  readonly token: number;
  readonly states: readonly Tensor[];
  /** The decoder's output with the last token; null if the joint graph computes it. */
  readonly decoded: Tensor | null;
}

/** Scores of a frame's tokens and durations, and the decoder's states with the last token. */
interface Scored {
  readonly logits: Float32Array;
  readonly states: readonly Tensor[];
}

/** The decoder, an LSTM, and the joiner of a NeMo transducer: two graphs, or one. */
export interface Predictor {
  start(blank: number): Promise<Prediction>;
  /** @param frame `[1, width, 1]` */
  score(frame: Tensor, prediction: Prediction): Promise<Scored>;
  /** Adds a token. @param states states that `score` returned */
  next(token: number, states: readonly Tensor[]): Promise<Prediction>;
  release(): Promise<void>;
}

/**
 * @param columns tokens and the blank
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadPredictor(
  model: ModelPackage<NemoTdtManifest>,
  columns: number,
  options: GraphOptions,
): Promise<Predictor> {
  const range = { axis: 3, least: columns, most: columns + MOST_DURATIONS };
  if ("decoderJoint" in model.manifest.files) {
    const graph = await loadGraph(model, DECODER_JOINT, options);
    requireDimensionWithin(graph, fileNameOf(model, "decoderJoint"), "outputs", range);
    return new JointPredictor(graph, fileNameOf(model, "decoderJoint"));
  }
  const decoder = await loadGraph(model, DECODER, options);
  const joiner = await loadGraph(model, JOINER, options);
  requireDimensionWithin(joiner, fileNameOf(model, "joiner"), "outputs", range);
  return new SplitPredictor(decoder, joiner, fileNameOf(model, "decoder"));
}

/**
 * Two graphs; the decoder runs once per token. Exports name its states differently, but in the same order.
 */
class SplitPredictor implements Predictor {
  readonly #decoder: Graph;
  readonly #joiner: Graph;
  readonly #inputs: readonly string[];
  readonly #outputs: readonly string[];
  readonly #zeros: readonly Tensor[];

  constructor(decoder: Graph, joiner: Graph, name: string) {
    this.#decoder = decoder;
    this.#joiner = joiner;
    this.#inputs = decoder.inputNames.filter((input) => !input.startsWith("target"));
    this.#outputs = decoder.outputNames.filter((output) => !["outputs", "prednet_lengths"].includes(output));
    if (this.#inputs.length === 0 || this.#inputs.length !== this.#outputs.length) {
      const found = `${this.#inputs.length} and ${this.#outputs.length}`;
      throw brokenModel(
        `Cannot load ${name}: inputs and outputs must have equally many states, found ${found}`,
      );
    }
    this.#zeros = zerosOf(decoder, name, this.#inputs);
  }

  start(blank: number): Promise<Prediction> {
    return this.next(blank, this.#zeros);
  }

  async score(frame: Tensor, { decoded, states }: Prediction): Promise<Scored> {
    const { outputs } = await this.#joiner.run({ encoder_outputs: frame, decoder_outputs: decoded! });
    return { logits: outputs!.data as Float32Array, states };
  }

  async next(token: number, states: readonly Tensor[]): Promise<Prediction> {
    const feeds = Object.fromEntries(this.#inputs.map((input, index) => [input, states[index]!]));
    const answer: Answer = await this.#decoder.run({ ...targetsOf(token), ...feeds });
    return {
      token,
      states: this.#outputs.map((output) => answer[output]!),
      decoded: answer["outputs"]!,
    };
  }

  async release(): Promise<void> {
    await this.#decoder.release();
    await this.#joiner.release();
  }
}

/** The decoder and the joiner in one graph, as in onnx-asr's exports. */
class JointPredictor implements Predictor {
  readonly #graph: Graph;
  readonly #zeros: readonly Tensor[];

  constructor(graph: Graph, name: string) {
    this.#graph = graph;
    this.#zeros = zerosOf(graph, name, ["input_states_1", "input_states_2"]);
  }

  start(blank: number): Promise<Prediction> {
    return this.next(blank, this.#zeros);
  }

  async score(frame: Tensor, { token, states }: Prediction): Promise<Scored> {
    const answer: Answer = await this.#graph.run({
      encoder_outputs: frame,
      ...targetsOf(token),
      input_states_1: states[0]!,
      input_states_2: states[1]!,
    });
    return {
      logits: answer["outputs"]!.data as Float32Array,
      states: [answer["output_states_1"]!, answer["output_states_2"]!],
    };
  }

  next(token: number, states: readonly Tensor[]): Promise<Prediction> {
    return Promise.resolve({ token, states, decoded: null });
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }
}

function targetsOf(token: number): Record<string, Tensor> {
  return {
    targets: new Tensor("int32", Int32Array.of(token), [1, 1]),
    target_length: new Tensor("int32", Int32Array.of(1), [1]),
  };
}

/** Makes states f32 [layers, 1, width] of zeros. */
function zerosOf(graph: Graph, name: string, inputs: readonly string[]): Tensor[] {
  return inputs.map((input) => {
    const [layers, width] = [requireFixed(graph, name, input, 0), requireFixed(graph, name, input, 2)];
    return new Tensor("float32", new Float32Array(layers * width), [layers, 1, width]);
  });
}
