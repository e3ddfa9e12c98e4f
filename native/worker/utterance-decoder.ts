import { decodeGreedily } from "../../src/domain/decoding/greedy.js";
import type { TimedWord } from "../../src/domain/decoding/words.js";
import type { CtcTwoPass } from "../onnx/ctc-two-pass.js";

export interface DecodedUtterance {
  readonly text: string;
  readonly words: readonly TimedWord[];
}

/** The second pass, the same for live finals and files: full context, then the search over its log-probs. */
export class UtteranceDecoder {
  readonly #model: CtcTwoPass;

  constructor(model: CtcTwoPass) {
    this.#model = model;
  }

  /**
   * @param pcm mono, -1 to 1, at the model's rate
   * @param offsetSeconds time of its first sample, added to the words' times
   */
  async decode(pcm: Float32Array, offsetSeconds: number): Promise<DecodedUtterance> {
    const { logProbs, frames } = await this.#model.decodeUtterance(pcm);
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const timing = { frameSeconds: frameSamples / sampleRateHz, offsetSeconds };
    return decodeGreedily(logProbs, frames, this.#model.vocabulary, timing);
  }
}
