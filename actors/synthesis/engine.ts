import { concatenatePcm } from "../../core/domain/audio/pcm.js";
import { ServiceError, shuttingDown } from "../../core/domain/errors.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import { dueAtMs, estimateWorkMs } from "../../core/domain/synthesis/urgency.js";
import { type Child, Supervisor } from "../../core/kernel/supervisor.js";
import type { Log } from "../../core/observe/log.js";
import type { Clock } from "../../core/ports/clock.js";
import { NO_SPAN, type Span } from "../../core/ports/span.js";
import type {
  SpeakOptions,
  SynthesisJob,
  SynthesizedPiece,
  Synthesizer,
} from "../../core/ports/synthesizer.js";
import { PcmQueue } from "../../native/ring/pcm-queue.js";
import {
  type FromSynthesisWorker,
  SYNTHESIS_CELL,
  type ToSynthesisWorker,
} from "../../native/threads/protocol.js";

interface SynthesisWorker extends Child {
  post(message: ToSynthesisWorker): void;
}

export type SynthesisWorkerAnswer = Extract<FromSynthesisWorker, { readonly jobId: number }>;

export interface SynthesisEngineOptions {
  readonly workerCount: number;
  readonly startWorker: (
    shared: { readonly cells: SharedArrayBuffer; readonly pcm: SharedArrayBuffer },
    onMessage: (message: SynthesisWorkerAnswer) => void,
    /** Number of the worker's lane; a replacement worker gets the same number. */
    lane: number,
  ) => Promise<SynthesisWorker>;
  /** Load of a lane, by default its number of pieces. The next piece goes to the least loaded lane. */
  readonly loadOf?: (lane: number, pieces: number) => number;
  readonly sampleRateHz: number;
  readonly observer?: SynthesisObserver;
  readonly clock: Clock;
  readonly log: Log;
}

/** Counts the workers' runs, for metrics. */
interface SynthesisObserver {
  /** Reports the model runs since the last call, the pieces in them, and the time spent inside them. */
  ran(runs: number, rows: number, busyMs: number): void;
  /** Reports the number of pieces that are waiting or being synthesized. */
  pieces(count: number): void;
}

/** Most pieces that share a worker. More would only add memory (1 to 4 MB each). */
const PIECES_PER_LANE = 32;
/** Most pieces that may wait; more fail with `ENGINE_BUSY`, so that no client waits too long. */
const QUEUE_CAPACITY = 256;
/**
 * Capacity of a worker's output queue: 87 s at 24 kHz. The engine empties the queue at each message, so it
 * never fills up.
 */
const PCM_QUEUE_SAMPLES = 2 ** 21;
/** A piece on which two workers have died is assumed to be the cause. */
const MAX_ATTEMPTS = 2;

interface PendingJob {
  readonly id: number;
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly dueAtMs: number;
  /** When the listener hears the first sample; null for as soon as it is synthesized. */
  readonly playsFromMs: number | null;
  readonly onBounds: (characterBounds: Int32Array) => void;
  readonly onPcm: (pcm: Int16Array) => void;
  readonly resolve: (piece: SynthesizedPiece) => void;
  readonly reject: (error: ServiceError) => void;
  readonly onAbort: () => void;
  /** Samples that the listener already has; a second attempt continues after them. */
  readonly parts: Int16Array[];
  readonly span: Span;
  /** Span of the current wait or run. */
  phase: Span;
  /** Number of samples received in the current attempt. */
  samplesSeen: number;
  attempts: number;
}

interface Lane {
  readonly supervisor: Supervisor<SynthesisWorker>;
  readonly cells: Int32Array;
  /** Written by the worker, read here. A replacement worker gets a new queue. */
  pcm: PcmQueue;
  /** Pieces on the worker, by job id. */
  readonly running: Map<number, PendingJob>;
  /** Values of `SYNTHESIS_CELL` that the observer has counted. */
  readonly counted: Int32Array;
  /**
   * Number of the lane's current worker: an earlier worker's last message may arrive after that worker has
   * ended.
   */
  generation: number;
  isLost: boolean;
}

/**
 * Owns the synthesis workers and the queue of pieces. Each worker synthesizes several pieces concurrently,
 * and chooses the next ones between model runs. The queue holds pieces for which no worker has room. Both
 * serve the earliest deadline first.
 */
export class SynthesisEngine implements Synthesizer {
  readonly #options: SynthesisEngineOptions;
  readonly #lanes: Lane[] = [];
  #queue: PendingJob[] = [];
  #nextJob = 0;
  #isStopping = false;

  constructor(options: SynthesisEngineOptions) {
    this.#options = options;
    for (let index = 0; index < options.workerCount; index++) this.#lanes.push(this.#makeLane(index));
  }

  /** Pieces that are waiting or being synthesized. */
  get jobCount(): number {
    return this.#lanes.reduce((count, lane) => count + lane.running.size, this.#queue.length);
  }

