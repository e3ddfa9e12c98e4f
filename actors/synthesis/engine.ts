import { concatenatePcm } from "../../core/domain/audio/pcm.js";
import { ServiceError } from "../../core/domain/errors.js";
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
    /** Of the worker's lane, which its successors have too. */
    lane: number,
  ) => Promise<SynthesisWorker>;
  /** What so many pieces on a lane weigh: the next goes to the lane with the least. Their number when absent. */
  readonly loadOf?: (lane: number, pieces: number) => number;
  readonly sampleRateHz: number;
  readonly observer?: SynthesisObserver;
  readonly clock: Clock;
  readonly log: Log;
}

/** Told what the workers do. */
interface SynthesisObserver {
  /** Model runs since the last call, the pieces in them, and the time spent inside them. */
  ran(runs: number, rows: number, busyMs: number): void;
  /** Pieces waiting or being made. */
  pieces(count: number): void;
}

/** Pieces that share a worker. More would add memory (1 to 4 MB each) and nothing else: the rest waits in order. */
const PIECES_PER_LANE = 32;
/** Pieces that may wait; beyond it `ENGINE_BUSY`, so that a queue never grows past what a client waits for. */
const QUEUE_CAPACITY = 256;
/** A worker's way back: 87 s at 24 kHz. The engine empties it at each message, so a piece never waits for room. */
const PCM_QUEUE_SAMPLES = 2 ** 21;
/** A piece whose workers died twice is taken to be the cause. */
const MAX_ATTEMPTS = 2;

interface PendingJob {
  readonly id: number;
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly dueAtMs: number;
  /** When its listener hears its first sample; null when that is as soon as it is made. */
  readonly playsFromMs: number | null;
  readonly onBounds: (characterBounds: Int32Array) => void;
  readonly onPcm: (pcm: Int16Array) => void;
  readonly resolve: (piece: SynthesizedPiece) => void;
  readonly reject: (error: ServiceError) => void;
  readonly onAbort: () => void;
  /** What its listener was told so far; a second attempt goes on behind it. */
  readonly parts: Int16Array[];
  /** Of the piece. */
  readonly span: Span;
  /** Of its wait or its run, whichever is on. */
  phase: Span;
  /** Samples of the running attempt. */
  samplesSeen: number;
  attempts: number;
}

interface Lane {
  readonly supervisor: Supervisor<SynthesisWorker>;
  readonly cells: Int32Array;
  /** Written by the running worker, read here. A worker that died in between leaves its own behind. */
  pcm: PcmQueue;
  /** Pieces on the worker, by job id. */
  readonly running: Map<number, PendingJob>;
  /** How much of `SYNTHESIS_CELL` was told to the observer. */
  readonly told: Int32Array;
  /** Counts the workers of this lane; what an earlier one said last may come after its end. */
  generation: number;
  isLost: boolean;
}

