import type { LiveEvent, LiveFeed, LiveOptions } from "../../core/ports/live-decoder.js";
import { NO_SPAN } from "../../core/ports/span.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { ringCapacityFor } from "../../native/ring/ring-capacity.js";
import type { LiveWorkerAnswer, ResumePoint, ToLiveWorker } from "../../native/threads/protocol.js";

export interface LiveWorkerPort {
  post(message: ToLiveWorker): void;
}

/** A worker's lane as a session sees it; `worker` is null while the worker is down. */
export interface LiveLane {
  readonly worker: LiveWorkerPort | null;
  /** Wakes the worker, once at the end of this turn of the event loop. */
  wake(): void;
}

interface RingFeedParts {
  readonly session: number;
  readonly options: LiveOptions;
  readonly onEvent: (event: LiveEvent) => void;
  readonly contextSamples: number;
  readonly backlogSamples: number;
  /** Chooses a lane for the session's first audio; null if none is left. */
  readonly takeLane: () => LiveLane | null;
  readonly onRingFull: () => void;
  readonly onRelease: () => void;
}

/**
 * Keeps a session's ring and its position in the audio outside the worker, so that any worker can resume from
 * it. A session that has not sent audio has no ring and no worker.
 */
export class RingFeed implements LiveFeed {
  readonly session: number;
  readonly #parts: RingFeedParts;
  #lane: LiveLane | null = null;
  #ring: PcmRing | null = null;
  #epoch = 0;
  #writtenSamples = 0;
  #resume: ResumePoint = { sample: 0, isMidSpeech: false };
  #nextUtterance = 0;
  /** The last utterance for which a partial was sent. */
  #shownUtterance = -1;
  /** Marks that a replacement worker would need again. */
  #finalizeMarks: number[] = [];
  /** Marks whose `finalized` was not emitted yet. */
  #openMarks: number[] = [];
  #markCount = 0;
  #finishMark: number | null = null;
  #isReady = false;
  #isReleased = false;
  /** Set while the session is waiting for its next pause to rejoin its worker. */
  #rejoinTimer: NodeJS.Timeout | undefined;

  constructor(parts: RingFeedParts) {
    this.#parts = parts;
    this.session = parts.session;
  }

