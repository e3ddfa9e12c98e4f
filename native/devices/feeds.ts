import { type InferenceSession, Tensor } from "onnxruntime-node";
import { gaussianNoise } from "../../core/domain/synthesis/noise.js";

export type Sizes = Readonly<Record<string, number>>;

/** Computes value `index` of a tensor with rows of `length`. */
type Fill = (index: number, length: number, sizes: Sizes) => number;

const FILLS: Readonly<Record<string, Fill>> = {
  // A stream starts with zeros.
  state: () => 0,
  history: () => 0,
  mask: () => 1,
  t: () => 0.3,
  dt: () => 1 / 16,
  voice: () => 0,
  voicing: () => 1,
  f0: () => 180,
  log_speed: () => 0,
  tokens: (index) => 1 + (index % 30),
  frame_to_token: (index, length, { tokens = 1 }) => Math.floor(((index % length) * tokens) / length),
};
/** Scale of noise in realistic inputs. */
const SCALES: Readonly<Record<string, number>> = { pcm: 0.05, mel: 0.5, x: 0.7 };

/** Makes deterministic inputs for a graph, close enough to speech to compare durations and outputs. */
export function feedsOf(graph: InferenceSession, sizes: Sizes): Record<string, Tensor> {
  return Object.fromEntries(graph.inputMetadata.map((input) => [input.name, tensorOf(input, sizes)]));
}

function tensorOf(input: InferenceSession.ValueMetadata, sizes: Sizes): Tensor {
  if (!input.isTensor) throw new TypeError(`input ${input.name} is not a tensor`);
  const dims = input.shape.map((size) => (typeof size === "number" ? size : sizeOf(size, sizes)));
  const count = dims.reduce((product, size) => product * size, 1);
  const fill = FILLS[input.name] ?? noise(count, input.name);
  const values = Array.from({ length: count }, (_, index) => fill(index, dims.at(-1)!, sizes));
  switch (input.type) {
    case "int64":
      return new Tensor("int64", BigInt64Array.from(values, BigInt), dims);
    case "uint8":
      return new Tensor("uint8", Uint8Array.from(values), dims);
    case "float32":
      return new Tensor("float32", Float32Array.from(values), dims);
    default:
      throw new TypeError(`input ${input.name} must not be of type ${input.type}`);
  }
}

function sizeOf(name: string, sizes: Sizes): number {
  const size = sizes[name];
  if (size === undefined) throw new RangeError(`missing size for ${name}`);
  return size;
}

function noise(count: number, name: string): Fill {
  const values = gaussianNoise(count, name.length);
  const scale = SCALES[name] ?? 1;
  return name === "encoded" ? (index) => Math.abs(values[index]!) : (index) => values[index]! * scale;
}
