import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import type { LogProbs } from "./log-probs.js";
import type { RecognizerManifest } from "./manifest.js";
import type { RecognizerModel, StepBatch, StepCapacity } from "./recognizer.js";
import { copyState, type EncoderState, StateRows } from "./state-rows.js";
import type { Reading, UtteranceReader } from "./utterance-reader.js";
import type { VoiceActivity } from "./voice-activity.js";

/** A public recogniser without voice activity. */
export interface CtcHead {
  readonly vocabulary: readonly string[];
  /** Number of samples per row of `decode`. */
  readonly outputFrameSamples: number;
  /** Reads utterances while they are spoken, in chunks or in windows. */
  readonly reader: UtteranceReader | null;
  /**
   * Returns log-probs of a whole utterance, in the order of `vocabulary`.
   * @param begun the part that `reader` has read. Graphs that stream return bit-identical results with and
   * without it. A full-context graph reads a long utterance in windows with it, and whole without it
   */
  decode(pcm: Float32Array, begun?: Reading | null): Promise<LogProbs>;
  /** Decodes several utterances, each at most one pass long; absent if the head streams. */
  decodeTogether?(pcms: readonly Float32Array[]): Promise<readonly LogProbs[]>;
  /** Makes a search through the head's graphs, over rows that it returned; absent for CTC. */
  searchOver?(fallback: TokenSearch): TokenSearch;
  release(): Promise<void>;
}

/**
 * Combines a CTC head with separate voice activity. Voice activity finds utterances; the head reads them
 * whole, for files and live finals alike: heads that stream read while the utterance is spoken, other heads
 * at its end. The chunks of streaming heads provide partials; other heads read the open utterance repeatedly.
 * The output of a step for the second pass is the audio itself, and its log-probs are blanks.
 */
export class VoicedRecognizer implements RecognizerModel {
  readonly manifest: RecognizerManifest;
  readonly vocabulary: readonly string[];
  readonly stateSize: number;
  readonly stateBytes: number;
  readonly reachFrames = 0;
  readonly outputBias = null;
  /** False because not all exports mask padding. */
  readonly refinesTogether = false;
  readonly encodedSize: number;
  readonly outputFrameSamples: number;
  readonly reader: UtteranceReader | null;
  readonly decodeSoFar: RecognizerModel["decodeSoFar"];
  readonly searchOver: RecognizerModel["searchOver"];
  readonly #head: CtcHead;
  readonly #voice: VoiceActivity;
  #runMs = 0;

  constructor(manifest: RecognizerManifest, head: CtcHead, voice: VoiceActivity) {
    this.manifest = manifest;
    this.#head = head;
    this.#voice = voice;
    this.vocabulary = head.vocabulary;
    this.stateSize = voice.stateSize;
    this.stateBytes = voice.stateBytes;
    this.encodedSize = manifest.frameSamples;
    this.outputFrameSamples = head.outputFrameSamples;
    this.reader = head.reader === null ? null : this.#timed(head.reader);
    this.searchOver = head.searchOver?.bind(head);
    this.decodeSoFar = head.decodeTogether === undefined ? null : (pcms) => this.#decodeSoFar(pcms);
  }

  get runMs(): number {
    return this.#runMs;
  }

  stepBatches(capacity: StepCapacity): (rows: number, frames: number) => StepBatch {
    return this.#batches(capacity);
  }

  stepBatch(rows: number, frames: number): StepBatch {
    return this.#batches({ rows, frames: rows * frames })(rows, frames);
  }

  speechBatch(rows: number, frames: number): StepBatch {
    return this.stepBatch(rows, frames);
  }

  async refine(
    utterances: readonly Float32Array[],
    readings: readonly (Reading | null)[] = [],
  ): Promise<readonly LogProbs[]> {
    const refined: LogProbs[] = [];
    for (const [row, pcm] of utterances.entries()) {
      refined.push(await this.decodeUtterance(pcm, readings[row]));
    }
    return refined;
  }

  async decodeUtterance(pcm: Float32Array, begun: Reading | null = null): Promise<LogProbs> {
    // Strip the digital silence of the flush, which would shift features that are normalized over the
    // utterance.
    let end = pcm.length;
    while (end > 0 && pcm[end - 1] === 0) end--;
    const startedAtMs = performance.now();
    const decoded = await this.#head.decode(pcm.subarray(0, end), begun);
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

  /** Adds the reader's runs to the time spent in graphs. */
  #timed(reader: UtteranceReader): UtteranceReader {
    const timed = async <T>(run: () => Promise<T>): Promise<T> => {
      const startedAtMs = performance.now();
      const read = await run();
      this.#runMs += performance.now() - startedAtMs;
      return read;
    };
    return {
      endsAnywhere: reader.endsAnywhere,
      begin: () => reader.begin(),
      next: (reading) => reader.next(reading),
      read: (reading, pcm) => timed(() => reader.read(reading, pcm)),
      ...(reader.readTogether !== undefined && {
        readTogether: (readings, pcms) => timed(() => reader.readTogether!(readings, pcms)),
      }),
    };
  }

  #batches(capacity: StepCapacity): (rows: number, frames: number) => StepBatch {
    const { frameSamples } = this.manifest;
    const width = this.vocabulary.length;
    const pcm = new Float32Array(capacity.frames * frameSamples);
    const state = new StateRows(this, capacity.rows);
    const logProbs = blanks(capacity.frames, width);
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
        return this.#hear(batch, to.rows.slice(0, rows));
      };
      return { ...batch, run };
    };
  }

  /** @param states one per row, updated in place */
  async #hear(
    { frames, pcm, speech }: Omit<StepBatch, "run">,
    states: readonly EncoderState[],
  ): Promise<void> {
    const startedAtMs = performance.now();
    await this.#voice.hear({ frames, pcm, speech, states });
    this.#runMs += performance.now() - startedAtMs;
  }
}

/** Makes rows with a near-certain blank; other outputs stay possible. */
function blanks(rows: number, width: number): Float32Array {
  const logProbs = new Float32Array(rows * width).fill(-30);
  for (let at = 0; at < logProbs.length; at += width) logProbs[at] = 0;
  return logProbs;
}