  /** Model runs so far, modulo 2^32 for each worker. */
  get modelRuns(): number {
    const runsOf = (lane: Lane) => Atomics.load(lane.cells, SYNTHESIS_CELL.runs) >>> 0;
    return this.#lanes.reduce((runs, lane) => runs + runsOf(lane), 0);
  }

  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.start()));
  }

  /** Rejects waiting pieces, lets running ones finish their step, and ends the workers. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const pending of this.#queue.splice(0)) this.#reject(pending, shuttingDown());
    for (const lane of this.#lanes) {
      for (const pending of lane.running.values()) this.#cancelOn(lane, pending);
    }
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.stop()));
    // A worker that died while stopping has not answered.
    for (const lane of this.#lanes) {
      for (const pending of lane.running.values()) this.#reject(pending, shuttingDown());
      lane.running.clear();
    }
  }

  speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}): Promise<SynthesizedPiece> {
    const { urgency = { kind: "whole" }, onBounds = () => {}, onPcm = () => {}, span = NO_SPAN } = options;
    const { askedAtMs = this.#options.clock.nowMs() } = options;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(cancelled());
      if (this.#isStopping) return reject(shuttingDown());
      if (this.#lanes.every((lane) => lane.isLost) || this.#queue.length >= QUEUE_CAPACITY) {
        return reject(new ServiceError("ENGINE_BUSY", "synthesis is at capacity, try again"));
      }
      const pending: PendingJob = {
        ...{ job, signal, onBounds, onPcm, resolve, reject, span },
        id: this.#nextJob++,
        dueAtMs: dueAtMs(urgency, askedAtMs, estimateWorkMs(job)),
        playsFromMs: urgency.kind === "heard" ? urgency.runsDryAtMs : null,
        onAbort: () => this.#cancel(pending),
        ...{ parts: [], phase: NO_SPAN, samplesSeen: 0, attempts: 0 },
      };
      signal.addEventListener("abort", pending.onAbort, { once: true });
      this.#enqueue(pending);
      this.#dispatch();
    });
  }

  /** True if every lane has used up its restarts. */
  get isGivenUp(): boolean {
    return this.#lanes.length > 0 && this.#lanes.every((lane) => lane.isLost);
  }

  #makeLane(index: number): Lane {
    const { startWorker, clock, log } = this.#options;
    const cells = new SharedArrayBuffer(SYNTHESIS_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const id = `synthesis-worker-${index}`;
    const lane: Lane = {
      cells: new Int32Array(cells),
      counted: new Int32Array(SYNTHESIS_CELL.count),
      pcm: PcmQueue.create(PCM_QUEUE_SAMPLES),
      running: new Map(),
      generation: 0,
      isLost: false,
      supervisor: new Supervisor<SynthesisWorker>(
        {
          id,
          start: () => {
            // A worker that died between writing and its message has left samples that belong to no piece.
            if (lane.generation > 0) lane.pcm = PcmQueue.create(PCM_QUEUE_SAMPLES);
            const generation = ++lane.generation;
            const onAnswer = (answer: SynthesisWorkerAnswer) => {
              if (generation === lane.generation) this.#onAnswer(lane, answer);
            };
            return startWorker({ cells, pcm: lane.pcm.buffer }, onAnswer, index);
          },
          onUp: () => this.#dispatch(),
          onDown: (error) => {
            log.error({ worker: id, err: error }, "synthesis worker ended");
            this.#requeue(lane, isDeviceLost(error));
          },
          onGiveUp: (error) => {
            log.fatal({ worker: id, err: error }, "synthesis worker given up");
            lane.isLost = true;
            this.#refuseIfNobodyIsLeft();
          },
        },
        clock.nowMs,
      ),
    };
    return lane;
  }

  /** Inserts a piece in the order of `dueAtMs`. */
  #enqueue(pending: PendingJob): void {
    pending.phase = pending.span.child("queue wait");
    const next = this.#queue.findIndex((other) => other.dueAtMs > pending.dueAtMs);
    this.#queue.splice(next < 0 ? this.#queue.length : next, 0, pending);
  }

  #dispatch(): void {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const lane = this.#laneFor(next);
      const worker = lane?.supervisor.child;
      if (lane === null || !worker) break;
      this.#queue.shift();
      next.attempts++;
      next.samplesSeen = 0;
      lane.running.set(next.id, next);
      next.phase.end();
      next.phase = next.span.child("worker run", { lane: this.#lanes.indexOf(lane), attempt: next.attempts });
      const { id: jobId, job, dueAtMs, playsFromMs } = next;
      const nowMs = this.#options.clock.nowMs();
      const playsInMs = playsFromMs === null ? null : playsFromMs - nowMs;
      worker.post({ type: "speak", jobId, job, dueInMs: dueAtMs - nowMs, playsInMs });
    }
    this.#options.observer?.pieces(this.jobCount);
  }

  /** Returns the least loaded lane with room for the piece; null if the piece must wait. */
  #laneFor(pending: PendingJob): Lane | null {
    const isFree = (lane: Lane) => {
      if (lane.supervisor.child === null) return false;
      // A piece whose worker died runs alone: if the piece is the cause, no other is affected.
      if (pending.attempts > 0) return lane.running.size === 0;
      return lane.running.size < PIECES_PER_LANE && !isSuspectRunning(lane);
    };
    const { loadOf = (_, pieces) => pieces } = this.#options;
    let least: Lane | null = null;
    let leastLoad = Number.POSITIVE_INFINITY;
    for (const [index, lane] of this.#lanes.entries()) {
      const load = isFree(lane) ? loadOf(index, lane.running.size) : Number.POSITIVE_INFINITY;
      if (load >= leastLoad) continue;
      least = lane;
      leastLoad = load;
    }
    return least;
  }

  #onAnswer(lane: Lane, answer: SynthesisWorkerAnswer): void {
    const pending = lane.running.get(answer.jobId);
    this.#observeRuns(lane);
    if (answer.type === "pcm") {
      const samples = lane.pcm.read(answer.sampleCount);
      if (pending !== undefined) this.#onPcm(pending, samples);
      return;
    }
    if (pending === undefined) return;
    if (answer.type === "begun") {
      // A second attempt would send the bounds again.
      if (pending.parts.length === 0 && !pending.signal.aborted) pending.onBounds(answer.characterBounds);
      return;
    }
    lane.running.delete(pending.id);
    if (answer.type === "spoken") {
      const pcm = concatenatePcm(pending.parts);
      const { sampleRateHz } = this.#options;
      const { characterBounds } = answer;
      this.#settle(pending, () => pending.resolve({ pcm, sampleRateHz, characterBounds }));
    } else {
      this.#reject(pending, new ServiceError(answer.code, answer.message));
    }
    this.#dispatch();
  }

  /** Passes on only new samples, because a second attempt produces them all again. */
  #onPcm(pending: PendingJob, samples: Int16Array): void {
    const sentSamples = pending.parts.reduce((sum, part) => sum + part.length, 0);
    const known = Math.max(0, sentSamples - pending.samplesSeen);
    if (pending.samplesSeen === 0) pending.phase.event("first samples");
    pending.samplesSeen += samples.length;
    if (known >= samples.length) return;
    const part = samples.subarray(known);
    pending.parts.push(part);
    if (!pending.signal.aborted) pending.onPcm(part);
  }

  #observeRuns(lane: Lane): void {
    const { observer } = this.#options;
    if (observer === undefined) return;
    const since = (cell: number) => {
      const now = Atomics.load(lane.cells, cell);
      const difference = (now - lane.counted[cell]!) >>> 0;
      lane.counted[cell] = now;
      return difference;
    };
    const { runs, rows, busyMicros } = SYNTHESIS_CELL;
    observer.ran(since(runs), since(rows), since(busyMicros) / 1_000);
  }

  #cancel(pending: PendingJob): void {
    const index = this.#queue.indexOf(pending);
    if (index >= 0) {
      this.#queue.splice(index, 1);
      this.#reject(pending, cancelled());
      this.#dispatch();
      return;
    }
    const lane = this.#lanes.find((candidate) => candidate.running.has(pending.id));
    if (lane !== undefined) this.#cancelOn(lane, pending);
  }

  /** The worker reads its messages before each run and answers `gave-up`. */
  #cancelOn(lane: Lane, pending: PendingJob): void {
    lane.supervisor.child?.post({ type: "cancel", jobId: pending.id });
  }

  /** @param isBlameless true if no piece was the cause, so that the attempt does not count */
  #requeue(lane: Lane, isBlameless: boolean): void {
    const lost = [...lane.running.values()];
    lane.running.clear();
    for (const pending of lost) {
      pending.phase.end("worker_lost");
      if (isBlameless) pending.attempts--;
      if (pending.signal.aborted) this.#reject(pending, cancelled());
      else if (this.#isStopping) this.#reject(pending, shuttingDown());
      else if (pending.attempts < MAX_ATTEMPTS) this.#enqueue(pending);
      else this.#reject(pending, new ServiceError("WORKER_LOST", "synthesis failed, try again"));
    }
    this.#dispatch();
  }

  #refuseIfNobodyIsLeft(): void {
    if (this.#lanes.some((lane) => !lane.isLost)) return;
    for (const pending of this.#queue.splice(0))
      this.#reject(pending, new ServiceError("WORKER_LOST", "synthesis is not available"));
  }

  #reject(pending: PendingJob, error: ServiceError): void {
    this.#settle(pending, () => pending.reject(error));
  }

  #settle(pending: PendingJob, answer: () => void): void {
    pending.signal.removeEventListener("abort", pending.onAbort);
    pending.phase.end();
    answer();
  }
}

function isDeviceLost(reason: Error): boolean {
  return reason instanceof ProviderError && reason.kind === "lost";
}

/** True if the lane runs a piece in its second attempt, which gets the worker to itself. */
function isSuspectRunning(lane: Lane): boolean {
  return [...lane.running.values()].some(({ attempts }) => attempts > 1);
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "synthesis was cancelled");
}
