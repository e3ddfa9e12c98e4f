import { bestToken } from "../../core/domain/decoding/greedy.js";
import type { GrowingSearch } from "../../core/domain/decoding/growing-search.js";
import { HotWords } from "../../core/domain/decoding/hot-words.js";
import {
  ENDPOINTER_DEFAULTS,
  Endpointer,
  FINISH_FRAMES,
  MOST_PATIENCE,
  pauseFramesFor,
  wordlessFramesFor,
} from "../../core/domain/endpointing/endpointer.js";
import { patienceBehind } from "../../core/domain/endpointing/patience.js";
import { PcmRing } from "../ring/pcm-ring.js";
import type { LiveWorkerAnswer, ResumePoint, ToLiveWorker } from "../threads/protocol.js";
import { FrameRows } from "./frame-rows.js";
import { GrowingUtterance } from "./growing-utterance.js";
import { type EndedText, LiveHypothesis, type OpenText, type ToldText } from "./hypothesis.js";
import { firstOwnFrame, type LetterTiming, type UtteranceEnd } from "./letter-timing.js";
import type { SearchPool } from "./search-pool.js";
import { SearchedUtterance } from "./searched-utterance.js";
import type { SecondPass } from "./second-pass.js";
import type { RowPool, StatePool } from "./state-pool.js";
import { StatePlace } from "./state-slabs.js";

/** An utterance begins before it is noticed: by its lead, or at a cut as far back as one is looked for. */
const REMEMBERED_FRAMES =
  ENDPOINTER_DEFAULTS.cutWindowFrames + ENDPOINTER_DEFAULTS.leadFrames + ENDPOINTER_DEFAULTS.openingFrames;

export interface TrackModel {
  readonly letters: LetterTiming;
  /** Steps tell text; else open utterances are read again. */
  readonly streams: boolean;
  /** Rows of the encoder's state. */
  readonly states: StatePool;
  /** Blocks of the encoder's output. */
  readonly encodedBlocks: RowPool;
  readonly encodedSize: number;
  readonly vocabulary: readonly string[];
  readonly outputBias: Float32Array | null;
  /** Searches of utterances that are spoken; null where partials are the letters of the streaming head. */
  readonly searches: SearchPool | null;
  readonly frameSamples: number;
  readonly sampleRateHz: number;
  readonly contextFrames: number;
}

interface PartialText extends ToldText {
  readonly startFrame: number;
  readonly heardFrames: number;
}

/**
 * What the worker holds of one session: its place in the ring, the encoder's state and output, the utterance so far,
 * and the finals that are still to be said. Only its own methods change it.
 */
