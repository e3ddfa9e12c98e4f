import { BeamDecoder } from "../../src/domain/decoding/beam-decoder.js";
import type { HotWords } from "../../src/domain/decoding/hot-words.js";
import type { TokenSearch } from "../../src/domain/decoding/prefix-beam-search.js";
import type { ScoredWord } from "../../src/domain/decoding/words.js";
import type { RecognizerModel } from "../onnx/recognizer.js";

export interface DecodedUtterance {
  readonly text: string;
  readonly words: readonly ScoredWord[];
}

/**
 * The second pass, the same for live finals and files: full context, then a beam search with the language model.
 * One at a time: the search keeps its workspace between calls.
 */
export class UtteranceDecoder {
  readonly #model: RecognizerModel;
  readonly #decoder: BeamDecoder;

  /** @param outputBias see `BeamDecoderOptions` */
  constructor(model: RecognizerModel, search: TokenSearch, outputBias: Float32Array | null = null) {
    const { evidencePerCharacter, doubt } = model.manifest.decoding;
    this.#model = model;
    this.#decoder = new BeamDecoder(model.vocabulary, search, { evidencePerCharacter, doubt, outputBias });
  }

  /**
   * @param pcm mono, -1 to 1, at the model's rate
   * @param options time of its first sample, added to the words' times; mean probability of speech; `hotWords` as compiled
   */
  async decode(
    pcm: Float32Array,
    options: {
      readonly offsetSeconds: number;
      readonly speechMean: number;
      readonly hotWords: HotWords | null;
    },
  ): Promise<DecodedUtterance> {
    const { logProbs, frames } = await this.#model.decodeUtterance(pcm);
    const endSeconds = options.offsetSeconds + pcm.length / this.#model.manifest.sampleRateHz;
    return this.search(logProbs, frames, { ...options, endSeconds });
  }

  /**
   * The search alone, over log-probs of the full-context head.
   *
   * @param logProbs `[frames, vocabulary]`, natural log
   * @param options times of the first frame, and of the end of the audio, in the session or file; the others as in `decode`
   */
  search(
    logProbs: Float32Array,
    frames: number,
    options: {
      readonly offsetSeconds: number;
      readonly endSeconds: number;
      readonly speechMean: number;
      readonly hotWords: HotWords | null;
    },
  ): DecodedUtterance {
    const { offsetSeconds, endSeconds, speechMean, hotWords } = options;
    const { sampleRateHz } = this.#model.manifest;
    const timing = { frameSeconds: this.#model.outputFrameSamples / sampleRateHz, offsetSeconds };
    const { text, words } = this.#decoder.decode(logProbs, frames, { timing, speechMean, hotWords });
    // Letters that come out in the silence of the flush were spoken at the end of the audio.
    return { text, words: words.map((timed) => endedBy(timed, endSeconds)) };
  }
}

function endedBy(word: ScoredWord, lastSecond: number): ScoredWord {
  return { ...word, start: Math.min(word.start, lastSecond), end: Math.min(word.end, lastSecond) };
}
