import { type InferenceSession, Tensor } from "onnxruntime-node";
import { brokenModel } from "./package.js";

/** A cache that is both input and output of a graph, for a batch of one. */
export interface CacheTensor {
  readonly input: string;
  readonly output: string;
  readonly type: "float32" | "int64";
  readonly dims: readonly number[];
}

interface Slot extends CacheTensor {
  readonly size: number;
  readonly offset: number;
  readonly values: Float32Array | BigInt64Array;
}

/** A graph's caches, stored as floats in a stream's state. Integers are exact up to 2^24: days of audio. */
export class StreamCaches {
  readonly size: number;
  /** Tensors over the buffers that `load` fills. */
  readonly feeds: Readonly<Record<string, Tensor>>;
  readonly #name: string;
  readonly #slots: readonly Slot[];

  constructor(name: string, tensors: readonly CacheTensor[]) {
    this.#name = name;
    let offset = 0;
    this.#slots = tensors.map((tensor) => {
      const size = tensor.dims.reduce((product, dim) => product * dim, 1);
      const values = tensor.type === "int64" ? new BigInt64Array(size) : new Float32Array(size);
      const slot = { ...tensor, size, offset, values };
      offset += size;
      return slot;
    });
    this.size = offset;
    this.feeds = Object.fromEntries(
      this.#slots.map(({ input, values, dims }) => [
        input,
        values instanceof BigInt64Array
          ? new Tensor("int64", values, dims)
          : new Tensor("float32", values, dims),
      ]),
    );
  }

  /** Copies a stream's caches into the feeds. */
  load(caches: Float32Array): void {
    for (const { values, offset, size } of this.#slots) {
      if (values instanceof Float32Array) values.set(caches.subarray(offset, offset + size));
      else for (let i = 0; i < size; i++) values[i] = BigInt(caches[offset + i]!);
    }
  }

  /**
   * Copies the caches that a run has returned into a stream's state.
   * @throws {ServiceError} `MODEL_BROKEN` with the tensor if its type or size is wrong
   */
  store(answer: InferenceSession.OnnxValueMapType, caches: Float32Array): void {
    for (const { output, offset, size, type, dims } of this.#slots) {
      const found = answer[output]!;
      if (found.type !== type || found.data.length !== size) {
        const [expected, actual] = [`${type} [${dims.join(", ")}]`, shapeOf(found)];
        throw brokenModel(`Cannot run ${this.#name}: ${output} must be ${expected}, found ${actual}`);
      }
      if (found.data instanceof Float32Array) caches.set(found.data, offset);
      else for (let i = 0; i < size; i++) caches[offset + i] = Number(found.data[i]);
    }
  }
}

/**
 * Copies a run's log-probs.
 * @throws {ServiceError} `MODEL_BROKEN` if their number does not match the manifest and the vocabulary
 */
export function takeRows(
  name: string,
  tensor: string,
  answer: InferenceSession.OnnxValueMapType,
  rows: Float32Array,
): void {
  const found = answer[tensor]!;
  if (found.type === "float32" && found.data.length === rows.length) {
    rows.set(found.data as Float32Array);
    return;
  }
  const rule = `must hold ${rows.length} float32 values a chunk, found ${shapeOf(found)}`;
  throw brokenModel(`Cannot run ${name}: ${tensor} ${rule}`);
}

function shapeOf({ type, dims }: Tensor): string {
  return `${type} [${dims.join(", ")}]`;
}
