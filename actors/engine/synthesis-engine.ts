import { PcmRing } from "../../native/ring/pcm-ring.js";
import {
  type FromSynthesisWorker,
  SYNTHESIS_CELL,
  type ToSynthesisWorker,
} from "../../native/worker/protocol.js";
import { concatenatePcm } from "../../src/domain/audio/pcm.js";
import { SpeechError } from "../../src/domain/errors.js";
import type { Log } from "../../src/observe/log.js";
import type { Clock } from "../../src/ports/clock.js";
import type { SynthesisJob, SynthesizedPiece, Synthesizer } from "../../src/ports/synthesizer.js";
import { type Child, Supervisor } from "../kernel/supervisor.js";

export interface SynthesisWorker extends Child {
  post(message: ToSynthesisWorker): void;
}

export type SynthesisWorkerAnswer = Extract<FromSynthesisWorker, { readonly jobId: number }>;

export interface SynthesisEngineOptions {
  readonly workerCount: number;
  readonly startWorker: (
    shared: { readonly cells: SharedArrayBuffer; readonly pcm: SharedArrayBuffer },
    onMessage: (message: SynthesisWorkerAnswer) => void,
  ) => Promise<SynthesisWorker>;
  readonly sampleRateHz: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Pieces that may wait; beyond it `ENGINE_BUSY`, so that a queue never grows past what a client waits for. */
const QUEUE_CAPACITY = 256;
/** A worker's PCM ring: 87 s at 24 kHz. The engine empties it at each message, so a piece never waits for room. */
const RING_SAMPLES = 2 ** 21;
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 30_000;
/** A piece whose workers died twice is taken to be the cause. */
const MAX_ATTEMPTS = 2;

interface PendingJob {
  readonly id: number;
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly resolve: (piece: SynthesizedPiece) => void;
  readonly reject: (error: SpeechError) => void;
  readonly onAbort: () => void;
  parts: Int16Array[];
  attempts: number;
}

interface Lane {
  readonly supervisor: Supervisor<SynthesisWorker>;
  readonly cells: Int32Array;
  readonly ring: PcmRing;
  current: PendingJob | null;
  /** Counts the workers of this lane; what an earlier one said last may come after its end. */
  generation: number;
  isLost: boolean;
}

/** Owns the synthesis workers and the queue of pieces; one piece at a time on each worker. */
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
    return this.#queue.length + this.#lanes.filter((lane) => lane.current !== null).length;
  }

  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.start()));
  }

  /** Refuses what waits, lets running pieces end within a step, and ends the workers. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const pending of this.#queue.splice(0)) this.#refuseForShutdown(pending);
    for (const lane of this.#lanes) if (lane.current !== null) this.#cancelOn(lane, lane.current);
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.stop()));
    // A worker that died on its way out has answered nothing.
    for (const lane of this.#lanes) {
      if (lane.current !== null) this.#refuseForShutdown(lane.current);
      lane.current = null;
    }
  }

  speak(job: SynthesisJob, signal: AbortSignal): Promise<SynthesizedPiece> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new SpeechError("CANCELLED", "synthesis was cancelled"));
      if (this.#isStopping) return reject(new SpeechError("SHUTTING_DOWN", "the service is stopping"));
      if (this.#lanes.every((lane) => lane.isLost) || this.#queue.length >= QUEUE_CAPACITY) {
        return reject(new SpeechError("ENGINE_BUSY", "synthesis is at capacity, try again"));
      }
      const pending: PendingJob = {
        id: this.#nextJob++,
        job,
        signal,
        resolve,
        reject,
        onAbort: () => this.#cancel(pending),
        parts: [],
        attempts: 0,
      };
      signal.addEventListener("abort", pending.onAbort, { once: true });
      this.#queue.push(pending);
      this.#dispatch();
    });
  }

  /** Makes the workers fail in the middle of their work. For fault tests: workers obey only when started to. */
  injectFault(): void {
    for (const lane of this.#lanes) lane.supervisor.child?.post({ type: "fault" });
  }

  #makeLane(index: number): Lane {
    const { startWorker, clock, log } = this.#options;
    const cells = new SharedArrayBuffer(SYNTHESIS_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const id = `synthesis-worker-${index}`;
    const lane: Lane = {
      cells: new Int32Array(cells).fill(-1),
      ring: PcmRing.create(RING_SAMPLES),
      current: null,
      generation: 0,
      isLost: false,
      supervisor: new Supervisor<SynthesisWorker>(
        {
          id,
          start: () => {
            // A worker that died between write and message leaves samples that belong to nobody.
            lane.ring.release(lane.ring.written);
            const generation = ++lane.generation;
            return startWorker({ cells, pcm: lane.ring.buffer }, (answer) => {
              if (generation === lane.generation) this.#onAnswer(lane, answer);
            });
          },
          maxRestarts: MAX_RESTARTS,
          windowMs: RESTART_WINDOW_MS,
          onUp: () => this.#dispatch(),
          onDown: (error) => {
            log.error({ worker: id, err: error }, "synthesis worker ended");
            this.#requeue(lane);
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

  #dispatch(): void {
    for (const lane of this.#lanes) {
      const worker = lane.supervisor.child;
      if (worker === null || lane.current !== null) continue;
      const pending = this.#queue.shift();
      if (pending === undefined) return;
      pending.attempts++;
      pending.parts = [];
      lane.current = pending;
      Atomics.store(lane.cells, SYNTHESIS_CELL.cancelledJob, -1);
      worker.post({ type: "speak", jobId: pending.id, job: pending.job });
    }
  }

  #onAnswer(lane: Lane, answer: SynthesisWorkerAnswer): void {
    const pending = lane.current;
    if (answer.type === "pcm") {
      const samples = new Int16Array(answer.sampleCount);
      lane.ring.copyOut(lane.ring.released, samples);
      lane.ring.release(lane.ring.released + answer.sampleCount);
      if (pending?.id === answer.jobId) pending.parts.push(samples);
      return;
    }
    if (pending?.id !== answer.jobId) return;
    lane.current = null;
    if (answer.type === "spoken") {
      const pcm = concatenatePcm(pending.parts);
      this.#settle(pending, () => pending.resolve({ pcm, sampleRateHz: this.#options.sampleRateHz }));
    } else {
      this.#settle(pending, () => pending.reject(new SpeechError(answer.code, answer.message)));
    }
    this.#dispatch();
  }

  #cancel(pending: PendingJob): void {
    const index = this.#queue.indexOf(pending);
    if (index >= 0) {
      this.#queue.splice(index, 1);
      this.#settle(pending, () => pending.reject(new SpeechError("CANCELLED", "synthesis was cancelled")));
      return;
    }
    const lane = this.#lanes.find((candidate) => candidate.current === pending);
    if (lane !== undefined) this.#cancelOn(lane, pending);
  }

  /** The worker reads the cell before each solver step and answers `gave-up`. */
  #cancelOn(lane: Lane, pending: PendingJob): void {
    Atomics.store(lane.cells, SYNTHESIS_CELL.cancelledJob, pending.id);
  }

  #requeue(lane: Lane): void {
    const pending = lane.current;
    lane.current = null;
    if (pending === null) return;
    if (pending.signal.aborted) {
      this.#settle(pending, () => pending.reject(new SpeechError("CANCELLED", "synthesis was cancelled")));
    } else if (pending.attempts >= MAX_ATTEMPTS) {
      this.#settle(pending, () =>
        pending.reject(new SpeechError("WORKER_LOST", "synthesis failed, try again")),
      );
    } else {
      // To the front: its listener has waited longest.
      this.#queue.unshift(pending);
      this.#dispatch();
    }
  }

  #refuseIfNobodyIsLeft(): void {
    if (this.#lanes.some((lane) => !lane.isLost)) return;
    for (const pending of this.#queue.splice(0)) {
      this.#settle(pending, () =>
        pending.reject(new SpeechError("WORKER_LOST", "synthesis is not available")),
      );
    }
  }

  #refuseForShutdown(pending: PendingJob): void {
    this.#settle(pending, () => pending.reject(new SpeechError("SHUTTING_DOWN", "the service is stopping")));
  }

  #settle(pending: PendingJob, answer: () => void): void {
    pending.signal.removeEventListener("abort", pending.onAbort);
    answer();
  }
}