export class LiveTrack {
  readonly session: number;
  readonly epoch: number;
  readonly wantsPartials: boolean;
  readonly hotWords: HotWords | null;
  readonly endpointer: Endpointer;
  /** The encoder's output, as far back as an utterance that is open or may open needs it. */
  readonly encoded: FrameRows;
  /** Where the encoder's state lies. */
  readonly place: StatePlace;
  readonly #model: TrackModel;
  /** Pauses last longer where the language model expects more. */
  readonly #isPatient: boolean;
  #ring: PcmRing;
  /** First frame whose output counts; those before it only fill the encoder's left context. */
  readonly #baseFrame: number;
  #nextFrame: number;
  /** 1 for each output that writes something. */
  readonly #isLetter: Uint8Array;
  /** Best outputs of the last frames, for utterances that are noticed after they have begun. */
  readonly #bestTokens = new Uint16Array(REMEMBERED_FRAMES);
  readonly #bestLogProbs = new Float32Array(REMEMBERED_FRAMES);
  /** Of the open utterance. */
  #hypothesis: OpenText | null = null;
  /** Of its utterances, made for the first. */
  #search: GrowingSearch | null = null;
  /** The open utterance of a model that cannot stream. */
  #growing: GrowingUtterance | null = null;
  /** Another worker has told text of the next utterance. */
  #wasShown: boolean;
  /** Of the utterance before, in frames of the session; null before the first. */
  #lastEnd: UtteranceEnd | null;
  /** Number of the next utterance that the client hears of. */
  #nextUtterance: number;
  /** Second pass whose text waits for the threshold. */
  #pass: SecondPass | null = null;
  /** Where a replay would begin. */
  #resume: ResumePoint;
  #finalizeMarks: number[] = [];
  /** All that were told, those that came too late among them. */
  #markCount: number;
  #finishSample: number | null = null;
  #isFinished = false;
  /** Finals of utterances that have ended and are not said yet. */
  #pendingFinals = 0;
  #lastFinal: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(open: Extract<ToLiveWorker, { type: "open" }>, model: TrackModel) {
    this.session = open.session;
    this.epoch = open.epoch;
    this.wantsPartials = open.wantsPartials;
    this.#isPatient = open.endpointing === "adaptive" && model.searches !== null;
    this.hotWords = HotWords.compile(open.hotWords, model.vocabulary);
    const pauseFrames = pauseFramesFor(open.endOfUtteranceMs);
    const longestPause = pauseFrames * (this.#isPatient ? MOST_PATIENCE : 1);
    this.endpointer = new Endpointer(
      {
        pauseFrames,
        ...(model.streams && { wordlessFrames: wordlessFramesFor(longestPause) + model.letters.lagFrames }),
      },
      open.from.isMidSpeech,
      this.#isPatient ? () => this.#patience : null,
      open.from.speaker ?? null,
    );
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

  /** Frames that can be decoded at once: up to what is written, or to the next mark. */
  get availableFrames(): number {
    let endFrame = Math.floor(this.#writtenSamples / this.#model.frameSamples);
    // Asked after that: a mark that lies in what is written is on its way, and what is behind it must wait for it.
    if (this.#ring.marks !== this.#markCount) return 0;
    if (this.#finishSample !== null) {
      endFrame = Math.ceil(this.#finishSample / this.#model.frameSamples) + FINISH_FRAMES;
    }
    const mark = this.#finalizeMarks[0];
    if (mark !== undefined) endFrame = Math.min(endFrame, Math.floor(mark / this.#model.frameSamples));
    return Math.max(0, endFrame - this.#nextFrame);
  }

  /** A mark that decoding has reached: the utterance before it ends there. Null when there is none. */
  takeReachedMark(): number | null {
    const mark = this.#finalizeMarks[0];
    if (mark === undefined || this.#nextFrame < Math.floor(mark / this.#model.frameSamples)) return null;
    this.#finalizeMarks.shift();
    return mark;
  }

  /** True when all audio and the silence after it are decoded. */
  get hasReachedFinish(): boolean {
    return this.#finishSample !== null && !this.#isFinished && this.availableFrames === 0;
  }

  /** The end of the audio the client has sent, when it has said that there is no more. */
  get finishSample(): number | null {
    return this.#finishSample;
  }

  /** The sample that no time of the session lies behind; infinite while more audio may come. */
  get audioEnd(): number {
    return this.#finishSample ?? Number.POSITIVE_INFINITY;
  }

  /** Its end is said, or waits for its finals only. */
  finish(): void {
    this.#isFinished = true;
  }

  /** The earliest frame of the session that an open utterance, or one that may open, begins at. */
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

  /** Goes on in another ring that holds the same audio at the same positions. */
  useRing(buffer: SharedArrayBuffer): void {
    const { cursor } = this.#ring;
    this.#ring = PcmRing.attach(buffer);
    this.#ring.cursor = cursor;
  }

  /** Copies the next frames into a row of the batch and moves on; silence where no audio is. */
  takeFrames(frames: number, target: Float32Array): void {
    this.readPcm(this.#nextFrame * this.#model.frameSamples, target);
    this.#nextFrame += frames;
    this.#ring.cursor = Math.min(this.#nextFrame * this.#model.frameSamples, this.#writtenSamples);
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

  /** The endpointer counts from where this track began; the session counts from its first sample. */
  toSessionFrame(endpointerFrame: number): number {
    return endpointerFrame + this.#baseFrame;
  }

  /**
   * Takes the outputs of the next frame that counts: the row at `offset` of each.
   * @returns a letter came out
   */
  take(frame: number, logProbs: Float32Array, logProbOffset: number, width: number): boolean {
    const best = bestToken(logProbs, logProbOffset, width);
    const logProb = logProbs[logProbOffset + best]!;
    this.#bestTokens[frame % REMEMBERED_FRAMES] = best;
    this.#bestLogProbs[frame % REMEMBERED_FRAMES] = logProb;
    this.#hypothesis?.take(best, logProb, logProbs, logProbOffset);
    return this.#isLetter[best] === 1;
  }

  /** The open utterance of a model that cannot stream. */
  get growing(): GrowingUtterance | null {
    return this.#growing;
  }

  /** Begins the hypothesis of an utterance with the frames from `startFrame` to `frame`, where it was noticed. */
  beginHypothesis(startFrame: number, frame: number): void {
    if (!this.#model.streams) {
      const frameSeconds = this.#model.frameSamples / this.#model.sampleRateHz;
      this.#growing = new GrowingUtterance(startFrame, frameSeconds, this.#wasShown);
      this.#wasShown = false;
      return;
    }
    const firstFrame = Math.max(startFrame, frame - REMEMBERED_FRAMES + 1, this.#baseFrame);
    const firstOwn = firstOwnFrame(this.#model.letters, this.#lastEnd, frame);
    const hypothesis = this.#openText(firstFrame, firstOwn);
    for (let kept = firstFrame; kept <= frame; kept++) {
      const index = kept % REMEMBERED_FRAMES;
      hypothesis.take(this.#bestTokens[index]!, this.#bestLogProbs[index]!);
    }
    this.#hypothesis = hypothesis;
  }

  #openText(firstFrame: number, firstOwn: number): OpenText {
    const { vocabulary, outputBias, searches } = this.#model;
    const isSearched = this.wantsPartials || this.#isPatient;
    if (searches === null || !isSearched) return new LiveHypothesis(vocabulary, firstFrame, firstOwn);
    this.#search ??= searches.acquire();
    return new SearchedUtterance({ search: this.#search, vocabulary, outputBias }, firstFrame, firstOwn);
  }

  /** Gives away the hypothesis of the utterance that has ended so; letters of it may still come out. */
  endHypothesis(end: UtteranceEnd): EndedText | null {
    const ended = this.#hypothesis ?? this.#growing;
    this.#lastEnd = end;
    this.#hypothesis = null;
    this.#growing = null;
    return ended;
  }

  /** Text of the open utterance that its listener was not told; null when there is none. It counts as told from here on. */
  takeNews(): ToldText | null {
    return this.#hypothesis?.takeNews() ?? null;
  }

  /** What is said of text of an utterance that began at `startFrame`, when `heardFrames` of the session have been heard. */
  partial({ text, stable, startFrame, heardFrames }: PartialText): LiveWorkerAnswer {
    const { frameSamples } = this.#model;
    return {
      type: "partial",
      session: this.session,
      epoch: this.epoch,
      utterance: this.#nextUtterance,
      text,
      startSample: startFrame * frameSamples,
      endSample: Math.min(heardFrames * frameSamples, this.audioEnd),
      ...(stable !== undefined && { stable }),
    };
  }

  /** The second pass has read the open utterance up to a pause that lasts; null when there is nothing to tell. */
  hearReading(text: string): ToldText | null {
    return this.#hypothesis?.hearReading(text) ?? null;
  }

  /** Speech goes on behind a pause, which the second pass was asked for in. */
  goOn(): void {
    this.dropPass();
    this.#hypothesis?.goOn();
  }

  /** It is kept for the utterance that is open. */
  isKept(pass: SecondPass): boolean {
    return this.#pass === pass;
  }

  /** Keeps a second pass until its utterance ends or goes on. */
  keepPass(pass: SecondPass): void {
    this.dropPass();
    this.#pass = pass;
  }

  /** Gives away the second pass that was kept. */
  takePass(): SecondPass | null {
    const pass = this.#pass;
    this.#pass = null;
    return pass;
  }

  /** Its text is not needed. */
  dropPass(): void {
    this.#pass?.drop();
    this.#pass = null;
  }

  /**
   * An utterance is over: a replay would begin behind it, and the next one that the client hears of has another number.
   * @returns the utterance's own number
   */
  settle(resume: ResumePoint, isHeard: boolean): number {
    this.#resume = resume;
    return isHeard ? this.#nextUtterance++ : this.#nextUtterance;
  }

  /**
   * Everything before `sample` is silence that is not needed any more. Told every `leastSamples`.
   * @returns where a replay would begin, null when it is too soon to say so
   */
  rest(sample: number, leastSamples: number): ResumePoint | null {
    if (sample - this.#resume.sample < leastSamples) return null;
    const speaker = this.endpointer.speakerAt(sample / this.#model.frameSamples - this.#baseFrame);
    this.#resume = { sample, isMidSpeech: false, ...(speaker !== null && { speaker }) };
    return this.#resume;
  }

  /** Finals of utterances that have ended are not said yet; nothing else may be said before them. */
  get hasPendingFinals(): boolean {
    return this.#pendingFinals > 0;
  }

  /** Calls `act` when the finals that are pending are said; until it has run, later ones wait for it. */
  afterFinals(act: () => void | Promise<void>): void {
    this.#pendingFinals++;
    this.#lastFinal = this.#lastFinal.then(async () => {
      await act();
      this.#pendingFinals--;
    });
    this.#lastFinal.catch((error: unknown) => {
      // Ends the thread, as what fails inside of a step does: its owner replays the sessions on another.
      queueMicrotask(() => {
        throw error;
      });
    });
  }

  /** The session is over; a batch may still hold its track. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Gives its memory back to the pools, once no batch holds it. */
  release(): void {
    this.dropPass();
    this.encoded.release();
    this.place.leave();
    this.#model.states.release(this.place.own);
    if (this.#search !== null) this.#model.searches?.release(this.#search);
    this.#search = null;
  }

  get #patience(): number {
    if (this.#search === null || this.#hypothesis === null) return 1;
    return patienceBehind(this.#search.expectation());
  }

  get #writtenSamples(): number {
    if (this.#finishSample !== null) return this.#finishSample;
    // The ring counts modulo 2^32, far more than the longest session holds.
    return this.#ring.written;
  }
}
