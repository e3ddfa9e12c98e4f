import { type InferenceSession, Tensor } from "onnxruntime-node";
import { brokenModel } from "./package.js";

/** A cache that is both input and output of a graph, for one stream. */
export interface CacheTensor {
  readonly input: string;
  readonly output: string;
  readonly type: "float32" | "float16" | "int64";
  readonly dims: readonly number[];
}

/**
 * A stream's tensors from one chunk to the next. Runs replace them and never write to them, so a copy of the
 * list keeps the stream's past.
 */
export type StreamState = Tensor[];

/** A graph's caches, as entries of a stream's state. */
export class StreamCaches {
  readonly #name: string;
  readonly #caches: readonly CacheTensor[];

  /** @param name name of the graph's file, for errors */
  constructor(name: string, caches: readonly CacheTensor[]) {
    this.#name = name;
    this.#caches = caches;
  }

  get count(): number {
    return this.#caches.length;
  }

  /** Makes the caches for the start of a stream: zeros. */
  initial(): StreamState {
    return this.#caches.map(({ type, dims }) => {
      const size = sizeOf(dims);
      if (type === "int64") return new Tensor(type, new BigInt64Array(size), dims);
      return new Tensor(type, type === "float32" ? new Float32Array(size) : new Uint16Array(size), dims);
    });
  }

  /** Returns the inputs of a stream's next run. */
  feeds(state: StreamState): Record<string, Tensor> {
    return Object.fromEntries(this.#caches.map(({ input }, index) => [input, state[index]!]));
  }

  /**
   * Replaces a stream's caches by those that a run has returned.
   * @throws {ServiceError} `MODEL_BROKEN` with the tensor if its type or size is wrong
   */
  take(answer: InferenceSession.OnnxValueMapType, state: StreamState): void {
    for (const [index, { output, type, dims }] of this.#caches.entries()) {
      const found = answer[output]!;
      if (found.type !== type || found.data.length !== sizeOf(dims)) {
        const [expected, actual] = [`${type} [${dims.join(", ")}]`, shapeOf(found)];
        throw brokenModel(`Cannot run ${this.#name}: ${output} must be ${expected}, found ${actual}`);
      }
      state[index] = found;
    }
  }
}

/**
 * Returns a run's output of floats.
 * @throws {ServiceError} `MODEL_BROKEN` if their number does not match the manifest and the vocabulary
 */
export function floatsOf(
  name: string,
  tensor: string,
  answer: InferenceSession.OnnxValueMapType,
  count: number,
): Float32Array {
  const found = answer[tensor]!;
  if (found.type === "float32" && found.data.length === count) return found.data as Float32Array;
  throw brokenModel(
    `Cannot run ${name}: ${tensor} must have ${count} float32 values per chunk, found ${shapeOf(found)}`,
  );
}

function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

function shapeOf({ type, dims }: Tensor): string {
  return `${type} [${dims.join(", ")}]`;
}
