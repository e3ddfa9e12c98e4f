import { GreedyDecoder } from "../../src/domain/decoding/greedy.js";
import { Endpointer, pauseFramesFor } from "../../src/domain/endpointing/endpointer.js";
import { PcmRing } from "../ring/pcm-ring.js";
import type { ToLiveWorker } from "./protocol.js";
import type { DecodedUtterance } from "./utterance-decoder.js";

/** Frames of silence fed after the last audio, so that speech right before the end is still seen as speech. */
const FINISH_FRAMES = 8;
/** Log-prob rows kept while nobody speaks: a new utterance begins some frames before it is noticed. */
const ONSET_ROWS = 12;

export interface SlotModel {
  readonly stateSize: number;
  readonly vocabulary: readonly string[];
  readonly frameSamples: number;
  readonly contextFrames: number;
}

/** What the worker holds of one session: its place in the ring, the encoder's state and the utterance so far. */
export class LiveSlot {
  readonly session: number;
  readonly epoch: number;
  readonly wantsPartials: boolean;
  readonly pauseFrames: number;
  readonly state: Float32Array;
  readonly endpointer: Endpointer;
  readonly greedy: GreedyDecoder;
  /** Number of the next utterance that the client hears of. */
  nextUtterance: number;
  /** Text of the second pass that waits for the threshold. */
  waitingFinal: DecodedUtterance | null = null;
  /** The last partial sent of the open utterance. */
  sentPartial = "";
  /** Where a replay would begin, in samples of the session. */
  resumeSample: number;
  isFinished = false;
  readonly #ring: PcmRing;
  readonly #frameSamples: number;
  /** First frame whose output counts; those before it only fill the encoder's left context. */
  readonly #baseFrame: number;
  readonly #rows: Float32Array[];
  #nextFrame: number;
  #finalizeMarks: number[] = [];
  #finishSample: number | null = null;

  constructor(open: Extract<ToLiveWorker, { type: "open" }>, model: SlotModel) {
    this.session = open.session;
    this.epoch = open.epoch;
    this.wantsPartials = open.wantsPartials;
    this.nextUtterance = open.nextUtterance;
    this.resumeSample = open.resumeSample;
    this.pauseFrames = pauseFramesFor(open.endOfUtteranceMs);
    this.state = new Float32Array(model.stateSize);
    this.endpointer = new Endpointer({ pauseFrames: this.pauseFrames });
    this.greedy = new GreedyDecoder(model.vocabulary);
    this.#ring = PcmRing.attach(open.ring);
    this.#frameSamples = model.frameSamples;
    this.#baseFrame = open.resumeSample / model.frameSamples;
    this.#nextFrame = Math.max(0, this.#baseFrame - model.contextFrames);
    this.#rows = Array.from({ length: ONSET_ROWS }, () => new Float32Array(model.vocabulary.length));
    this.#ring.cursor = this.#nextFrame * model.frameSamples;
  }

  /** Frames that can be decoded at once: up to what is written, or to the next mark. */
  get availableFrames(): number {
    let endFrame = Math.floor(this.#writtenSamples / this.#frameSamples);
    if (this.#finishSample !== null) {
      endFrame = Math.ceil(this.#finishSample / this.#frameSamples) + FINISH_FRAMES;
    }
    const mark = this.#finalizeMarks[0];
    if (mark !== undefined) endFrame = Math.min(endFrame, Math.floor(mark / this.#frameSamples));
    return Math.max(0, endFrame - this.#nextFrame);
  }

  /** A mark that decoding has reached: the utterance before it ends there. Null when there is none. */
  takeReachedMark(): number | null {
    const mark = this.#finalizeMarks[0];
    if (mark === undefined || this.#nextFrame < Math.floor(mark / this.#frameSamples)) return null;
    this.#finalizeMarks.shift();
    return mark;
  }

  /** True when all audio and the silence after it are decoded. */
  get hasReachedFinish(): boolean {
    return this.#finishSample !== null && !this.isFinished && this.availableFrames === 0;
  }

  /** The end of the audio the client has sent, when it has said that there is no more. */
  get finishSample(): number | null {
    return this.#finishSample;
  }

  markFinalize(atSample: number): void {
    if (atSample > this.resumeSample) this.#finalizeMarks.push(atSample);
  }

  markFinish(atSample: number): void {
    this.#finishSample = atSample;
  }

  /** Copies the next frames into a row of the batch and moves on; silence where no audio is. */
  takeFrames(frames: number, target: Float32Array): void {
    this.readPcm(this.#nextFrame * this.#frameSamples, target);
    this.#nextFrame += frames;
    this.#ring.cursor = Math.min(this.#nextFrame * this.#frameSamples, this.#writtenSamples);
  }

  /** Copies samples of the session from `startSample` on; silence beyond what was written. */
  readPcm(startSample: number, target: Float32Array): void {
    const inRing = Math.max(0, Math.min(target.length, this.#writtenSamples - startSample));
    this.#ring.copyOutFloat(startSample, target.subarray(0, inRing));
    target.fill(0, inRing);
  }

  /** The session's frame number of the `index`-th of the `frames` frames taken last. */
  frameOf(index: number, frames: number): number {
    return this.#nextFrame - frames + index;
  }

  /** False for frames that only fill the left context after a replay. */
  counts(frame: number): boolean {
    return frame >= this.#baseFrame;
  }

  /** The endpointer counts from where this attachment began; the session counts from its first sample. */
  toSessionFrame(endpointerFrame: number): number {
    return endpointerFrame + this.#baseFrame;
  }

  /** Keeps the row, for an utterance that may turn out to have begun with it. */
  rememberRow(frame: number, row: Float32Array): void {
    this.#rows[frame % ONSET_ROWS]!.set(row);
  }

  /** Begins the greedy hypothesis anew with the frames from `startFrame` to `frame`, as far as they are kept. */
  restartHypothesis(startFrame: number, frame: number): void {
    this.greedy.reset();
    this.sentPartial = "";
    const first = Math.max(startFrame, frame - ONSET_ROWS + 1, this.#baseFrame);
    for (let kept = first; kept <= frame; kept++) this.greedy.push(this.#rows[kept % ONSET_ROWS]!, 1);
  }

  get #writtenSamples(): number {
    if (this.#finishSample !== null) return this.#finishSample;
    // The ring counts modulo 2^32, far more than the longest session holds.
    return this.#ring.written;
  }
}
