import type { SentenceEnds } from "../models/punctuation/sentence-ends.js";
import type { UtteranceReader } from "../models/utterance-reader.js";
import type { RowPool, StatePool } from "./encoder-memory.js";
import type { LetterTiming } from "./hypothesis.js";
import type { SearchPool } from "./searched-utterance.js";

/** The part of a recogniser that the tracks of a worker share. */
export interface TrackModel {
  readonly letters: LetterTiming;
  /**
   * Whether steps output text. Otherwise `reader` reads open utterances and provides their partials, unless
   * they are read repeatedly for partials.
   */
  readonly streams: boolean;
  readonly reader: UtteranceReader | null;
  /** Whether open utterances are also read repeatedly, for partials, because their model has full context. */
  readonly rereads: boolean;
  readonly states: StatePool;
  readonly encodedBlocks: RowPool;
  readonly encodedSize: number;
  readonly vocabulary: readonly string[];
  readonly outputBias: Float32Array | null;
  /** Null without a language model: partials are then the streaming head's letters. */
  readonly searches: SearchPool | null;
  /** Whether its text is Kazakh or Russian, which the network for sentence ends requires. */
  readonly isCyrillic: boolean;
  /** Loads the network on first use. */
  readonly sentenceEnds: () => SentenceEnds;
  readonly frameSamples: number;
  readonly sampleRateHz: number;
  readonly contextFrames: number;
}
