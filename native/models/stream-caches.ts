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
    return this.#caches.map(({ type, dims }) => new Tensor(type, zeros(type, sizeOf(dims)), dims));
  }

  /** Returns the inputs of a stream's next run. */
  feeds(state: StreamState): Record<string, Tensor> {
    return Object.fromEntries(this.#caches.map(({ input }, index) => [input, state[index]!]));
  }

  /** Returns the inputs of a run over several streams, a row for each. Their caches have a first dimension of 1. */
  stack(states: readonly StreamState[]): Record<string, Tensor> {
    return Object.fromEntries(
      this.#caches.map(({ input, type, dims }, index) => {
        const stacked = zeros(type, states.length * sizeOf(dims));
        for (const [row, state] of states.entries())
          stacked.set(state[index]!.data as never, row * sizeOf(dims));
        return [input, new Tensor(type, stacked, [states.length, ...dims.slice(1)])];
      }),
    );
  }

  /**
   * Replaces a stream's caches by those that a run has returned.
   * @throws {ServiceError} `MODEL_BROKEN` with the tensor if its type or size is wrong
   */
  take(answer: InferenceSession.OnnxValueMapType, state: StreamState): void {
    this.#takeRows(answer, 1, (index, found) => {
      state[index] = found;
    });
  }

  /** As `take`, for a run over `rows` streams, of which the first have states. */
  unstack(answer: InferenceSession.OnnxValueMapType, rows: number, states: readonly StreamState[]): void {
    this.#takeRows(answer, rows, (index, found) => {
      const { type, dims } = this.#caches[index]!;
      const size = sizeOf(dims);
      for (const [row, state] of states.entries()) {
        const own = (found.data as Uint16Array).slice(row * size, (row + 1) * size);
        state[index] = new Tensor(type, own, dims);
      }
    });
  }

  #takeRows(
    answer: InferenceSession.OnnxValueMapType,
    rows: number,
    take: (index: number, found: Tensor) => void,
  ): void {
    for (const [index, { output, type, dims }] of this.#caches.entries()) {
      const found = answer[output]!;
      if (found.type !== type || found.data.length !== rows * sizeOf(dims)) {
        const shape = [rows * dims[0]!, ...dims.slice(1)].join(", ");
        const rule = `${output} must be ${type} [${shape}], found ${shapeOf(found)}`;
        throw brokenModel(`Cannot run ${this.#name}: ${rule}`);
      }
      take(index, found);
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

function zeros(type: CacheTensor["type"], size: number): Float32Array | Uint16Array | BigInt64Array {
  if (type === "int64") return new BigInt64Array(size);
  return type === "float32" ? new Float32Array(size) : new Uint16Array(size);
}

function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

function shapeOf({ type, dims }: Tensor): string {
  return `${type} [${dims.join(", ")}]`;
}
