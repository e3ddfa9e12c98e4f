import type { RecognizerManifest } from "./manifest.js";
import type { LogProbs, RecognizerModel, StepBatch, StepCapacity } from "./recognizer.js";
import { copyState, type EncoderState, StateRows } from "./state-rows.js";
import type { VoiceActivity } from "./voice-activity.js";

/** A public recogniser without voice activity. */
export interface CtcHead {
  readonly vocabulary: readonly string[];
  /** Samples per row of `decode`. */
  readonly outputFrameSamples: number;
  /** Floats in a stream's state, which starts with zeros; 0 if the graph cannot stream. */
  readonly stateSize: number;
  /** Steps between a frame and its row. */
  readonly lagFrames: number;
  /** Takes a stream's next frame and writes a row, which may lag; the blank if it cannot stream. */
  step(state: Float32Array, pcm: Float32Array, row: Float32Array): Promise<void>;
  /** Returns log-probs of a whole utterance, in the order of `vocabulary`. */
  decode(pcm: Float32Array): Promise<LogProbs>;
  /** Decodes several utterances, each at most one pass long; absent if the head streams. */
  decodeTogether?(pcms: readonly Float32Array[]): Promise<readonly LogProbs[]>;
  release(): Promise<void>;
}

/**
 * Combines a CTC head with separate voice activity. Voice activity finds utterances; the head reads each as a
 * whole, for files and live finals alike. Partials come from heads that stream; other heads read the open
 * utterance repeatedly. The output of a step for the second pass is the audio itself.
 *
 * Voice activity takes all rows of a step in one run. Heads run row by row: not all public exports accept
 * batches.
 */
export class VoicedRecognizer implements RecognizerModel {
  readonly manifest: RecognizerManifest;
  readonly vocabulary: readonly string[];
  readonly stateSize: number;
  readonly stateBytes: number;
  readonly reachFrames = 0;
  readonly outputBias = null;
  /** Not all exports mask padding. */
  readonly refinesTogether = false;
  readonly encodedSize: number;
  readonly outputFrameSamples: number;
  readonly lagFrames: number;
  readonly decodeSoFar: RecognizerModel["decodeSoFar"];
  readonly #head: CtcHead;
  readonly #voice: VoiceActivity;
  #runMs = 0;

  constructor(manifest: RecognizerManifest, head: CtcHead, voice: VoiceActivity) {
    this.manifest = manifest;
    this.#head = head;
    this.#voice = voice;
    this.vocabulary = head.vocabulary;
    this.stateSize = voice.stateSize + head.stateSize;
    this.stateBytes = voice.stateBytes;
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
    // Strip the digital silence of the flush: it would shift features that are normalized over the utterance.
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
    await this.#voice.release();
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
      const run = (from = state, to = nextState) => {
        copyState(from.first(rows), to.first(rows));
        return this.#run(batch, to.rows.slice(0, rows), wantsText);
      };
      return { ...batch, run };
    };
  }

  /** @param states one per row, updated in place: voice activity's part, then the head's */
  async #run(
    { frames, pcm, speech, logProbs }: Omit<StepBatch, "run">,
    states: readonly EncoderState[],
    wantsText: boolean,
  ): Promise<void> {
    const { frameSamples } = this.manifest;
    const width = this.vocabulary.length;
    const startedAtMs = performance.now();
    await this.#voice.hear({ frames, pcm, speech, states });
    for (const [row, { values }] of states.entries()) {
      if (!wantsText) break;
      const state = values.subarray(this.#voice.stateSize);
      for (let frame = row * frames; frame < (row + 1) * frames; frame++) {
        const samples = pcm.subarray(frame * frameSamples, (frame + 1) * frameSamples);
        await this.#head.step(state, samples, logProbs.subarray(frame * width, (frame + 1) * width));
      }
    }
    this.#runMs += performance.now() - startedAtMs;
  }
}

/** Fills a row with a near-certain blank; other outputs stay possible. */
export function writeBlank(row: Float32Array): void {
  row.fill(-30);
  row[0] = 0;
}
