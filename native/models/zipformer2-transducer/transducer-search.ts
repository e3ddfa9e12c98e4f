import { Tensor } from "onnxruntime-node";
import type { StreamState } from "../stream-caches.js";
import type { StatelessGraphs } from "./stateless-graphs.js";

/** A frame has a token, then a blank: transducers may output a token twice in a row, but CTC may not. */
export const ROWS_PER_FRAME = 2;
/** Log-prob of outputs that the search did not choose. */
export const UNLIKELY = -30;

/**
 * The greedy search of a transducer with a stateless decoder: at most one token per frame. It writes its path
 * as rows of a CTC head, so that text, times and confidences of words are computed as for all recognisers. A
 * stream's state is the decoder's output and its last tokens.
 */
export class TransducerSearch {
  /** Number of tensors in a stream's state. */
  static readonly stateCount = 2;
  readonly #graphs: StatelessGraphs;
  /** Columns that may be output, the blank first. */
  readonly #columns: Int32Array;
  #start: StreamState = [];

  private constructor(graphs: StatelessGraphs) {
    this.#graphs = graphs;
    this.#columns = graphs.tokens.columns;
  }

  /** @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor */
  static async start(graphs: StatelessGraphs): Promise<TransducerSearch> {
    const search = new TransducerSearch(graphs);
    search.#start = await search.#decode(graphs.firstContext());
    return search;
  }

  initial(): StreamState {
    return [...this.#start];
  }

  /**
   * Searches a chunk's frames.
   *
   * @param encoded `[frames, width]`
   * @param state the search's part starts at `offset`; its entries are replaced
   * @returns `[frames * ROWS_PER_FRAME, columns]`, in the joiner's order
   */
  async advance(encoded: Float32Array, state: StreamState, offset: number): Promise<Float32Array> {
    const { tokens, width } = this.#graphs;
    const blank = this.#columns[0]!;
    const frames = encoded.length / width;
    const rows = new Float32Array(frames * ROWS_PER_FRAME * tokens.width).fill(UNLIKELY);
    for (let frame = 0; frame < frames; frame++) {
      const part = encoded.subarray(frame * width, (frame + 1) * width);
      const { best, logProb } = this.#choose(await this.#graphs.join(part, state[offset]!));
      const at = frame * ROWS_PER_FRAME * tokens.width;
      const token = best === tokens.unknown ? blank : best;
      rows[at + token] = logProb;
      rows[at + tokens.width + blank] = 0;
      if (token === blank) continue;
      const context = state[offset + 1]!.data as BigInt64Array;
      const next = await this.#decode(BigInt64Array.from([...context.subarray(1), BigInt(token)]));
      state.splice(offset, next.length, ...next);
    }
    return rows;
  }

  /** Returns the most probable column, the first of equals, and its log-prob. */
  #choose(logits: Float32Array): { readonly best: number; readonly logProb: number } {
    let best = this.#columns[0]!;
    for (const column of this.#columns) {
      const isBetter = logits[column]! > logits[best]! || (logits[column] === logits[best] && column < best);
      if (isBetter) best = column;
    }
    let sum = 0;
    for (const column of this.#columns) sum += Math.exp(logits[column]! - logits[best]!);
    return { best, logProb: -Math.log(sum) };
  }

  /** Returns a stream's state after these tokens. */
  async #decode(context: BigInt64Array): Promise<StreamState> {
    const decoded = await this.#graphs.decode(context);
    return [decoded, new Tensor("int64", context, [1, context.length])];
  }
}
