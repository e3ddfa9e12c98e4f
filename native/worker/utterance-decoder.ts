import type { LanguageModel } from "../../src/domain/decoding/language-model.js";
import { type BeamSearchOptions, PrefixBeamSearch } from "../../src/domain/decoding/prefix-beam-search.js";
import type { TimedWord } from "../../src/domain/decoding/words.js";
import type { CtcTwoPass } from "../onnx/ctc-two-pass.js";

export interface DecodedUtterance {
  readonly text: string;
  readonly words: readonly TimedWord[];
}

/**
 * The second pass, the same for live finals and files: full context, then a beam search with the language model.
 * One at a time: the search keeps its workspace between calls.
 */
export class UtteranceDecoder {
  readonly #model: CtcTwoPass;
  readonly #search: PrefixBeamSearch;

  constructor(model: CtcTwoPass, languageModel: LanguageModel, options: BeamSearchOptions) {
    this.#model = model;
    this.#search = new PrefixBeamSearch(model.vocabulary, languageModel, options);
  }

  /**
   * @param pcm mono, -1 to 1, at the model's rate
   * @param offsetSeconds time of its first sample, added to the words' times
   */
  async decode(pcm: Float32Array, offsetSeconds: number): Promise<DecodedUtterance> {
    const { logProbs, frames } = await this.#model.decodeUtterance(pcm);
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const { text, words } = this.#search.decode(logProbs, frames, {
      frameSeconds: frameSamples / sampleRateHz,
      offsetSeconds,
    });
    // Letters that come out in the silence of the flush were spoken at the end of the audio.
    const audioEnd = offsetSeconds + pcm.length / sampleRateHz;
    return { text, words: words.map((timed) => endedBy(timed, audioEnd)) };
  }
}

function endedBy({ word, start, end }: TimedWord, lastSecond: number): TimedWord {
  return { word, start: Math.min(start, lastSecond), end: Math.min(end, lastSecond) };
}
