import { bestToken } from "../../src/domain/decoding/greedy.js";
import type { HotWords } from "../../src/domain/decoding/hot-words.js";
import type { LogProbs, RecognizerModel, StepBatch } from "../models/recognizer.js";
import { copyState, type EncoderState } from "../models/state-rows.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import { BLOCK_FRAMES, type FrameRows } from "./frame-rows.js";
import type { StatePool } from "./state-pool.js";

const NOTHING_LATE = new Uint16Array(0);

/** What a second pass works on; all of it is the same whatever the chunks were that the audio was stepped in. */
export interface SecondPassInput {
  /** The track's, which holds the encoder's output of the frames below. */
  readonly encoded: FrameRows;
  readonly hotWords: HotWords | null;
  /** Frames of the session, the end exclusive. */
  readonly startFrame: number;
  readonly endFrame: number;
  /** Encoder state to flush from; copied. */
  readonly state: EncoderState;
  /** Audio between that state and the silence of the flush: whole frames before `endFrame`, and a part of one after it. */
  readonly pcm: Float32Array;
  /** How many of its frames lie before `endFrame`. */
  readonly replayedFrames: number;
  /** End of the utterance's audio, in samples of the session. */
  readonly endSample: number;
  /** Mean probability of speech of its frames up to the last of speech. */
  readonly speechMean: number;
}

/**
 * The second pass over one utterance: the encoder's output of its frames, then of some silence after them, goes through
 * the full-context half and the beam search. Frames that the streaming step has encoded are not encoded again.
 */
export class SecondPass {
  readonly #input: SecondPassInput;
  readonly #runner: SecondPassRunner;
  readonly #state: EncoderState;
  #result: Promise<DecodedUtterance> | null = null;
  #lateOutputs: Uint16Array = NOTHING_LATE;
  #isOver = false;

  constructor(input: SecondPassInput, runner: SecondPassRunner) {
    this.#input = input;
    this.#runner = runner;
    this.#state = runner.states.acquire(true);
    copyState(input.state, this.#state);
  }

  /** Where its flush begins, a frame of the session. */
  get endFrame(): number {
    return this.#input.endFrame;
  }

  /** The streaming head's best output of each frame of the flush, once it has run. */
  get lateOutputs(): Uint16Array {
    return this.#lateOutputs;
  }

  /** Run, or not needed any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs the graphs and begins the search, which goes on beside this thread. */
  async run(): Promise<void> {
    const { logProbs, frames, lateOutputs } = await this.#runner.refine(this.#input, this.#state);
    this.#lateOutputs = lateOutputs;
    this.#result = this.#runner.search(this.#input, logProbs, frames);
    // An ending that needs the text awaits it and is told; it may never be needed.
    this.#result.catch(() => {});
    this.drop();
  }

  /** As `run`, unless that was done before. */
  async begin(): Promise<{ readonly decoded: Promise<DecodedUtterance> }> {
    if (this.#result === null) await this.run();
    return { decoded: this.#result! };
  }

  /** Its text is not needed. May be called twice. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#runner.states.release(this.#state);
  }
}

/** The buffers that second passes share; one runs at a time. */
export class SecondPassRunner {
  readonly states: StatePool;
  readonly #model: RecognizerModel;
  readonly #utterances: UtteranceDecoder;
  readonly #flushFrames: number;
  readonly #makeBatch: (rows: number, frames: number) => StepBatch;
  readonly #batches: StepBatch[] = [];
  #encoded: Float32Array;

  /** @param longestReplay the most frames a state to flush from may lie behind */
  constructor(
    model: RecognizerModel,
    utterances: UtteranceDecoder,
    parts: { readonly states: StatePool; readonly longestReplay: number },
  ) {
    this.#model = model;
    this.#utterances = utterances;
    this.states = parts.states;
    const { flushSamples, frameSamples } = model.manifest;
    this.#flushFrames = Math.ceil(flushSamples / frameSamples);
    this.#makeBatch = model.stepBatches({ rows: 1, frames: parts.longestReplay + this.#flushFrames });
    this.#encoded = new Float32Array(BLOCK_FRAMES * model.encodedSize);
  }

  /** Runs the kernels once, so that the first utterance does not pay for their setup. */
  async warmUp(): Promise<void> {
    await this.#batch(this.#flushFrames).run();
  }

  /** Log-probs of the full-context half, and what the streaming head has given out in the flush. */
  async refine(
    input: SecondPassInput,
    state: EncoderState,
  ): Promise<LogProbs & { readonly lateOutputs: Uint16Array }> {
    const { startFrame, endFrame, pcm, replayedFrames } = input;
    const { encodedSize, vocabulary } = this.#model;
    const flush = this.#batch(replayedFrames + this.#flushFrames);
    flush.pcm.fill(0);
    flush.pcm.set(pcm);
    copyState(state, flush.state);
    await flush.run();
    const lateOutputs = Uint16Array.from({ length: this.#flushFrames }, (_, frame) =>
      bestToken(flush.logProbs, (replayedFrames + frame) * vocabulary.length, vocabulary.length),
    );
    const heardFrames = endFrame - startFrame;
    const frames = heardFrames + this.#flushFrames;
    const encoded = this.#workspace(frames * encodedSize);
    input.encoded.copy(startFrame, endFrame, encoded);
    encoded.set(flush.encoded.subarray(replayedFrames * encodedSize), heardFrames * encodedSize);
    return { ...(await this.#model.refine(encoded, frames)), lateOutputs };
  }

  search(input: SecondPassInput, logProbs: Float32Array, frames: number): Promise<DecodedUtterance> {
    const { hotWords, startFrame, endSample, speechMean } = input;
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    return this.#utterances.search(logProbs, frames, {
      offsetSeconds: (startFrame * frameSamples) / sampleRateHz,
      endSeconds: endSample / sampleRateHz,
      speechMean,
      hotWords,
    });
  }

  #batch(frames: number): StepBatch {
    let batch = this.#batches[frames];
    if (batch === undefined) {
      batch = this.#makeBatch(1, frames);
      this.#batches[frames] = batch;
    }
    return batch;
  }

  #workspace(size: number): Float32Array {
    if (this.#encoded.length < size) this.#encoded = new Float32Array(2 * size);
    return this.#encoded.subarray(0, size);
  }
}
