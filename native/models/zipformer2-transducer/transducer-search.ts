import { Tensor } from "onnxruntime-node";
import { requireFixed } from "../graph.js";
import type { Graph } from "../graph-interface.js";
import { floatsOf, type StreamState } from "../stream-caches.js";
import type { Tokens } from "../tokens.js";

/** A frame's token, and a blank after it: a transducer may output a token twice in a row, CTC may not. */
export const ROWS_PER_FRAME = 2;
/** Log-prob of the outputs that the search has not chosen. */
const UNLIKELY = -30;

interface SearchParts {
  readonly decoder: Graph;
  readonly joiner: Graph;
  readonly decoderName: string;
  readonly joinerName: string;
  readonly tokens: Tokens;
}

/**
 * The greedy search of a transducer with a stateless decoder: at most one token per frame. It writes its path
 * as rows of a CTC head, so that text, times and confidences of words are computed as for all recognisers. A
 * stream's state is the decoder's output and its last tokens.
 */
export class TransducerSearch {
  /** Floats per frame of the encoder's output. */
  readonly width: number;
  readonly #parts: SearchParts;
  readonly #contextSize: number;
  /** Columns that may be output, the blank first. */
  readonly #columns: Int32Array;
  #start: StreamState = [];

  private constructor(parts: SearchParts) {
    this.#parts = parts;
    this.#contextSize = requireFixed(parts.decoder, parts.decoderName, "y", 1);
    this.width = requireFixed(parts.joiner, parts.joinerName, "encoder_out", 1);
    this.#columns = parts.tokens.columns;
  }

  /** @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor */
  static async start(parts: SearchParts): Promise<TransducerSearch> {
    const search = new TransducerSearch(parts);
    // No token, then the blank: the decoder's embedding of -1 is zero.
    const context = new BigInt64Array(search.#contextSize).fill(-1n);
    context[context.length - 1] = BigInt(search.#columns[0]!);
    search.#start = await search.#decode(context);
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
    const { tokens } = this.#parts;
    const blank = this.#columns[0]!;
    const frames = encoded.length / this.width;
    const rows = new Float32Array(frames * ROWS_PER_FRAME * tokens.width).fill(UNLIKELY);
    for (let frame = 0; frame < frames; frame++) {
      const part = encoded.subarray(frame * this.width, (frame + 1) * this.width);
      const { best, logProb } = this.#choose(await this.#join(part, state[offset]!));
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

  async release(): Promise<void> {
    await this.#parts.decoder.release();
    await this.#parts.joiner.release();
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
    const { decoder, decoderName } = this.#parts;
    const y = new Tensor("int64", context, [1, this.#contextSize]);
    const answer = await decoder.run({ y });
    floatsOf(decoderName, "decoder_out", answer, this.width);
    return [answer["decoder_out"]!, y];
  }

  async #join(encoded: Float32Array, decoded: Tensor): Promise<Float32Array> {
    const { joiner, joinerName, tokens } = this.#parts;
    const answer = await joiner.run({
      encoder_out: new Tensor("float32", encoded, [1, this.width]),
      decoder_out: decoded,
    });
    return floatsOf(joinerName, "logit", answer, tokens.width);
  }
}
