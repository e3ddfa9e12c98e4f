import { Tensor } from "onnxruntime-node";

/** An encoder's state for one session, or for the rows of a batch; a session starts with zeros. */
export interface EncoderState {
  /** `[rows, stateSize]` */
  readonly values: Float32Array;
  /** `[rows, stateBytes]`, quantized by the graph; empty for graphs without such a tensor. */
  readonly bytes: Uint8Array;
}

/** Copies a state into another of the same size. */
export function copyState(from: EncoderState, to: EncoderState): void {
  to.values.set(from.values);
  if (to.bytes.length > 0) to.bytes.set(from.bytes);
}

export interface StateSize {
  readonly stateSize: number;
  /** Number of additional bytes per state. */
  readonly stateBytes: number;
}

/** States as the graph's input. */
export interface StateTensors {
  /** `[rows, stateSize]` */
  readonly values: Tensor;
  /** `[rows, stateBytes]`; null for graphs without bytes. */
  readonly bytes: Tensor | null;
}

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

  /** Returns tensors over the first `count` rows; cached. */
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

  first(count: number): EncoderState {
    return {
      values: this.values.subarray(0, count * this.#size.stateSize),
      bytes: this.bytes.subarray(0, count * this.#size.stateBytes),
    };
  }
}
