import { bestToken } from "../../core/domain/decoding/greedy.js";
import type { GrowingSearch } from "../../core/domain/decoding/growing-search.js";
import { HotWords } from "../../core/domain/decoding/hot-words.js";
import type { ScoredWord } from "../../core/domain/decoding/words.js";
import { type Endpointer, FINISH_FRAMES } from "../../core/domain/endpointing/endpointer.js";
import { patienceAfter } from "../../core/domain/endpointing/patience.js";
import { GrowingSentence } from "../models/punctuation/sentence-ends.js";
import { PcmRing } from "../ring/pcm-ring.js";
import type { LiveWorkerAnswer, ResumePoint, ToLiveWorker } from "../threads/protocol.js";
import { FrameRows, StatePlace } from "./encoder-memory.js";
import { FrameArrivals } from "./frame-arrivals.js";
import { GrowingUtterance } from "./growing-utterance.js";
import {
  type EndedText,
  firstOwnFrame,
  LiveHypothesis,
  type OpenText,
  type PartialText,
  RecentOutputs,
  type UtteranceEnd,
} from "./hypothesis.js";
import { endpointerOf } from "./live-endpointer.js";
import { type OpenReading, ReadUtterance } from "./read-utterance.js";
import { SearchedUtterance } from "./searched-utterance.js";
import type { SecondPass } from "./second-pass.js";
import type { TrackModel } from "./track-model.js";

/**
 * The worker's part of a session: its position in the ring, the encoder's state and output, the open
 * utterance, and the pending finals.
 */