/**
 * Owns the synthesis workers and the queue of pieces. Each worker makes several pieces at once and chooses at every model
 * run which of them go on; the queue holds what no worker has room for. Both serve first what is due first.
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

  /** Pieces waiting or being made. */
  get jobCount(): number {
    return this.#lanes.reduce((count, lane) => count + lane.running.size, this.#queue.length);
  }

  /** Model runs that were begun so far, modulo 2^32 for each worker. */
  get modelRuns(): number {
    const runsOf = (lane: Lane) => Atomics.load(lane.cells, SYNTHESIS_CELL.runs) >>> 0;
    return this.#lanes.reduce((runs, lane) => runs + runsOf(lane), 0);
  }

  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.start()));
  }

  /** Refuses what waits, lets running pieces end within a step, and ends the workers. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const pending of this.#queue.splice(0)) this.#refuseForShutdown(pending);
    for (const lane of this.#lanes) {
      for (const pending of lane.running.values()) this.#cancelOn(lane, pending);
    }
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.stop()));
    // A worker that died on its way out has answered nothing.
    for (const lane of this.#lanes) {
      for (const pending of lane.running.values()) this.#refuseForShutdown(pending);
      lane.running.clear();
    }
  }

  speak(job: SynthesisJob, signal: AbortSignal, options: SpeakOptions = {}): Promise<SynthesizedPiece> {
    const { urgency = { kind: "whole" }, onBounds = () => {}, onPcm = () => {}, span = NO_SPAN } = options;
    const { askedAtMs = this.#options.clock.nowMs() } = options;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new ServiceError("CANCELLED", "synthesis was cancelled"));
      if (this.#isStopping) return reject(new ServiceError("SHUTTING_DOWN", "the service is stopping"));
      if (this.#lanes.every((lane) => lane.isLost) || this.#queue.length >= QUEUE_CAPACITY) {
        return reject(new ServiceError("ENGINE_BUSY", "synthesis is at capacity, try again"));
      }
      const pending: PendingJob = {
        id: this.#nextJob++,
        job,
        signal,
        dueAtMs: dueAtMs(urgency, askedAtMs, estimateWorkMs(job)),
        playsFromMs: urgency.kind === "heard" ? urgency.runsDryAtMs : null,
        onBounds,
        onPcm,
        resolve,
        reject,
        onAbort: () => this.#cancel(pending),
        parts: [],
        span,
        phase: NO_SPAN,
        samplesSeen: 0,
        attempts: 0,
      };
      signal.addEventListener("abort", pending.onAbort, { once: true });
      this.#enqueue(pending);
      this.#dispatch();
    });
  }

  /** No worker will come back. */
  get isGivenUp(): boolean {
    return this.#lanes.length > 0 && this.#lanes.every((lane) => lane.isLost);
  }

  #makeLane(index: number): Lane {
    const { startWorker, clock, log } = this.#options;
    const cells = new SharedArrayBuffer(SYNTHESIS_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const id = `synthesis-worker-${index}`;
    const lane: Lane = {
      cells: new Int32Array(cells),
      told: new Int32Array(SYNTHESIS_CELL.count),
      pcm: PcmQueue.create(PCM_QUEUE_SAMPLES),
      running: new Map(),
      generation: 0,
      isLost: false,
      supervisor: new Supervisor<SynthesisWorker>(
        {
          id,
          start: () => {
            // A worker that died between write and message leaves samples that belong to no piece.
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
            log.fatal({ worker: id, err: error }, "synthesis worker does not come back");
            lane.isLost = true;
            this.#refuseIfNobodyIsLeft();
          },
        },
        clock.nowMs,
      ),
    };
    return lane;
  }

  /** Keeps the queue in the order of `dueAtMs`. */
  #enqueue(pending: PendingJob): void {
    pending.phase = pending.span.child("queue wait");
    const behind = this.#queue.findIndex((other) => other.dueAtMs > pending.dueAtMs);
    this.#queue.splice(behind < 0 ? this.#queue.length : behind, 0, pending);
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

  /** The worker with the least load, or null: then the queue waits. */
  #laneFor(pending: PendingJob): Lane | null {
    const isFree = (lane: Lane) => {
      if (lane.supervisor.child === null) return false;
      // A piece whose worker died is made alone: if it is the cause it takes no other with it.
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
      // A second attempt says the same once more.
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
      this.#settle(pending, () => pending.reject(new ServiceError(answer.code, answer.message)));
    }
    this.#dispatch();
  }

  /** Hands on what its listener does not have yet: a second attempt begins at the first sample, and makes the same ones. */
  #onPcm(pending: PendingJob, samples: Int16Array): void {
    const toldSamples = pending.parts.reduce((sum, part) => sum + part.length, 0);
    const known = Math.max(0, toldSamples - pending.samplesSeen);
    if (pending.samplesSeen === 0) pending.phase.event("first samples");
    pending.samplesSeen += samples.length;
    if (known >= samples.length) return;
    const part = samples.subarray(known);
    pending.parts.push(part);
    // A client that has cancelled listens no more.
    if (!pending.signal.aborted) pending.onPcm(part);
  }

  #observeRuns(lane: Lane): void {
    const { observer } = this.#options;
    if (observer === undefined) return;
    const since = (cell: number) => {
      const now = Atomics.load(lane.cells, cell);
      const difference = (now - lane.told[cell]!) >>> 0;
      lane.told[cell] = now;
      return difference;
    };
    const { runs, rows, busyMicros } = SYNTHESIS_CELL;
    observer.ran(since(runs), since(rows), since(busyMicros) / 1_000);
  }

  #cancel(pending: PendingJob): void {
    const index = this.#queue.indexOf(pending);
    if (index >= 0) {
      this.#queue.splice(index, 1);
      this.#settle(pending, () => pending.reject(new ServiceError("CANCELLED", "synthesis was cancelled")));
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

  /** @param isBlameless no piece was the cause: what was tried does not count */
  #requeue(lane: Lane, isBlameless: boolean): void {
    const lost = [...lane.running.values()];
    lane.running.clear();
    for (const pending of lost) {
      pending.phase.end("worker_lost");
      if (isBlameless) pending.attempts--;
      if (pending.signal.aborted) {
        this.#settle(pending, () => pending.reject(new ServiceError("CANCELLED", "synthesis was cancelled")));
      } else if (this.#isStopping) {
        this.#refuseForShutdown(pending);
      } else if (pending.attempts >= MAX_ATTEMPTS) {
        this.#settle(pending, () =>
          pending.reject(new ServiceError("WORKER_LOST", "synthesis failed, try again")),
        );
      } else {
        this.#enqueue(pending);
      }
    }
    this.#dispatch();
  }

  #refuseIfNobodyIsLeft(): void {
    if (this.#lanes.some((lane) => !lane.isLost)) return;
    for (const pending of this.#queue.splice(0)) {
      this.#settle(pending, () =>
        pending.reject(new ServiceError("WORKER_LOST", "synthesis is not available")),
      );
    }
  }

  #refuseForShutdown(pending: PendingJob): void {
    this.#settle(pending, () => pending.reject(new ServiceError("SHUTTING_DOWN", "the service is stopping")));
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

/** A piece that is made for the second time has its worker for itself. */
function isSuspectRunning(lane: Lane): boolean {
  for (const { attempts } of lane.running.values()) if (attempts > 1) return true;
  return false;
}
