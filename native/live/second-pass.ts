import { bestToken } from "../../core/domain/decoding/greedy.js";
import type { HotWords } from "../../core/domain/decoding/hot-words.js";
import { mostRows, type RowsOfLength, sharedRun } from "../../core/domain/placement/shared-passes.js";
import type { LogProbs } from "../models/log-probs.js";
import type { RecognizerModel } from "../models/recognizer.js";
import { copyState, type EncoderState } from "../models/state-rows.js";
import type { Reading } from "../models/utterance-reader.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import { warmUpRefining } from "../recognition/warm-up.js";
import { BatchShapes, batchRows, type RowedBatch } from "./batch-shapes.js";
import { BLOCK_FRAMES, type FrameRows, type StatePool } from "./encoder-memory.js";
import type { FlushOutputs } from "./hypothesis.js";

/** Input of a second pass; does not depend on the chunks in which the audio was stepped. */
export interface SecondPassInput {
  /** The track's encoder output, which includes the frames below. */
  readonly encoded: FrameRows;
  readonly hotWords: HotWords | null;
  /** The part of the utterance read so far; no more may be read before the pass has run. */
  readonly reading: Reading | null;
  /** Frames of the session, the end exclusive. */
  readonly startFrame: number;
  readonly endFrame: number;
  /** Encoder state before the flush; copied. */
  readonly state: EncoderState;
  /** Audio between that state and the flush: whole frames before `endFrame`, and a part of one after it. */
  readonly pcm: Float32Array;
  /** Whole frames in `pcm`, which are encoded again. */
  readonly replayedFrames: number;
  /** End of the utterance's audio, in samples of the session. */
  readonly endSample: number;
  /** Mean probability of speech up to the last frame of speech. */
  readonly speechMean: number;
}

const NO_OUTPUTS: FlushOutputs = { startFrame: -1, best: [] };

/**
 * The second pass over one utterance: the frames encoded by the streaming step, and the encoded silence of a
 * flush, go through the full-context half and the beam search.
 */
export class SecondPass {
  readonly input: SecondPassInput;
  /** The encoder's state before the flush; invalid once the pass is over. */
  readonly state: EncoderState;
  readonly #runner: SecondPassRunner;
  #result: Promise<DecodedUtterance> | null = null;
  #flush = NO_OUTPUTS;
  #isOver = false;

  constructor(input: SecondPassInput, runner: SecondPassRunner) {
    this.input = input;
    this.#runner = runner;
    this.state = runner.states.acquire(true);
    copyState(input.state, this.state);
  }

  /** After the run: the best outputs that continue the utterance's text. */
  get flush(): FlushOutputs {
    return this.#flush;
  }

  /** It has run or was dropped. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Its graphs have run; the search may still be running on another thread. */
  get hasRun(): boolean {
    return this.#result !== null;
  }

  /** The decoded text; valid after the run. */
  get decoded(): Promise<DecodedUtterance> {
    return this.#result!;
  }

  /** Takes the output of the graphs and starts the search. */
  take({ logProbs, frames }: LogProbs, flush: FlushOutputs): void {
    this.#flush = flush;
    this.#result = this.#runner.search(this.input, logProbs, frames);
    // Callers that need the text handle failures; without one, a failure must not count as unhandled.
    this.#result.catch(() => {});
    this.drop();
  }

  /** Releases the state; may be called twice. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#runner.states.release(this.state);
  }
}

export interface SecondPassRunnerParts {
  readonly states: StatePool;
  /** Upper bound of `replayedFrames`. */
  readonly longestReplay: number;
  /** Passes per run, see `BatchRows.finalRows`. */
  readonly rows: readonly RowsOfLength[];
}