export class LiveTrack {
  readonly session: number;
  readonly epoch: number;
  readonly wantsPartials: boolean;
  /** Whether a partial reports each pause, even if its text has not changed. */
  readonly wantsPauses: boolean;
  readonly hotWords: HotWords | null;
  readonly endpointer: Endpointer;
  /** The encoder's output, as far back as the open or next utterance may need it. */
  readonly encoded: FrameRows;
  readonly place: StatePlace;
  readonly #arrivals = new FrameArrivals();
  readonly #model: TrackModel;
  /** Whether endpointing is adaptive: a pause may last longer if the sentence is unlikely to end here. */
  readonly #isPatient: boolean;
  #sentence: GrowingSentence | null = null;
  #reported: PartialText | null = null;
  #ring: PcmRing;
  /** The first frame whose output counts; earlier ones only fill the encoder's left context. */
  readonly #baseFrame: number;
  #nextFrame: number;
  /** 1 for each output with text. */
  readonly #isLetter: Uint8Array;
  readonly #recent = new RecentOutputs();
  #hypothesis: OpenText | null = null;
  /** Reused by all utterances of the session. */
  #search: GrowingSearch | null = null;
  /** The open utterance of a model whose steps output no text. */
  #spoken: GrowingUtterance | ReadUtterance | null = null;
  /** Whether another worker has reported text of the next utterance. */
  #wasShown: boolean;
  /** End of the previous utterance in frames of the session; null before the first. */
  #lastEnd: UtteranceEnd | null;
  /** Number of the next reported utterance. */
  #nextUtterance: number;
  #pass: SecondPass | null = null;
  #resume: ResumePoint;
  #finalizeMarks: number[] = [];
  /** Number of all marks received, including late ones. */
  #markCount: number;
  #finishSample: number | null = null;
  #isFinished = false;
  #pendingFinals = 0;
  #lastFinal: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(open: Extract<ToLiveWorker, { type: "open" }>, model: TrackModel) {
    this.session = open.session;
    this.epoch = open.epoch;
    this.wantsPartials = open.wantsPartials;
    this.wantsPauses = open.wantsPauses === true;
    // Not for models that read chunks: their text arrives late, at times that depend on the load.
    this.#isPatient = open.endpointing === "adaptive" && model.streams && model.isCyrillic;
    this.hotWords = HotWords.compile(open.hotWords, model.vocabulary);
    this.endpointer = endpointerOf(open, model, this.#isPatient ? () => this.#patience : null);
    this.#isLetter = Uint8Array.from(model.vocabulary, (output) => (output.trim() === "" ? 0 : 1));
    this.#model = model;
    this.#ring = PcmRing.attach(open.ring);
    this.#baseFrame = open.from.sample / model.frameSamples;
    this.encoded = new FrameRows(model.encodedBlocks, model.encodedSize, this.#baseFrame);
    this.place = new StatePlace(model.states.acquire());
    this.#lastEnd =
      this.#baseFrame > 0 ? { frame: this.#baseFrame, isMidSpeech: open.from.isMidSpeech } : null;
    this.#nextUtterance = open.nextUtterance;
    this.#wasShown = open.wasShown;
    this.#resume = open.from;
    this.#markCount = open.marks;
    this.#nextFrame = Math.max(0, this.#baseFrame - model.contextFrames);
    this.#ring.cursor = this.#nextFrame * model.frameSamples;
  }

  /** Frames that can be decoded now: up to the last one written, or to the next mark. */
  get availableFrames(): number {
    let endFrame = Math.floor(this.#writtenSamples / this.#model.frameSamples);
    // Read after `written`: a mark in the written audio is still in flight, and audio after it must wait.
    if (this.#ring.marks !== this.#markCount) return 0;
    if (this.#finishSample !== null) {
      endFrame = Math.ceil(this.#finishSample / this.#model.frameSamples) + FINISH_FRAMES;
    }
    const mark = this.#finalizeMarks[0];
    if (mark !== undefined) endFrame = Math.min(endFrame, Math.floor(mark / this.#model.frameSamples));
    return Math.max(0, endFrame - this.#nextFrame);
  }

  /** Notes that frames were available at a time. */
  noteAvailable(frames: number, nowMs: number): void {
    this.#arrivals.note(this.#nextFrame + frames, nowMs);
  }

  /** When the next frame is expected. */
  get nextArrivalMs(): number {
    return this.#arrivals.timeOf(this.#nextFrame + 1);
  }

  /** Returns a mark that decoding has reached, at which the utterance ends; null without one. */
  takeReachedMark(): number | null {
    const mark = this.#finalizeMarks[0];
    if (mark === undefined || this.#nextFrame < Math.floor(mark / this.#model.frameSamples)) return null;
    this.#finalizeMarks.shift();
    return mark;
  }

  /** Whether all audio and the silence after it are decoded, and `finish` was not called yet. */
  get hasReachedFinish(): boolean {
    return this.#finishSample !== null && !this.#isFinished && this.availableFrames === 0;
  }

  get finishSample(): number | null {
    return this.#finishSample;
  }

  /** Upper bound of the session's times; infinite while more audio may arrive. */
  get audioEnd(): number {
    return this.#finishSample ?? Number.POSITIVE_INFINITY;
  }

  finish(): void {
    this.#isFinished = true;
  }

  /** The earliest frame of the session at which an open or future utterance can begin. */
  get earliestNeededFrame(): number {
    return this.toSessionFrame(this.endpointer.earliestNeededFrame);
  }

  markFinalize(atSample: number): void {
    this.#markCount++;
    if (atSample > this.#resume.sample) this.#finalizeMarks.push(atSample);
  }

  markFinish(atSample: number): void {
    this.#finishSample = atSample;
  }

  /** Switches to another ring with the same audio at the same positions. */
  useRing(buffer: SharedArrayBuffer): void {
    const { cursor } = this.#ring;
    this.#ring = PcmRing.attach(buffer);
    this.#ring.cursor = cursor;
  }

  /** Copies the next frames into a row of the batch and advances; silence beyond the audio. */
  takeFrames(frames: number, target: Float32Array): void {
    this.readPcm(this.#nextFrame * this.#model.frameSamples, target);
    this.#nextFrame += frames;
    this.#ring.cursor = Math.min(this.#nextFrame * this.#model.frameSamples, this.#writtenSamples);
  }

  /** Copies samples of the session from `startSample` on; silence beyond the audio. */
  readPcm(startSample: number, target: Float32Array): void {
    const inRing = Math.max(0, Math.min(target.length, this.#writtenSamples - startSample));
    // Usually no view is needed.
    const audio = inRing === target.length ? target : target.subarray(0, inRing);
    this.#ring.copyOutFloat(startSample, audio);
    if (inRing < target.length) target.fill(0, inRing);
  }

  /** Returns the session's number of the `index`-th of the last `frames` frames. */
  frameOf(index: number, frames: number): number {
    return this.#nextFrame - frames + index;
  }

  /** Returns false for frames that only fill the left context after a replay. */
  counts(frame: number): boolean {
    return frame >= this.#baseFrame;
  }

  /** Converts a frame of the endpointer, which counts from the track's start, to one of the session. */
  toSessionFrame(endpointerFrame: number): number {
    return endpointerFrame + this.#baseFrame;
  }

  /** Takes the streaming head's row for the next frame. @returns whether the best output is a letter */
  take(frame: number, logProbs: Float32Array, logProbOffset: number, width: number): boolean {
    const best = bestToken(logProbs, logProbOffset, width);
    const logProb = logProbs[logProbOffset + best]!;
    this.#recent.take(frame, best, logProb);
    this.#hypothesis?.take(best, logProb, logProbs, logProbOffset);
    return this.#isLetter[best] === 1;
  }

  /** The open utterance of a model that cannot stream. */
  get growing(): GrowingUtterance | null {
    return this.#spoken instanceof GrowingUtterance ? this.#spoken : null;
  }

  /** The open utterance of a model that reads in chunks. */
  get read(): ReadUtterance | null {
    return this.#spoken instanceof ReadUtterance ? this.#spoken : null;
  }

  /** The part of the open utterance read so far; null without a reader. */
  get openReading(): OpenReading | null {
    return this.#spoken !== null && this.#spoken.reading !== null ? (this.#spoken as OpenReading) : null;
  }

  /** Whether a second pass has been requested for the current pause. */
  get isInPause(): boolean {
    return this.#pass !== null;
  }

  /** Starts the text of an utterance with the frames from `startFrame` to its detection at `frame`. */
  beginHypothesis(startFrame: number, frame: number): void {
    if (!this.#model.streams) {
      this.#spoken = this.#beginSpoken(startFrame);
      this.#wasShown = false;
      return;
    }
    const firstFrame = Math.max(startFrame, RecentOutputs.firstFrame(frame), this.#baseFrame);
    const firstOwn = firstOwnFrame(this.#model.letters, this.#lastEnd, frame);
    this.#hypothesis = this.#makeText(firstFrame, firstOwn);
    this.#recent.giveTo(this.#hypothesis, firstFrame, frame);
  }

  #beginSpoken(startFrame: number): GrowingUtterance | ReadUtterance {
    const { reader, rereads, vocabulary, frameSamples, sampleRateHz } = this.#model;
    const reading = reader?.begin() ?? null;
    const common = { startFrame, wasShown: this.#wasShown };
    if (rereads || reading === null) {
      return new GrowingUtterance({ ...common, frameSeconds: frameSamples / sampleRateHz, reading });
    }
    return new ReadUtterance({ ...common, reading, text: this.#makeText(0, 0), width: vocabulary.length });
  }

  #makeText(firstFrame: number, firstOwn: number): OpenText {
    const { vocabulary, outputBias, searches } = this.#model;
    const isSearched = this.wantsPartials || this.#isPatient;
    if (searches === null || !isSearched) return new LiveHypothesis(vocabulary, firstFrame, firstOwn);
    this.#search ??= searches.acquire();
    return new SearchedUtterance({ search: this.#search, vocabulary, outputBias }, firstFrame, firstOwn);
  }

  /** Detaches the text of the utterance that has ended; the flush may still add letters. */
  endHypothesis(end: UtteranceEnd): EndedText | null {
    const ended = this.#hypothesis ?? this.#spoken;
    this.#lastEnd = end;
    this.#hypothesis = null;
    this.#spoken = null;
    this.#reported = null;
    return ended;
  }

  takeUpdate(): PartialText | null {
    return (this.#hypothesis ?? this.read)?.takeUpdate() ?? null;
  }

  /** Makes the message with an utterance's text between two frames of the session. */
  partial(
    shown: PartialText & { pauseWords?: readonly ScoredWord[]; startFrame: number; endFrame: number },
  ): LiveWorkerAnswer {
    const { text, stable, pauseWords: words, startFrame, endFrame } = shown;
    const { frameSamples } = this.#model;
    this.#reported = { text, ...(stable !== undefined && { stable }) };
    return {
      type: "partial",
      session: this.session,
      epoch: this.epoch,
      utterance: this.#nextUtterance,
      startSample: startFrame * frameSamples,
      endSample: Math.min(endFrame * frameSamples, this.audioEnd),
      ...this.#reported,
      ...(words !== undefined && { isPause: true, words }),
    };
  }

  /** The text of the last partial of the open utterance. */
  get reported(): PartialText | null {
    return this.#reported;
  }

  takeSecondPass(text: string): PartialText | null {
    return (this.#hypothesis ?? this.#spoken)?.takeSecondPass(text) ?? null;
  }

  onResumed(): void {
    this.dropPass();
    (this.#hypothesis ?? this.read)?.onResumed();
  }

  /** Returns whether the pass belongs to the current pause. */
  isKept(pass: SecondPass): boolean {
    return this.#pass === pass;
  }

  /** Keeps a second pass until its utterance ends or resumes. */
  keepPass(pass: SecondPass): void {
    this.dropPass();
    this.#pass = pass;
  }

  takePass(): SecondPass | null {
    const pass = this.#pass;
    this.#pass = null;
    return pass;
  }

  dropPass(): void {
    this.#pass?.drop();
    this.#pass = null;
  }

  /** Moves the resume point after an utterance. @returns its number, which is reused if not reported */
  settle(resume: ResumePoint, isReported: boolean): number {
    this.#resume = resume;
    return isReported ? this.#nextUtterance++ : this.#nextUtterance;
  }

  /** Moves the resume point to `sample`, after silence; null within `leastSamples` of the last one. */
  resumeAt(sample: number, leastSamples: number): ResumePoint | null {
    if (sample - this.#resume.sample < leastSamples) return null;
    const speaker = this.endpointer.speakerAt(sample / this.#model.frameSamples - this.#baseFrame);
    this.#resume = { sample, isMidSpeech: false, ...(speaker !== null && { speaker }) };
    return this.#resume;
  }

  /** Whether finals of ended utterances are pending; nothing may be reported before them. */
  get hasPendingFinals(): boolean {
    return this.#pendingFinals > 0;
  }

  /** Calls `act` after all pending finals; later ones wait for it. */
  afterFinals(act: () => void | Promise<void>): void {
    this.#pendingFinals++;
    this.#lastFinal = this.#lastFinal.then(async () => {
      await act();
      this.#pendingFinals--;
    });
    this.#lastFinal.catch((error: unknown) => {
      // End the thread, like a failed step: its owner replays the sessions on another thread.
      queueMicrotask(() => {
        throw error;
      });
    });
  }

  /** Whether the session has ended; a batch may still use the track. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Returns memory to the pools; call it when no batch uses the track any more. */
  release(): void {
    this.dropPass();
    this.encoded.release();
    this.place.leave();
    this.#model.states.release(this.place.own);
    if (this.#search !== null) this.#model.searches?.release(this.#search);
    this.#search = null;
  }

  get #patience(): number {
    const words = this.#hypothesis?.text.split(" ") ?? [""];
    if (words[0] === "") return 1;
    this.#sentence ??= new GrowingSentence(this.#model.sentenceEnds());
    return patienceAfter(this.#sentence.endAfter(words));
  }

  get #writtenSamples(): number {
    if (this.#finishSample !== null) return this.#finishSample;
    // The value is modulo 2^32, which no session reaches.
    return this.#ring.written;
  }
}
