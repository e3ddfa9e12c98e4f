import { levelDb } from "../../core/domain/audio/level.js";
import type { EndpointEvent } from "../../core/domain/endpointing/endpointer.js";
import { type BatchRows, USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import { SentenceEnds } from "../models/punctuation/sentence-ends.js";
import type { RecognizerModel, StepCapacity } from "../models/recognizer.js";
import { copyState, type EncoderState } from "../models/state-rows.js";
import type { UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { LiveWorkerAnswer, ToLiveWorker } from "../threads/protocol.js";
import { BatchShapes, batchRows, type RowedBatch } from "./batch-shapes.js";
import { ChunkReadings, type ReadChunk } from "./chunk-readings.js";
import { BLOCK_FRAMES, RowPool, StatePool, StateSlabs, slabOf } from "./encoder-memory.js";
import { LiveFinals } from "./finals.js";
import { letterTimingOf } from "./hypothesis.js";
import { LiveTrack } from "./live-track.js";
import { PartialPasses } from "./partial-passes.js";
import { SearchPool } from "./searched-utterance.js";
import {
  CHUNK_FRAMES,
  everyShape,
  FRESH_FRAMES,
  StepGroup,
  stepCapacity,
  USUAL_SHAPES,
} from "./step-groups.js";
import type { TrackModel } from "./track-model.js";

/** Interval in which silence is released from the ring: 2 s. */
const IDLE_REPORT_FRAMES = 50;
/** A session whose audio is later than this is no reason for a round. */
const OVERDUE_MS = 8;
const NO_PCM = new Float32Array(0);

interface TakenRow {
  readonly batch: RowedBatch;
  readonly row: number;
  /** The session's state before the batch. */
  readonly stateBefore: EncoderState;
}

export interface LiveStepperParts {
  readonly model: RecognizerModel;
  readonly utterances: UtteranceDecoder;
  readonly post: (message: LiveWorkerAnswer) => void;
  readonly onStep: (stepMs: number) => void;
  /** Limits for sessions per step and second passes per run; for a CPU core by default. */
  readonly rows?: Pick<BatchRows, "liveRows" | "finalRows">;
  /** The provider prepares kernels for each shape; false by default. */
  readonly preparesShapes?: boolean;
  /** Monotonic clock for the time share of partials; `performance.now` by default. */
  readonly nowMs?: () => number;
}

/**
 * Steps all sessions of a live worker: gathers the ready ones, runs batches of fixed shapes, and gives each
 * session its frames. A steady round allocates one small object per row: groups, batches and states are
 * reused.
 */
export class LiveStepper {
  readonly #model: RecognizerModel;
  readonly #post: (message: LiveWorkerAnswer) => void;
  readonly #onStep: (stepMs: number) => void;
  readonly #trackModel: TrackModel;
  /** The current frame's features for the endpointer; reused. */
  readonly #heard = { levelDb: 0, hasLetter: true };
  readonly #finals: LiveFinals;
  /** Null for models that stream. */
  readonly #passes: PartialPasses | null;
  /** Null for models that do not read in chunks. */
  readonly #readings: ChunkReadings | null;
  readonly #nowMs: () => number;
  readonly #shapes: BatchShapes;
  readonly #slabs: StateSlabs;
  readonly #capacity: StepCapacity;
  readonly #groups: readonly StepGroup[];
  readonly #tracks = new Map<number, LiveTrack>();
  /** The same sessions as an array, for fast loops. */
  readonly #active: LiveTrack[] = [];
  /** Ended sessions, whose memory a batch may still use. */
  readonly #closed: LiveTrack[] = [];
  /** Counts rounds, so that sessions with a backlog take turns. */
  #turn = 0;
  #hasLagging = false;

  constructor({
    model,
    utterances,
    post,
    onStep,
    rows: { liveRows, finalRows } = USUAL_ROWS,
    preparesShapes = false,
    nowMs = () => performance.now(),
  }: LiveStepperParts) {
    const states = new StatePool(model);
    const { decodeSoFar, reader } = model;
    const { frameSamples } = model.manifest;
    this.#nowMs = nowMs;
    this.#passes =
      decodeSoFar === null ? null : new PartialPasses({ model, decodeSoFar, utterances, post, nowMs });
    this.#readings = reader === null ? null : new ChunkReadings(reader, frameSamples, finalRows);
    this.#model = model;
    this.#post = post;
    this.#onStep = onStep;
    let sentenceEnds: SentenceEnds | null = null;
    this.#trackModel = {
      states,
      encodedBlocks: new RowPool(BLOCK_FRAMES * model.encodedSize),
      encodedSize: model.encodedSize,
      vocabulary: model.vocabulary,
      outputBias: model.outputBias,
      searches: SearchPool.of(utterances),
      isCyrillic: model.vocabulary.some((output) => /\p{Script=Cyrillic}/u.test(output)),
      sentenceEnds: () => {
        sentenceEnds ??= new SentenceEnds();
        return sentenceEnds;
      },
      letters: letterTimingOf(model),
      streams: decodeSoFar === null && reader === null,
      reader,
      rereads: decodeSoFar !== null,
      frameSamples,
      sampleRateHz: model.manifest.sampleRateHz,
      contextFrames: model.manifest.contextFrames,
    };
    const longestChunk = CHUNK_FRAMES.at(-1)!;
    this.#finals = new LiveFinals(model, utterances, { states, longestChunk, rows: finalRows, post });
    this.#capacity = stepCapacity(liveRows);
    this.#groups = CHUNK_FRAMES.map((frames) => new StepGroup(frames, this.#capacity));
    const sizes = batchRows(liveRows, preparesShapes);
    this.#shapes = new BatchShapes(model, this.#capacity, sizes);
    this.#slabs = new StateSlabs(model, liveRows);
  }

  onMessage(message: Exclude<ToLiveWorker, { type: "stop" }>): void {
    if (message.type === "open") {
      const opened = new LiveTrack(message, this.#trackModel);
      this.#tracks.set(message.session, opened);
      this.#active.push(opened);
      return;
    }
    const track = this.#tracks.get(message.session);
    if (track === undefined) return;
    if (message.type === "finalize") track.markFinalize(message.atSample);
    else if (message.type === "finish") track.markFinish(message.atSample);
    else if (message.type === "ring") track.useRing(message.ring);
    else this.#close(track);
  }

  /** Runs shapes once, so that no session waits for it: devices compile for each shape. */
  async warmUp(which: "usual shapes" | "every shape" = "usual shapes"): Promise<void> {
    const shapes = which === "every shape" ? everyShape(this.#capacity) : USUAL_SHAPES;
    for (const { rows, frames } of shapes) await this.#shapes.forRows(rows, frames).run();
    await this.#finals.warmUp(which);
    await this.#passes?.warmUp();
  }

  get sessionCount(): number {
    return this.#active.length;
  }

  /** A session has a backlog or a second pass is pending: the next round should start immediately. */
  get isBehind(): boolean {
    return this.#hasLagging || this.#finals.hasPending || this.#readings?.hasMore === true;
  }

  /** Milliseconds until a round has work even without new audio; usually infinite. */
  get waitMs(): number {
    return this.#passes?.waitMs(this.#active) ?? Number.POSITIVE_INFINITY;
  }

  /** Returns when audio is expected that may end an utterance; infinite if none is, or if it is overdue. */
  nextEndingMs(nowMs: number): number {
    let soonestMs = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#active.length; index++) {
      const { endpointer, nextArrivalMs } = this.#active[index]!;
      if (!endpointer.mayEndNext || nextArrivalMs < nowMs - OVERDUE_MS) continue;
      soonestMs = Math.min(soonestMs, nextArrivalMs);
    }
    return soonestMs;
  }

  /**
   * Runs a round over all sessions, and a pass for partials if there is time.
   * @returns whether there was work
   */
  async step(): Promise<boolean> {
    if (this.#passes === null) return this.#round();
    const startedAtMs = this.#nowMs();
    const hasWorked = await this.#round();
    this.#passes.noteOther(this.#nowMs() - startedAtMs);
    if (this.isBehind) return hasWorked;
    return (await this.#passes.run(this.#active)) || hasWorked;
  }

  async #round(): Promise<boolean> {
    this.#releaseClosed();
    this.#hasLagging = false;
    let hasWorked = await this.#settleMarks();
    this.#gather();
    for (let index = 0; index < this.#groups.length; index++) {
      const group = this.#groups[index]!;
      if (group.frames > FRESH_FRAMES && group.count > 0) {
        this.#hasLagging = true;
        group.first = this.#turn % group.count;
      }
      // One batch per round for a backlog: sessions that keep up are served again before the rest of it.
      const end = group.frames <= FRESH_FRAMES ? group.count : Math.min(group.count, group.maxRows);
      for (let first = 0; first < end; first += group.maxRows) {
        await this.#runBatch(group, first, Math.min(end, first + group.maxRows));
        hasWorked = true;
      }
      group.clear();
    }
    if (this.#finals.hasPending) {
      await this.#finals.runPending();
      hasWorked = true;
    }
    if (this.#readings === null) return hasWorked;
    const { hasPending } = this.#finals;
    return (await this.#readings.run(this.#active, hasPending, (read) => this.#takeRead(read))) || hasWorked;
  }

  #takeRead(read: ReadChunk): void {
    this.#report(read.track);
    this.#passes?.takeWindow(read);
  }

  #close(track: LiveTrack): void {
    track.close();
    this.#tracks.delete(track.session);
    this.#active.splice(this.#active.indexOf(track), 1);
    this.#closed.push(track);
  }

  #releaseClosed(): void {
    while (this.#closed.length > 0) this.#closed.pop()!.release();
  }

  #gather(): void {
    const nowMs = this.#nowMs();
    // Keep the order: batches with the same rows as the last one need no copies of states.
    for (let index = 0; index < this.#active.length; index++) {
      const track = this.#active[index]!;
      if (this.#readings?.isDue(track)) continue;
      const available = track.availableFrames;
      if (available === 0) continue;
      track.noteAvailable(available, nowMs);
      let size = this.#groups.length - 1;
      while (this.#groups[size]!.frames > available) size--;
      this.#groups[size]!.add(track);
    }
    this.#turn++;
  }

  async #runBatch(group: StepGroup, first: number, end: number): Promise<void> {
    const startedAtMs = performance.now();
    const { frames } = group;
    const batch = this.#shapes.forRows(end - first, frames);
    const next = this.#slabs.take();
    const last = slabOf(group, first, end);
    const stateRows = last?.states.rows ?? batch.stateRows;
    for (let row = 0; row < end - first; row++) {
      const track = group.at(first + row);
      track.takeFrames(frames, batch.pcmRows[row]!);
      if (last === null) copyState(track.place.state, stateRows[row]!);
    }
    await batch.run(last?.states, next.states);
    let hasEndings = false;
    for (let row = 0; row < end - first; row++) {
      const track = group.at(first + row);
      if (track.isClosed) continue;
      track.place.moveTo(next, row);
      if (this.#takeRow(track, { batch, row, stateBefore: stateRows[row]! })) hasEndings = true;
      else this.#report(track);
    }
    if (hasEndings) {
      await this.#finals.publishEndings();
      for (let row = 0; row < end - first; row++) this.#report(group.at(first + row));
    }
    this.#onStep(performance.now() - startedAtMs);
  }

  /** Gives a session its frames. Returns whether an utterance has ended. */
  #takeRow(track: LiveTrack, taken: TakenRow): boolean {
    const { batch, row } = taken;
    const { frames } = batch;
    const width = this.#model.vocabulary.length;
    const { frameSamples } = this.#trackModel;
    let hasEnded = false;
    for (let index = 0; index < frames; index++) {
      const frame = track.frameOf(index, frames);
      if (!track.counts(frame)) continue;
      const at = row * frames + index;
      track.encoded.push(batch.encodedFrames[at]!);
      this.#heard.hasLetter = this.#trackModel.streams
        ? track.take(frame, batch.logProbs, at * width, width)
        : true;
      const firstSample = index * frameSamples;
      this.#heard.levelDb = levelDb(batch.pcmRows[row]!, firstSample, firstSample + frameSamples);
      const events = track.endpointer.push(batch.speech[at]!, this.#heard);
      for (let nth = 0; nth < events.length; nth++) {
        const event = events[nth]!;
        if (event.type === "ended") hasEnded = true;
        this.#onEndpoint(track, event, taken, { index, frame });
      }
    }
    return hasEnded;
  }

  #onEndpoint(
    track: LiveTrack,
    event: EndpointEvent,
    { batch, row, stateBefore }: TakenRow,
    { index, frame }: { readonly index: number; readonly frame: number },
  ): void {
    const startFrame = track.toSessionFrame(event.startFrame);
    switch (event.type) {
      case "started":
        track.beginHypothesis(startFrame, frame);
        return;
      case "halfway": {
        const isLast = index === batch.frames - 1;
        // The state after a frame inside a chunk is unknown: the flush encodes the chunk up to it again.
        const replayedFrames = isLast ? 0 : index + 1;
        this.#finals.prepare(track, {
          startFrame,
          endFrame: frame + 1,
          state: isLast ? track.place.state : stateBefore,
          pcm: isLast ? NO_PCM : batch.pcmRows[row]!.slice(0, replayedFrames * this.#trackModel.frameSamples),
          replayedFrames,
          speechMean: event.speechMean,
        });
        return;
      }
      case "resumed":
        track.onResumed();
        return;
      case "ended":
        this.#finals.end(track, event);
    }
  }

  /** Ends utterances at marks that decoding has reached, and sessions with fully decoded audio. */
  async #settleMarks(): Promise<boolean> {
    let hasWorked = false;
    for (let index = 0; index < this.#active.length; index++) {
      const track = this.#active[index]!;
      for (let mark = track.takeReachedMark(); mark !== null; mark = track.takeReachedMark()) {
        const atSample = mark;
        await this.#finals.finalizeAt(track, atSample, "finalize");
        track.afterFinals(() => this.#reportFinalized(track, atSample));
        hasWorked = true;
      }
      if (track.isClosed || track.finishSample === null || !track.hasReachedFinish) continue;
      await this.#finals.finalizeAt(track, track.finishSample, "finish");
      track.finish();
      track.afterFinals(() => this.#reportFinished(track));
      hasWorked = true;
    }
    return hasWorked;
  }

  #reportFinalized({ isClosed, session, epoch }: LiveTrack, atSample: number): void {
    if (!isClosed) this.#post({ type: "finalized", session, epoch, atSample });
  }

  #reportFinished({ isClosed, session, epoch }: LiveTrack): void {
    if (!isClosed) this.#post({ type: "finished", session, epoch });
  }

  #report(track: LiveTrack): void {
    if (track.isClosed) return;
    track.encoded.discardBefore(track.earliestNeededFrame);
    if (track.hasPendingFinals) return;
    if (track.endpointer.isOpen) this.#reportPartial(track);
    else this.#reportIdle(track);
  }

  #reportPartial(track: LiveTrack): void {
    const update = track.wantsPartials ? track.takeUpdate() : null;
    if (update === null) return;
    const startFrame = track.earliestNeededFrame;
    this.#post(track.partial({ ...update, startFrame, endFrame: track.encoded.endFrame }));
  }

  #reportIdle(track: LiveTrack): void {
    const { frameSamples } = this.#trackModel;
    const sample = track.earliestNeededFrame * frameSamples;
    const resume = track.resumeAt(sample, IDLE_REPORT_FRAMES * frameSamples);
    if (resume !== null) this.#post({ type: "idle", session: track.session, epoch: track.epoch, resume });
  }
}
