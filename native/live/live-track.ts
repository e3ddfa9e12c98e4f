import { bestToken } from "../../src/domain/decoding/greedy.js";
import { HotWords } from "../../src/domain/decoding/hot-words.js";
import { ENDPOINTER_DEFAULTS, Endpointer, pauseFramesFor } from "../../src/domain/endpointing/endpointer.js";
import type { StreamState } from "../models/recognizer.js";
import { PcmRing } from "../ring/pcm-ring.js";
import type { ResumePoint, ToLiveWorker } from "../threads/protocol.js";
import { FrameRows } from "./frame-rows.js";
import { LiveHypothesis } from "./hypothesis.js";
import { firstOwnFrame, type LetterTiming, type UtteranceEnd } from "./letter-timing.js";
import type { SecondPass } from "./second-pass.js";
import type { RowPool, StatePool } from "./state-pool.js";
import type { StateOwner, StateSlab } from "./state-slabs.js";

/** Frames of silence fed after the last audio, so that speech right before the end is still seen as speech. */
const FINISH_FRAMES = 8;
/** An utterance begins before it is noticed: by its lead, or at a cut as far back as one is looked for. */
const REMEMBERED_FRAMES =
  ENDPOINTER_DEFAULTS.cutWindowFrames + ENDPOINTER_DEFAULTS.leadFrames + ENDPOINTER_DEFAULTS.openingFrames;

export interface SlotModel {
  readonly letters: LetterTiming;
  /** Rows of the encoder's state. */
  readonly states: StatePool;
  /** Blocks of the encoder's output. */
  readonly encodedBlocks: RowPool;
  readonly encodedSize: number;
  readonly vocabulary: readonly string[];
  readonly frameSamples: number;
  readonly contextFrames: number;
}

/** What the worker holds of one session: its place in the ring, the encoder's state and the utterance so far. */
export class LiveSlot implements StateOwner {
  readonly session: number;
  readonly epoch: number;
  readonly wantsPartials: boolean;
  readonly pauseFrames: number;
  readonly hotWords: HotWords | null;
  state: StreamState;
  readonly ownState: StreamState;
  slab: StateSlab | null = null;
  slabRow = 0;
  readonly endpointer: Endpointer;
  /** Of the open utterance. */
  hypothesis: LiveHypothesis | null = null;
  /** Number of the next utterance that the client hears of. */
  nextUtterance: number;
  /** The encoder's output, as far back as an utterance that is open or may open needs it. */
  readonly encoded: FrameRows;
  /** Second pass whose text waits for the threshold. */
  pass: SecondPass | null = null;
  /** Where a replay would begin. */
  resume: ResumePoint;
  isFinished = false;
  /** Finals of utterances that have ended and are not said yet; nothing else may be said before them. */
  pendingFinals = 0;
  lastFinal: Promise<void> = Promise.resolve();
  /** The session is over; a batch may still hold it. */
  isClosed = false;
  #ring: PcmRing;
  readonly #states: StatePool;
  readonly #frameSamples: number;
  /** First frame whose output counts; those before it only fill the encoder's left context. */
  readonly #baseFrame: number;
  readonly #bestTokens = new Uint16Array(REMEMBERED_FRAMES);
  readonly #bestLogProbs = new Float32Array(REMEMBERED_FRAMES);
  #nextFrame: number;
  #finalizeMarks: number[] = [];
  /** All that were told, those that came too late among them. */
  #markCount: number;
  #finishSample: number | null = null;
  readonly #vocabulary: readonly string[];
  readonly #letters: LetterTiming;
  /** Of the utterance before, in frames of the session; null before the first. */
  #lastEnd: UtteranceEnd | null;

