import type { RecognizerManifest } from "./manifest.js";
import type { LogProbs, RecognizerModel, StepBatch, StepCapacity } from "./recognizer.js";
import type { SileroVad } from "./silero-vad.js";
import { StateRows } from "./state-rows.js";

/** Public weights of one recogniser, without voice activity. */
export interface CtcHead {
  readonly vocabulary: readonly string[];
  /** Samples that one row of `decode` stands for. */
  readonly outputFrameSamples: number;
  /** Floats of a stream's state, zeros begin a stream; 0 when the graph cannot stream. */
  readonly stateSize: number;
  /** Steps by which `step` writes the row of a frame later than it takes the frame. */
  readonly lagFrames: number;
  /**
   * Takes one frame of a stream and writes a row of log-probs, which may lag behind the frame.
   * Heads that cannot stream write the blank.
   */
  step(state: Float32Array, pcm: Float32Array, row: Float32Array): Promise<void>;
  /** Log-probs of a whole utterance, in the order of `vocabulary`. */
  decode(pcm: Float32Array): Promise<LogProbs>;
  /** As `decode`, of several utterances at once, each no longer than a pass; absent where `step` writes rows. */
  decodeTogether?(pcms: readonly Float32Array[]): Promise<readonly LogProbs[]>;
  release(): Promise<void>;
}

/**
 * A recogniser made of two: a CTC head that knows no voice activity, and Silero VAD. Utterances are found by the second and
 * read by the first, whole, for files and live finals alike; partials come from heads that stream, and from others by reading
 * what was said so far again. What a step leaves for the second pass is the audio itself.
 *
 * Rows are run one after another: public exports differ in whether a batch of streams is possible at all.
 */
export class VoicedRecognizer implements RecognizerModel {
  readonly manifest: RecognizerManifest;
  readonly vocabulary: readonly string[];
  readonly stateSize: number;
  readonly stateBytes = 0;
  readonly reachFrames = 0;
  readonly outputBias = null;
  /** Exports differ in whether they mask padding. */
  readonly refinesTogether = false;
  readonly encodedSize: number;
  readonly outputFrameSamples: number;
  readonly lagFrames: number;
  readonly decodeSoFar: RecognizerModel["decodeSoFar"];
  readonly #head: CtcHead;
  readonly #vad: SileroVad;
  #runMs = 0;

  constructor(manifest: RecognizerManifest, head: CtcHead, vad: SileroVad) {
    this.manifest = manifest;
    this.#head = head;
    this.#vad = vad;
    this.vocabulary = head.vocabulary;
    this.stateSize = vad.stateSize + head.stateSize;
    this.encodedSize = manifest.frameSamples;
    this.outputFrameSamples = head.outputFrameSamples;
    this.lagFrames = head.lagFrames;
    this.decodeSoFar = head.decodeTogether === undefined ? null : (pcms) => this.#decodeSoFar(pcms);
  }

  get runMs(): number {
    return this.#runMs;
  }

  stepBatches(capacity: StepCapacity): (rows: number, frames: number) => StepBatch {
    return this.#batches(capacity, true);
  }

  stepBatch(rows: number, frames: number): StepBatch {
    return this.#batches({ rows, frames: rows * frames }, true)(rows, frames);
  }

  speechBatch(rows: number, frames: number): StepBatch {
    return this.#batches({ rows, frames: rows * frames }, false)(rows, frames);
  }

  async refine(utterances: readonly Float32Array[]): Promise<readonly LogProbs[]> {
    const refined: LogProbs[] = [];
    for (const pcm of utterances) refined.push(await this.decodeUtterance(pcm));
    return refined;
  }

  async decodeUtterance(pcm: Float32Array): Promise<LogProbs> {
    // Digital silence at the end is what a flush adds: it would shift features that are normalized over the utterance.
    let end = pcm.length;
    while (end > 0 && pcm[end - 1] === 0) end--;
    const startedAtMs = performance.now();
    const decoded = await this.#head.decode(pcm.subarray(0, end));
    this.#runMs += performance.now() - startedAtMs;
    return decoded;
  }

  async #decodeSoFar(pcms: readonly Float32Array[]): Promise<readonly LogProbs[]> {
    const startedAtMs = performance.now();
    const decoded = await this.#head.decodeTogether!(pcms);
    this.#runMs += performance.now() - startedAtMs;
    return decoded;
  }

  async release(): Promise<void> {
    await this.#vad.release();
    await this.#head.release();
  }

  #batches(capacity: StepCapacity, wantsText: boolean): (rows: number, frames: number) => StepBatch {
    const { frameSamples } = this.manifest;
    const width = this.vocabulary.length;
    const pcm = new Float32Array(capacity.frames * frameSamples);
    const state = new StateRows(this, capacity.rows);
    const logProbs = new Float32Array(capacity.frames * width);
    const speech = new Float32Array(capacity.frames);
    const nextState = new StateRows(this, capacity.rows);
    return (rows, frames) => {
      const count = rows * frames;
      const audio = pcm.subarray(0, count * frameSamples);
      const batch = {
        rows,
        frames,
        pcm: audio,
        state: state.first(rows),
        logProbs: logProbs.subarray(0, count * width),
        speech: speech.subarray(0, count),
        encoded: audio,
        nextState: nextState.first(rows),
      };
      const run = (from = state, to = nextState) =>
        this.#run({ ...batch, state: from.first(rows), nextState: to.first(rows) }, wantsText);
      return { ...batch, run };
    };
  }

  async #run(batch: Omit<StepBatch, "run">, wantsText: boolean): Promise<void> {
    const { rows, frames } = batch;
    const nextState = batch.nextState.values;
    const { frameSamples } = this.manifest;
    const width = this.vocabulary.length;
    const startedAtMs = performance.now();
    nextState.set(batch.state.values);
    for (let row = 0; row < rows; row++) {
      const stateStart = row * this.stateSize;
      const headStart = stateStart + this.#vad.stateSize;
      const vadState = nextState.subarray(stateStart, headStart);
      const headState = nextState.subarray(headStart, stateStart + this.stateSize);
      for (let frame = row * frames; frame < (row + 1) * frames; frame++) {
        const pcm = batch.pcm.subarray(frame * frameSamples, (frame + 1) * frameSamples);
        batch.speech[frame] = await this.#vad.push(vadState, pcm);
        const logProbs = batch.logProbs.subarray(frame * width, (frame + 1) * width);
        if (wantsText) await this.#head.step(headState, pcm, logProbs);
      }
    }
    this.#runMs += performance.now() - startedAtMs;
  }
}

/** A row that says blank: certain, but with no other output impossible. */
export function writeBlank(row: Float32Array): void {
  row.fill(-30);
  row[0] = 0;
}
