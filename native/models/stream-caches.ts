import { type InferenceSession, Tensor } from "onnxruntime-node";
import { brokenModel } from "./package.js";

/** A cache that is both input and output of a graph. */
export interface CacheTensor {
  readonly input: string;
  readonly output: string;
  readonly type: "float32" | "float16" | "int64";
  /** Of one stream: 1 in the dimension of the batch. */
  readonly dims: readonly number[];
  readonly batchAxis: number;
}

/** Values of a cache; half floats as the runtime stores them. */
type CacheValues = Tensor["data"] & { readonly length: number; set(from: CacheValues, at: number): void };

/**
 * A stream's caches, one array each. Runs replace the arrays and never write to them, so a copy of the list
 * keeps the stream's past.
 */
export type StreamState = CacheValues[];

interface Slot extends CacheTensor {
  /** Values of one stream: `outer` runs of `inner` each, between which a batch has those of others. */
  readonly size: number;
  readonly outer: number;
  readonly inner: number;
}

/** Feeds a graph with the caches of one stream or several, and takes the next ones. */
export class StreamCaches {
  readonly #name: string;
  readonly #slots: readonly Slot[];

  /** @param name of the graph's file, for errors */
  constructor(name: string, tensors: readonly CacheTensor[]) {
    this.#name = name;
    this.#slots = tensors.map((tensor) => {
      const outer = sizeOf(tensor.dims.slice(0, tensor.batchAxis));
      const inner = sizeOf(tensor.dims.slice(tensor.batchAxis + 1));
      return { ...tensor, outer, inner, size: outer * inner };
    });
  }

  get count(): number {
    return this.#slots.length;
  }

  /** Makes the caches of a stream's start: zeros. */
  initial(): StreamState {
    return this.#slots.map(({ type, dims, size }) => {
      if (type === "int64") return new Tensor(type, new BigInt64Array(size), dims).data as CacheValues;
      if (type === "float32") return new Tensor(type, new Float32Array(size), dims).data as CacheValues;
      return new Tensor(type, new Uint16Array(size), dims).data as CacheValues;
    });
  }

  /** Makes the inputs of a run over these streams. */
  feeds(states: readonly StreamState[]): Record<string, Tensor> {
    const feeds: Record<string, Tensor> = {};
    for (const [index, slot] of this.#slots.entries()) {
      const values = states.length === 1 ? states[0]![index]! : gathered(states, index, slot);
      const dims = slot.dims.map((dim, axis) => (axis === slot.batchAxis ? states.length : dim));
      feeds[slot.input] = new Tensor(slot.type, values as Float32Array, dims);
    }
    return feeds;
  }

  /**
   * Replaces the caches of these streams by those that a run has returned.
   * @throws {ServiceError} `MODEL_BROKEN` with the tensor if its type or size is wrong
   */
  take(answer: InferenceSession.OnnxValueMapType, states: readonly StreamState[]): void {
    for (const [index, slot] of this.#slots.entries()) {
      const found = answer[slot.output]!;
      const values = found.data as CacheValues;
      if (found.type !== slot.type || values.length !== states.length * slot.size) {
        const [expected, actual] = [`${slot.type} [${slot.dims.join(", ")}]`, shapeOf(found)];
        throw brokenModel(`Cannot run ${this.#name}: ${slot.output} must be ${expected}, found ${actual}`);
      }
      for (const [row, state] of states.entries()) {
        state[index] = states.length === 1 ? values : scattered(values, states.length, row, slot);
      }
    }
  }
}

function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1);
}

function sameKind(values: CacheValues, length: number): CacheValues {
  return new (values.constructor as new (length: number) => CacheValues)(length);
}

function part(values: CacheValues, from: number, count: number): CacheValues {
  return (values as Float32Array).subarray(from, from + count) as CacheValues;
}

function gathered(states: readonly StreamState[], index: number, { outer, inner, size }: Slot): CacheValues {
  const together = sameKind(states[0]![index]!, states.length * size);
  for (const [row, state] of states.entries()) {
    for (let run = 0; run < outer; run++) {
      together.set(part(state[index]!, run * inner, inner), (run * states.length + row) * inner);
    }
  }
  return together;
}

function scattered(
  values: CacheValues,
  count: number,
  row: number,
  { outer, inner, size }: Slot,
): CacheValues {
  const own = sameKind(values, size);
  for (let run = 0; run < outer; run++) {
    own.set(part(values, (run * count + row) * inner, inner), run * inner);
  }
  return own;
}

/**
 * Checks and returns a run's output of floats.
 * @throws {ServiceError} `MODEL_BROKEN` if their number does not match the manifest and the vocabulary
 */
export function floatsOf(
  name: string,
  tensor: string,
  answer: InferenceSession.OnnxValueMapType,
  expected: { readonly streams: number; readonly each: number },
): Float32Array {
  const found = answer[tensor]!;
  const count = expected.streams * expected.each;
  if (found.type === "float32" && found.data.length === count) return found.data as Float32Array;
  const rule = `must hold ${expected.each} float32 values a chunk, found ${shapeOf(found)}`;
  throw brokenModel(`Cannot run ${name}: ${tensor} ${rule}`);
}

function shapeOf({ type, dims }: Tensor): string {
  return `${type} [${dims.join(", ")}]`;
}