  write(samples: Int16Array): number {
    if (this.#isReleased || this.#finishMark !== null) return 0;
    if (samples.length === 0) return 0;
    const ring = this.#ringFor(samples.length);
    if (ring === null) return 0;
    const room = Math.max(0, this.#parts.backlogSamples - this.unreadSamples);
    const taken = ring.write(room < samples.length ? samples.subarray(0, room) : samples);
    if (taken < samples.length) this.#parts.onRingFull();
    this.#writtenSamples += taken;
    this.#lane?.wake();
    return taken;
  }

  /** Samples that no worker has processed yet. */
  get unreadSamples(): number {
    if (this.#ring === null) return 0;
    return Math.max(0, ((this.#writtenSamples >>> 0) - this.#ring.cursor) | 0);
  }

  finalize(): void {
    if (this.#isReleased || this.#ring === null) return;
    const atSample = this.#writtenSamples;
    this.#finalizeMarks.push(atSample);
    this.#openMarks.push(atSample);
    this.#ring.marks = ++this.#markCount;
    this.#post({ type: "finalize", session: this.session, atSample });
    this.#lane?.wake();
  }

  finish(): void {
    if (this.#isReleased || this.#finishMark !== null) return;
    this.#finishMark = this.#writtenSamples;
    if (this.#ring === null) {
      // Deferred, because the caller may still be working. Never emitted before `ready`.
      if (this.#isReady) queueMicrotask(() => this.#emit({ type: "finished" }));
      return;
    }
    this.#post({ type: "finish", session: this.session, atSample: this.#finishMark });
    this.#lane?.wake();
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#rejoined();
    this.#post({ type: "close", session: this.session });
    this.#parts.onRelease();
    this.#ring = null;
  }

  /** Called when a worker that could take the session has started. */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#emit({ type: "ready" });
    if (this.#finishMark !== null && this.#ring === null) this.#emit({ type: "finished" });
  }

  /**
   * Opens the session on the lane's worker, in a new epoch. The worker decodes all audio since the last
   * final.
   */
  attach(): void {
    this.#rejoined();
    const worker = this.#lane?.worker ?? null;
    if (this.#isReleased || worker === null || this.#ring === null) return;
    this.#epoch++;
    const { span = NO_SPAN } = this.#parts.options;
    worker.post({
      type: "open",
      session: this.session,
      epoch: this.#epoch,
      ring: this.#ring.buffer,
      from: this.#resume,
      marks: this.#markCount - this.#finalizeMarks.length,
      nextUtterance: this.#nextUtterance,
      wasShown: this.#shownUtterance === this.#nextUtterance,
      endOfUtteranceMs: this.#parts.options.endOfUtteranceMs,
      endpointing: this.#parts.options.endpointing ?? "fixed",
      wantsPartials: this.#parts.options.wantsPartials,
      ...(this.#parts.options.wantsPauses === true && { wantsPauses: true }),
      hotWords: this.#parts.options.hotWords,
      ...(span.traceparent !== null && { traceparent: span.traceparent }),
    });
    span.event("joined a worker", { epoch: this.#epoch });
    for (const atSample of this.#finalizeMarks)
      worker.post({ type: "finalize", session: this.session, atSample });
    if (this.#finishMark !== null) {
      worker.post({ type: "finish", session: this.session, atSample: this.#finishMark });
    }
    this.#lane?.wake();
    this.ready();
  }

  /** Rejoins the lane's worker at the next pause, or after `withinMs` in the middle of an utterance. */
  rejoin(withinMs: number): void {
    this.#rejoined();
    if (this.#isReleased) return;
    if (withinMs === 0) this.attach();
    else this.#rejoinTimer = setTimeout(() => this.attach(), withinMs);
  }

  fail(message: string): void {
    this.#emit({ type: "failed", message });
  }

  onAnswer(answer: LiveWorkerAnswer): void {
    // The answer belongs to an earlier epoch, whose audio is decoded again from the end of the last final
    // (I13).
    if (this.#isReleased || answer.epoch !== this.#epoch) return;
    switch (answer.type) {
      case "partial": {
        const { type, utterance, text, startSample, endSample, stable, isPause, words } = answer;
        this.#shownUtterance = utterance;
        const partial = { type, utterance, text, startSample, endSample };
        const more = isPause === true ? { isPause, ...(words !== undefined && { words }) } : {};
        this.#emit(stable === undefined ? { ...partial, ...more } : { ...partial, ...more, stable });
        return;
      }
      case "final": {
        this.#advance(answer.resume);
        if (answer.text !== null) {
          this.#nextUtterance = answer.utterance + 1;
          const { utterance, text, startSample, endSample, words, isFromFinalize } = answer;
          const final = { type: "final", utterance, text, startSample, endSample, words } as const;
          this.#emit(isFromFinalize === true ? { ...final, isFromFinalize } : final);
        }
        this.#closeMarks(answer.resume.sample - 1);
        this.#pause();
        return;
      }
      case "idle":
        this.#advance(answer.resume);
        this.#closeMarks(answer.resume.sample - 1);
        this.#pause();
        return;
      case "finalized":
        this.#closeMarks(answer.atSample);
        return;
      case "finished":
        this.#emit({ type: "finished" });
        return;
    }
  }

  /**
   * Emits `finalized` for all marks up to a sample. A mark before the session's resume point counts as
   * reached: its worker was lost, or is an older version that does not report marks.
   */
  #closeMarks(upToSample: number): void {
    while (this.#openMarks.length > 0 && this.#openMarks[0]! <= upToSample) {
      this.#openMarks.shift();
      this.#emit({ type: "finalized" });
    }
  }

  /** Rejoins the worker if requested. Between utterances, a change of worker causes no repeated decoding. */
  #pause(): void {
    if (this.#rejoinTimer !== undefined && this.#finishMark === null) this.attach();
  }

  #rejoined(): void {
    clearTimeout(this.#rejoinTimer);
    this.#rejoinTimer = undefined;
  }

  /** Returns the ring, enlarged if more samples need it and the limit allows; null if no lane is left. */
  #ringFor(sampleCount: number): PcmRing | null {
    if (this.#ring === null) {
      const lane = this.#parts.takeLane();
      if (lane === null) return null;
      this.#lane = lane;
      this.#ring = PcmRing.create(ringCapacityFor(sampleCount));
      // Deferred, so that the worker starts with everything that the caller writes in this turn.
      queueMicrotask(() => {
        if (this.#epoch === 0) this.attach();
      });
      return this.#ring;
    }
    const needed = this.#ring.usedSamples + sampleCount;
    if (needed > this.#ring.capacitySamples) this.#moveRing(ringCapacityFor(needed));
    return this.#ring;
  }

  #advance(resume: ResumePoint): void {
    const ring = this.#ring;
    if (ring === null) return;
    this.#resume = resume;
    this.#finalizeMarks = this.#finalizeMarks.filter((atSample) => atSample > resume.sample);
    const releaseSample = resume.sample - this.#parts.contextSamples;
    if (releaseSample > 0) ring.release(releaseSample);
    // Shrinks the ring after a long utterance or a backlog.
    const enough = ringCapacityFor(2 * ring.usedSamples);
    if (2 * enough <= ring.capacitySamples) this.#moveRing(enough);
  }

  /**
   * The worker reads the old ring until it receives the new one, which holds the same samples and has room
   * for more.
   */
  #moveRing(capacitySamples: number): void {
    if (this.#ring === null || this.#ring.capacitySamples === capacitySamples) return;
    this.#ring = this.#ring.moveTo(capacitySamples);
    this.#post({ type: "ring", session: this.session, ring: this.#ring.buffer });
  }

  #post(message: ToLiveWorker): void {
    if (this.#epoch > 0) this.#lane?.worker?.post(message);
  }

  #emit(event: LiveEvent): void {
    if (!this.#isReleased) this.#parts.onEvent(event);
  }
}
