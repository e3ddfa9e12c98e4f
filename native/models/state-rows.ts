import { Tensor } from "onnxruntime-node";

/** What an encoder remembers of one session's audio, or of the rows of a batch one after the other; zeros are the beginning. */
export interface EncoderState {
  /** `[rows, stateSize]` */
  readonly values: Float32Array;
  /** `[rows, stateBytes]`, quantized as the graph quantizes them; empty for graphs that have none. */
  readonly bytes: Uint8Array;
}

/** Copies a state over another of the same size. */
export function copyState(from: EncoderState, to: EncoderState): void {
  to.values.set(from.values);
  if (to.bytes.length > 0) to.bytes.set(from.bytes);
}

/** What one state is made of. */
export interface StateSize {
  /** Floats. */
  readonly stateSize: number;
  /** Bytes besides. */
  readonly stateBytes: number;
}

/** The first rows as the graph takes them; `bytes` is null for graphs that have none. */
export interface StateTensors {
  /** `[rows, stateSize]` */
  readonly values: Tensor;
  /** `[rows, stateBytes]` */
  readonly bytes: Tensor | null;
}

/** Several states in one piece of memory, which a batch may be run from or into. */
export class StateRows implements EncoderState {
  readonly values: Float32Array;
  readonly bytes: Uint8Array;
  /** A view of each row. */
  readonly rows: readonly EncoderState[];
  readonly #size: StateSize;
  readonly #tensors: (StateTensors | undefined)[] = [];

  constructor(size: StateSize, count: number) {
    this.values = new Float32Array(count * size.stateSize);
    this.bytes = new Uint8Array(count * size.stateBytes);
    this.rows = Array.from({ length: count }, (_, row) => ({
      values: this.values.subarray(row * size.stateSize, (row + 1) * size.stateSize),
      bytes: this.bytes.subarray(row * size.stateBytes, (row + 1) * size.stateBytes),
    }));
    this.#size = size;
  }

  /** Of the first `count` rows, made once. */
  tensors(count: number): StateTensors {
    let tensors = this.#tensors[count];
    if (tensors === undefined) {
      const { stateSize, stateBytes } = this.#size;
      const { values, bytes } = this.first(count);
      tensors = {
        values: new Tensor("float32", values, [count, stateSize]),
        bytes: stateBytes === 0 ? null : new Tensor("uint8", bytes, [count, stateBytes]),
      };
      this.#tensors[count] = tensors;
    }
    return tensors;
  }

  /** The first `count` rows. */
  first(count: number): EncoderState {
    return {
      values: this.values.subarray(0, count * this.#size.stateSize),
      bytes: this.bytes.subarray(0, count * this.#size.stateBytes),
    };
  }
}