/** Runs second passes over shared buffers, one run at a time: one pass, or several of similar length. */
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
    this.#flushes = new BatchShapes(model, { rows: most, frames }, batchRows(most, true));
    this.#encoded = new Float32Array(BLOCK_FRAMES * model.encodedSize);
  }

  /** Runs shapes once, so that no utterance waits for it: devices compile for each shape. */
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

  /** Selects the first pass and those that share its run. @returns their indices */
  sharing(passes: readonly SecondPass[]): readonly number[] {
    const framesOf = ({ input }: SecondPass) => input.endFrame - input.startFrame + this.#flushFrames;
    return sharedRun(passes.map(framesOf), this.#rows);
  }

  /** Runs each graph once for all passes, and starts their searches on another thread. */
  async run(passes: readonly SecondPass[]): Promise<void> {
    const longestReplay = Math.max(...passes.map(({ input }) => input.replayedFrames));
    const flush = this.#flushes.forRows(passes.length, longestReplay + this.#flushFrames);
    flush.pcm.fill(0);
    for (const [row, { input, state }] of passes.entries()) {
      flush.pcmRows[row]!.set(input.pcm);
      copyState(state, flush.stateRows[row]!);
    }
    await flush.run();
    const readings = passes.map(({ input }) => input.reading);
    const refined = await this.#model.refine(this.#encodedOf(passes, flush), readings);
    for (const [row, pass] of passes.entries()) {
      pass.take(
        refined[row]!,
        this.#outputsOf(pass, { reading: readings[row]!, refined: refined[row]!, flush, row }),
      );
    }
  }

  /** Returns the outputs that continue the utterance's text. */
  #outputsOf(
    pass: SecondPass,
    run: {
      readonly reading: Reading | null;
      readonly refined: LogProbs;
      readonly flush: RowedBatch;
      readonly row: number;
    },
  ): FlushOutputs {
    const { reading, refined, flush, row } = run;
    if (this.#model.decodeSoFar !== null) return NO_OUTPUTS;
    if (reading !== null) return this.#unreadOutputsOf(refined, reading.rowCount);
    // The reading began elsewhere, so nothing continues it.
    if (this.#model.reader !== null) return NO_OUTPUTS;
    return this.#flushOutputsOf(pass, flush, row);
  }

  /** Returns the encoder's output for each pass and its flush; valid until the next run. */
  #encodedOf(passes: readonly SecondPass[], flush: RowedBatch): Float32Array[] {
    const { encodedSize } = this.#model;
    const framesOf = ({ startFrame, endFrame }: SecondPassInput) => endFrame - startFrame;
    const frames = passes.reduce((sum, { input }) => sum + framesOf(input) + this.#flushFrames, 0);
    let left = this.#workspace(frames * encodedSize);
    return passes.map(({ input }, row) => {
      const ownSize = framesOf(input) * encodedSize;
      const size = ownSize + this.#flushFrames * encodedSize;
      const encoded = left.subarray(0, size);
      left = left.subarray(size);
      input.encoded.copy(input.startFrame, input.endFrame, encoded);
      // Frames after its flush are padding for a longer replay; a causal step does not depend on them.
      const from = (row * flush.frames + input.replayedFrames) * encodedSize;
      encoded.set(flush.encoded.subarray(from, from + size - ownSize), ownSize);
      return encoded;
    });
  }

  /** Returns the streaming head's best output for each frame of the flush. */
  #flushOutputsOf({ input }: SecondPass, flush: RowedBatch, row: number): FlushOutputs {
    const first = row * flush.frames + input.replayedFrames;
    const best = this.#bestOf(flush.logProbs, first, first + this.#flushFrames);
    return { startFrame: input.endFrame, best };
  }

  /** Returns the best output of each row that only the second pass read. */
  #unreadOutputsOf({ logProbs, frames }: LogProbs, readRows: number): FlushOutputs {
    return { startFrame: readRows, best: this.#bestOf(logProbs, readRows, frames) };
  }

  #bestOf(logProbs: Float32Array, first: number, end: number): Uint16Array {
    const width = this.#model.vocabulary.length;
    return Uint16Array.from({ length: Math.max(0, end - first) }, (_, row) =>
      bestToken(logProbs, (first + row) * width, width),
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
