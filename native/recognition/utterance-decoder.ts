import { BeamDecoder } from "../../core/domain/decoding/beam-decoder.js";
import type { GrowingSearch } from "../../core/domain/decoding/growing-search.js";
import type { HotWords } from "../../core/domain/decoding/hot-words.js";
import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { ScoredWord } from "../../core/domain/decoding/words.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { Reading } from "../models/utterance-reader.js";

export interface DecodedUtterance {
  readonly text: string;
  readonly words: readonly ScoredWord[];
}

export interface UtteranceOptions {
  /** Time of the first sample in the session or file; added to word times. */
  readonly offsetSeconds: number;
  readonly speechMean: number;
  readonly hotWords: HotWords | null;
  /** Ends the search early; see `TokenSearch.searchAside`. None by default. */
  readonly stop?: Int32Array | null;
  /** The part of the utterance read so far; none by default. */
  readonly reading?: Reading | null;
}

/**
 * The second pass of live finals and files: full context, then a beam search with the language model. The
 * search runs on another thread, so that this one can start the next utterance.
 */
export class UtteranceDecoder {
  readonly tokenSearch: TokenSearch;
  readonly #model: RecognizerModel;
  readonly #decoder: BeamDecoder;
  readonly #emissionDelaySeconds: number;

  /** @param outputBias see `BeamDecoderOptions` */
  constructor(model: RecognizerModel, search: TokenSearch, outputBias: Float32Array | null = null) {
    const { evidencePerCharacter, doubt, emissionDelaySeconds = 0 } = model.manifest.decoding;
    this.#model = model;
    this.tokenSearch = search;
    this.#emissionDelaySeconds = emissionDelaySeconds;
    this.#decoder = new BeamDecoder(model.vocabulary, search, { evidencePerCharacter, doubt, outputBias });
  }

  /** Makes a search for open utterances with the same language model; null without one. */
  growing(beamWidth: number): GrowingSearch | null {
    return this.tokenSearch.growing?.(beamWidth) ?? null;
  }

  /** @param pcm mono, -1 to 1, at the model's rate */
  async decode(pcm: Float32Array, options: UtteranceOptions): Promise<DecodedUtterance> {
    const { decoded } = await this.begin(pcm, options);
    return decoded;
  }

  /** Like `decode`, but settles when the graphs have finished and the search has started. */
  async begin(
    pcm: Float32Array,
    options: UtteranceOptions,
  ): Promise<{ readonly decoded: Promise<DecodedUtterance> }> {
    const { logProbs, frames } = await this.#model.decodeUtterance(pcm, options.reading);
    const endSeconds = options.offsetSeconds + pcm.length / this.#model.manifest.sampleRateHz;
    const decoded = this.search(logProbs, frames, { ...options, endSeconds });
    // The caller handles a failure if it awaits this promise, which it may not do.
    decoded.catch(() => {});
    return { decoded };
  }

  /**
   * Runs the search alone, over log-probs of the full-context head.
   *
   * @param logProbs `[frames, vocabulary]`, natural log; must not change until it settles
   * @param options `endSeconds`: end of the audio in the session or file
   */
  async search(
    logProbs: Float32Array,
    frames: number,
    options: UtteranceOptions & { readonly endSeconds: number },
  ): Promise<DecodedUtterance> {
    const { offsetSeconds, endSeconds, speechMean, hotWords, stop = null } = options;
    const { sampleRateHz } = this.#model.manifest;
    const timing = {
      frameSeconds: this.#model.outputFrameSamples / sampleRateHz,
      offsetSeconds: offsetSeconds - this.#emissionDelaySeconds,
    };
    const { text, words } = await this.#decoder.decodeAside(logProbs, frames, {
      timing,
      speechMean,
      hotWords,
      stop,
    });
    // Clamp to the audio: no word starts before it, and letters from the flushed silence belong to its end.
    return { text, words: words.map((timed) => within(timed, offsetSeconds, endSeconds)) };
  }
}

function within(word: ScoredWord, firstSecond: number, lastSecond: number): ScoredWord {
  const clamped = (second: number) => Math.min(Math.max(second, firstSecond), lastSecond);
  return { ...word, start: clamped(word.start), end: clamped(word.end) };
}
