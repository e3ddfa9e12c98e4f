import { type InferenceSession, Tensor } from "onnxruntime-node";
import { ServiceError } from "../../core/domain/errors.js";

/** A cache that a graph takes and gives back, for a batch of one. */
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

/**
 * Caches of a graph as a run of floats within a stream's state. Counts are kept as floats too, which is exact up to 2^24: days of
 * audio in any frame rate.
 */
export class StreamCaches {
  readonly size: number;
  /** Tensors over buffers that `load` fills; allocated once. */
  readonly feeds: Readonly<Record<string, Tensor>>;
  readonly #name: string;
  readonly #slots: readonly Slot[];

  /** @param name the graph's file, for errors */
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
   * Copies what a run gave back into a stream's caches.
   * @throws {ServiceError} `MODEL_BROKEN` naming the tensor whose shape or type has changed
   */
  store(answer: InferenceSession.OnnxValueMapType, caches: Float32Array): void {
    for (const { output, offset, size, type, dims } of this.#slots) {
      const found = answer[output]!;
      if (found.type !== type || found.data.length !== size) {
        throw new ServiceError(
          "MODEL_BROKEN",
          `Cannot run ${this.#name}: ${output} must be ${type} [${dims.join(", ")}], ` +
            `found ${found.type} [${found.dims.join(", ")}]`,
        );
      }
      if (found.data instanceof Float32Array) caches.set(found.data, offset);
      else for (let i = 0; i < size; i++) caches[offset + i] = Number(found.data[i]);
    }
  }
}

/**
 * Copies a run's log-probs.
 * @throws {ServiceError} `MODEL_BROKEN` when there are not as many rows or columns as the manifest and the vocabulary say
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
  throw new ServiceError(
    "MODEL_BROKEN",
    `Cannot run ${name}: ${tensor} must hold ${rows.length} float32 values a chunk, ` +
      `found ${found.type} [${found.dims.join(", ")}]`,
  );
}
