import { setImmediate as nextTurn } from "node:timers/promises";
import { toInt16 } from "../../src/domain/audio/pcm.js";
import { asServiceError, ServiceError } from "../../src/domain/errors.js";
import type { PieceModel } from "../models/synthesizer.js";
import { SYNTHESIS_CELL } from "../threads/protocol.js";
import type { SolverRequest, SolverSink } from "./shared-solver.js";

/** Samples that go into the PCM queue at once: a piece may be longer than the queue. */
const PART_SAMPLES = 1 << 14;

/** Speaks pieces of a model that shares nothing, one after another; what is due first comes first. */
export class PieceQueue {
  readonly #model: PieceModel;
  readonly #cells: Int32Array;
  readonly #sink: SolverSink;
  readonly #waiting = new Map<number, SolverRequest>();
  #speaking: number | null = null;
  #isCancelled = false;
  #working: Promise<void> | null = null;

  /** @param parts `cells` as `SYNTHESIS_CELL` says: a piece counts as one run */
  constructor(model: PieceModel, parts: { readonly cells: Int32Array; readonly sink: SolverSink }) {
    this.#model = model;
    this.#cells = parts.cells;
    this.#sink = parts.sink;
  }

  speak(request: SolverRequest): void {
    this.#waiting.set(request.jobId, request);
    this.#working ??= this.#work();
  }

  /** A piece that is being made ends with its run. */
  cancel(jobId: number): void {
    if (this.#speaking === jobId) this.#isCancelled = true;
    else if (this.#waiting.delete(jobId)) this.#sink.gaveUp(jobId, cancelled());
  }

  /** Settles when no piece is left. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    for (;;) {
      // Messages that came during the last run are handled in this turn, before the next one is chosen.
      await nextTurn();
      const request = this.#next();
      if (request === null) break;
      await this.#perform(request);
    }
    this.#working = null;
  }

  #next(): SolverRequest | null {
    let next: SolverRequest | null = null;
    for (const request of this.#waiting.values()) {
      if (next === null || request.dueAtMs < next.dueAtMs) next = request;
    }
    return next;
  }

  async #perform({ jobId, job }: SolverRequest): Promise<void> {
    this.#waiting.delete(jobId);
    this.#speaking = jobId;
    this.#isCancelled = false;
    const startedAtMs = performance.now();
    Atomics.add(this.#cells, SYNTHESIS_CELL.runs, 1);
    Atomics.add(this.#cells, SYNTHESIS_CELL.rows, 1);
    try {
      const checkpoint = () => this.#checkpoint();
      const samples = toInt16(await this.#model.speak(job, checkpoint));
      const busyMicros = Math.round((performance.now() - startedAtMs) * 1_000);
      Atomics.add(this.#cells, SYNTHESIS_CELL.busyMicros, busyMicros);
      for (let start = 0; start < samples.length; start += PART_SAMPLES) {
        await checkpoint();
        await this.#sink.pcm(jobId, samples.subarray(start, start + PART_SAMPLES));
      }
      this.#sink.spoken(jobId, null);
    } catch (error) {
      this.#sink.gaveUp(jobId, asServiceError(error));
    } finally {
      this.#speaking = null;
    }
  }

  /** Messages that came during a run are heard in this turn. */
  async #checkpoint(): Promise<void> {
    await nextTurn();
    if (this.#isCancelled) throw cancelled();
  }
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "synthesis was cancelled");
}
