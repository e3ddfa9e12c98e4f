import { Tensor } from "onnxruntime-node";
import { brokenModel } from "../package.js";
import type { Tokens } from "../tokens.js";
import type { Prediction, Predictor } from "./predictor.js";

/** Rows for each frame of the encoder: a token and a blank. */
export const ROWS_PER_FRAME = 2;
/** Log-prob of outputs that the search did not choose. */
const UNLIKELY = -30;
/** Maximum number of tokens in one frame, as in sherpa-onnx. */
const TOKENS_PER_FRAME = { durations: 5, none: 10 };

interface Found {
  readonly token: number;
  readonly logProb: number;
  readonly frame: number;
  readonly frames: number;
}

/**
 * The greedy search of a token-and-duration transducer: each step outputs a token or the blank, and the
 * number of frames to skip, 0 to 4. A joiner without durations belongs to a plain transducer, in which a
 * blank skips one frame, a token none.
 *
 * @see Xu et al., 2023, "Efficient Sequence Transduction by Jointly Predicting Tokens and Durations";
 *   k2-fsa/sherpa-onnx at 0bfca2c, `offline-transducer-greedy-search-nemo-decoder.cc`
 */
export class TdtSearch {
  readonly #predictor: Predictor;
  readonly #tokens: Tokens;
  readonly #width: number;
  readonly #name: string;

  constructor(predictor: Predictor, tokens: Tokens, width: number, name: string) {
    this.#predictor = predictor;
    this.#tokens = tokens;
    this.#width = width;
    this.#name = name;
  }

  /**
   * @param encoded `[frames, width]`
   * @returns `[rows, columns]`: the path as rows of a CTC head, natural log
   */
  async search(encoded: Float32Array): Promise<Float32Array> {
    const frames = encoded.length / this.#width;
    return this.#rowsOf(await this.#find(encoded, frames), frames);
  }

  async #find(encoded: Float32Array, frames: number): Promise<Found[]> {
    const blank = this.#tokens.columns[0]!;
    const found: Found[] = [];
    let prediction: Prediction = await this.#predictor.start(blank);
    let inFrame = 0;
    for (let frame = 0; frame < frames; ) {
      const part = encoded.subarray(frame * this.#width, (frame + 1) * this.#width);
      const scored = await this.#predictor.score(
        new Tensor("float32", part, [1, this.#width, 1]),
        prediction,
      );
      const { token, logProb, duration } = this.#choose(scored.logits);
      const most = duration === null ? TOKENS_PER_FRAME.none : TOKENS_PER_FRAME.durations;
      let skip = duration ?? (token === blank ? 1 : 0);
      if (token !== blank) {
        found.push({ token, logProb, frame, frames: skip });
        prediction = await this.#predictor.next(token, scored.states);
        inFrame++;
      }
      if (skip === 0 && (token === blank || inFrame >= most)) skip = 1;
      if (skip > 0) inFrame = 0;
      frame += skip;
    }
    return found;
  }

  /** Returns the best token with its log-prob, and the best duration; null without durations. */
  #choose(logits: Float32Array): {
    readonly token: number;
    readonly logProb: number;
    readonly duration: number | null;
  } {
    const { columns, width } = this.#tokens;
    if (logits.length < width) {
      const rule = `outputs must have at least ${width} values`;
      throw brokenModel(`Cannot run ${this.#name}: ${rule}, found ${logits.length}`);
    }
    let token = columns[0]!;
    for (const column of columns) {
      const isBetter =
        logits[column]! > logits[token]! || (logits[column] === logits[token] && column < token);
      if (isBetter) token = column;
    }
    let sum = 0;
    for (const column of columns) sum += Math.exp(logits[column]! - logits[token]!);
    let best = width;
    for (let i = width + 1; i < logits.length; i++) if (logits[i]! > logits[best]!) best = i;
    return { token, logProb: -Math.log(sum), duration: logits.length === width ? null : best - width };
  }

  /**
   * Writes tokens at their frames, each for its duration; a frame's further tokens spill into the next rows.
   */
  #rowsOf(found: readonly Found[], frames: number): Float32Array {
    const { columns, width } = this.#tokens;
    const blank = columns[0]!;
    const starts: number[] = [];
    let free = 0;
    for (const [index, { token, frame }] of found.entries()) {
      starts.push(Math.max(frame * ROWS_PER_FRAME, free));
      // A blank separates a token from the same one after it.
      free = starts[index]! + (found[index + 1]?.token === token ? 2 : 1);
    }
    const count = Math.max(frames * ROWS_PER_FRAME, free);
    const rows = new Float32Array(count * width).fill(UNLIKELY);
    for (let row = 0; row < count; row++) rows[row * width + blank] = 0;
    for (const [index, { token, logProb, frames: duration }] of found.entries()) {
      const start = starts[index]!;
      const next = starts[index + 1] ?? count;
      const isDoubled = found[index + 1]?.token === token;
      const end = Math.min(start + Math.max(1, duration * ROWS_PER_FRAME - 1), isDoubled ? next - 1 : next);
      for (let row = start; row < end; row++) {
        rows[row * width + token] = logProb;
        rows[row * width + blank] = UNLIKELY;
      }
    }
    return rows;
  }
}