  constructor(open: Extract<ToLiveWorker, { type: "open" }>, model: SlotModel) {
    this.session = open.session;
    this.epoch = open.epoch;
    this.wantsPartials = open.wantsPartials;
    this.nextUtterance = open.nextUtterance;
    this.resume = open.from;
    this.pauseFrames = pauseFramesFor(open.endOfUtteranceMs);
    this.hotWords = HotWords.compile(open.hotWords, model.vocabulary);
    this.#states = model.states;
    this.ownState = model.states.acquire();
    this.state = this.ownState;
    this.endpointer = new Endpointer({ pauseFrames: this.pauseFrames }, open.from.isMidSpeech);
    this.#ring = PcmRing.attach(open.ring);
    this.#markCount = open.marks;
    this.#frameSamples = model.frameSamples;
    this.#baseFrame = open.from.sample / model.frameSamples;
    this.encoded = new FrameRows(model.encodedBlocks, model.encodedSize, this.#baseFrame);
    this.#vocabulary = model.vocabulary;
    this.#letters = model.letters;
    this.#lastEnd =
      this.#baseFrame > 0 ? { frame: this.#baseFrame, isMidSpeech: open.from.isMidSpeech } : null;
    this.#nextFrame = Math.max(0, this.#baseFrame - model.contextFrames);
    this.#ring.cursor = this.#nextFrame * model.frameSamples;
  }

  /** Frames that can be decoded at once: up to what is written, or to the next mark. */
  get availableFrames(): number {
    let endFrame = Math.floor(this.#writtenSamples / this.#frameSamples);
    // Asked after that: a mark that lies in what is written is on its way, and what is behind it must wait for it.
    if (this.#ring.marks !== this.#markCount) return 0;
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
    this.#markCount++;
    if (atSample > this.resume.sample) this.#finalizeMarks.push(atSample);
  }

  markFinish(atSample: number): void {
    this.#finishSample = atSample;
  }

  /** Goes on in another ring that holds the same audio at the same positions. */
  useRing(buffer: SharedArrayBuffer): void {
    const { cursor } = this.#ring;
    this.#ring = PcmRing.attach(buffer);
    this.#ring.cursor = cursor;
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
    // The usual case makes no view.
    const heard = inRing === target.length ? target : target.subarray(0, inRing);
    this.#ring.copyOutFloat(startSample, heard);
    if (inRing < target.length) target.fill(0, inRing);
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

  /** Takes the outputs of the next frame that counts: the row at `offset` of each. */
  take(frame: number, logProbs: Float32Array, logProbOffset: number, width: number): void {
    const best = bestToken(logProbs, logProbOffset, width);
    const logProb = logProbs[logProbOffset + best]!;
    this.#bestTokens[frame % REMEMBERED_FRAMES] = best;
    this.#bestLogProbs[frame % REMEMBERED_FRAMES] = logProb;
    this.hypothesis?.take(best, logProb);
  }

  /** Begins the hypothesis of an utterance with the frames from `startFrame` to `frame`, where it was noticed. */
  beginHypothesis(startFrame: number, frame: number): void {
    const firstFrame = Math.max(startFrame, frame - REMEMBERED_FRAMES + 1, this.#baseFrame);
    const firstOwn = firstOwnFrame(this.#letters, this.#lastEnd, frame);
    this.hypothesis = new LiveHypothesis(this.#vocabulary, firstFrame, firstOwn);
    for (let kept = firstFrame; kept <= frame; kept++) {
      const index = kept % REMEMBERED_FRAMES;
      this.hypothesis.take(this.#bestTokens[index]!, this.#bestLogProbs[index]!);
    }
  }

  /** Gives away the hypothesis of the utterance that has ended so; letters of it may still come out. */
  endHypothesis(end: UtteranceEnd): LiveHypothesis | null {
    const { hypothesis } = this;
    this.#lastEnd = end;
    this.hypothesis = null;
    return hypothesis;
  }

  /** Gives its memory back to the pools. */
  release(): void {
    this.pass?.drop();
    this.pass = null;
    this.encoded.release();
    this.slab?.remove(this);
    this.#states.release(this.ownState);
  }

  get #writtenSamples(): number {
    if (this.#finishSample !== null) return this.#finishSample;
    // The ring counts modulo 2^32, far more than the longest session holds.
    return this.#ring.written;
  }
}
