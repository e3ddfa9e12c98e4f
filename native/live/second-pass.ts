import { bestToken } from "../../core/domain/decoding/greedy.js";
import type { HotWords } from "../../core/domain/decoding/hot-words.js";
import { mostRows, type RowsOfLength, sharedRun } from "../../core/domain/placement/shared-passes.js";
import type { LogProbs, RecognizerModel } from "../models/recognizer.js";
import { copyState, type EncoderState } from "../models/state-rows.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import { warmUpRefining } from "../recognition/warm-up.js";
import { BatchShapes, type RowedBatch } from "./batch-shapes.js";
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

  get input(): SecondPassInput {
    return this.#input;
  }

  /** The encoder's, to flush from; none when it is over. */
  get state(): EncoderState {
    return this.#state;
  }

  /** Its graphs have run; the search goes on beside this thread. */
  get hasRun(): boolean {
    return this.#result !== null;
  }

  /** What the graphs have given: the search begins. */
  take({ logProbs, frames, lateOutputs }: RefinedPass): void {
    this.#lateOutputs = lateOutputs;
    this.#result = this.#runner.search(this.#input, logProbs, frames);
    // An ending that needs the text awaits it and is told; it may never be needed.
    this.#result.catch(() => {});
    this.drop();
  }

  /** What it reads; to be asked when it has run. */
  get decoded(): Promise<DecodedUtterance> {
    return this.#result!;
  }

  /** Its text is not needed. May be called twice. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#runner.states.release(this.#state);
  }
}

/** What the graphs make of a second pass. */
interface RefinedPass extends LogProbs {
  /** See `SecondPass.lateOutputs`. */
  readonly lateOutputs: Uint16Array;
}

export interface SecondPassRunnerParts {
  readonly states: StatePool;
  /** The most frames a state to flush from may lie behind. */
  readonly longestReplay: number;
  /** How many share a run, see `BatchRows.finalRows`. */
  readonly rows: readonly RowsOfLength[];
}

/** The buffers that second passes share; one run at a time, of one pass or of several that are about as long. */
export class SecondPassRunner {
  readonly states: StatePool;
  readonly #model: RecognizerModel;
  readonly #utterances: UtteranceDecoder;
  readonly #rows: readonly RowsOfLength[];
  readonly #flushFrames: number;
  readonly #longestReplay: number;
  readonly #flushes: BatchShapes;
  #encoded: Float32Array;

  constructor(
    model: RecognizerModel,
    utterances: UtteranceDecoder,
    { states, longestReplay, rows }: SecondPassRunnerParts,
  ) {
    this.#model = model;
    this.#utterances = utterances;
    this.states = states;
    this.#rows = model.refinesTogether ? rows : [];
    const { flushSamples, frameSamples } = model.manifest;
    this.#flushFrames = Math.ceil(flushSamples / frameSamples);
    this.#longestReplay = longestReplay;
    const most = mostRows(this.#rows);
    const frames = most * (longestReplay + this.#flushFrames);
    this.#flushes = new BatchShapes(model.stepBatches({ rows: most, frames }), most);
    this.#encoded = new Float32Array(BLOCK_FRAMES * model.encodedSize);
  }

  /** Runs the kernels once, so that the first utterance does not pay for their setup: devices compile for each shape. */
  async warmUp(which: "usual shapes" | "every shape"): Promise<void> {
    if (which === "usual shapes") {
      await this.#flushes.forRows(1, this.#flushFrames).run();
      return;
    }
    for (let replayed = 0; replayed <= this.#longestReplay; replayed++) {
      const frames = replayed + this.#flushFrames;
      for (const rows of this.#flushes.rows) await this.#flushes.forRows(rows, frames).run();
    }
    await warmUpRefining(this.#model, this.#rows);
  }

  /** Those of these that share the run of the first, and it. @returns their places */
  sharing(passes: readonly SecondPass[]): readonly number[] {
    const framesOf = ({ input }: SecondPass) => input.endFrame - input.startFrame + this.#flushFrames;
    return sharedRun(passes.map(framesOf), this.#rows);
  }

  /** Runs the graphs, of all in one run each, and begins the searches, which go on beside this thread. */
  async run(passes: readonly SecondPass[]): Promise<void> {
    const longestReplay = Math.max(...passes.map(({ input }) => input.replayedFrames));
    const flush = this.#flushes.forRows(passes.length, longestReplay + this.#flushFrames);
    flush.pcm.fill(0);
    for (const [row, { input, state }] of passes.entries()) {
      flush.pcmRows[row]!.set(input.pcm);
      copyState(state, flush.stateRows[row]!);
    }
    await flush.run();
    const refined = await this.#model.refine(this.#encodedOf(passes, flush));
    for (const [row, pass] of passes.entries()) {
      pass.take({ ...refined[row]!, lateOutputs: this.#lateOutputsOf(pass, flush, row) });
    }
  }

  /** The encoder's output of each pass, that of its flush behind it; valid until the next run. */
  #encodedOf(passes: readonly SecondPass[], flush: RowedBatch): Float32Array[] {
    const { encodedSize } = this.#model;
    const framesOf = ({ startFrame, endFrame }: SecondPassInput) => endFrame - startFrame;
    const frames = passes.reduce((sum, { input }) => sum + framesOf(input) + this.#flushFrames, 0);
    let left = this.#workspace(frames * encodedSize);
    return passes.map(({ input }, row) => {
      const heard = framesOf(input) * encodedSize;
      const size = heard + this.#flushFrames * encodedSize;
      const encoded = left.subarray(0, size);
      left = left.subarray(size);
      input.encoded.copy(input.startFrame, input.endFrame, encoded);
      // What lies behind its flush is another's replay: a step depends on nothing behind it.
      const from = (row * flush.frames + input.replayedFrames) * encodedSize;
      encoded.set(flush.encoded.subarray(from, from + size - heard), heard);
      return encoded;
    });
  }

  #lateOutputsOf({ input }: SecondPass, flush: RowedBatch, row: number): Uint16Array {
    const width = this.#model.vocabulary.length;
    const first = row * flush.frames + input.replayedFrames;
    return Uint16Array.from({ length: this.#flushFrames }, (_, frame) =>
      bestToken(flush.logProbs, (first + frame) * width, width),
    );
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

  #workspace(size: number): Float32Array {
    if (this.#encoded.length < size) this.#encoded = new Float32Array(2 * size);
    return this.#encoded.subarray(0, size);
  }
}
