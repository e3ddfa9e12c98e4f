import { setImmediate as nextTurn } from "node:timers/promises";
import { asServiceError, ServiceError } from "../../core/domain/errors.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import type { PieceModel } from "../models/synthesizer.js";
import { SYNTHESIS_CELL } from "../threads/protocol.js";
import type { SolverRequest, SolverSink } from "./shared-solver.js";
import { SpeechOut } from "./speech-out.js";

/** Speaks pieces of a model without shared runs one by one, in the order in which they are due. */
export class PieceQueue {
  readonly #model: PieceModel;
  readonly #cells: Int32Array;
  readonly #sink: SolverSink;
  readonly #waiting = new Map<number, SolverRequest>();
  #speaking: { readonly jobId: number; readonly abort: AbortController } | null = null;
  #working: Promise<void> | null = null;

  /** @param parts `cells`: see `SYNTHESIS_CELL`; a piece counts as one run */
  constructor(model: PieceModel, parts: { readonly cells: Int32Array; readonly sink: SolverSink }) {
    this.#model = model;
    this.#cells = parts.cells;
    this.#sink = parts.sink;
  }

  speak(request: SolverRequest): void {
    this.#waiting.set(request.jobId, request);
    this.#working ??= this.#work();
  }

  /** Cancels a job; a piece in progress ends after its current run. */
  cancel(jobId: number): void {
    if (this.#speaking?.jobId === jobId) this.#speaking.abort.abort();
    else if (this.#waiting.delete(jobId)) this.#sink.gaveUp(jobId, cancelled());
  }

  async idle(): Promise<void> {
    await this.#working;
  }

  async release(): Promise<void> {
    await this.#model.release();
  }

  async #work(): Promise<void> {
    for (;;) {
      // Handle messages that arrived during the last run before choosing the next piece.
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

  async #perform({ jobId, job, playsFromMs }: SolverRequest): Promise<void> {
    this.#waiting.delete(jobId);
    const abort = new AbortController();
    this.#speaking = { jobId, abort };
    Atomics.add(this.#cells, SYNTHESIS_CELL.runs, 1);
    Atomics.add(this.#cells, SYNTHESIS_CELL.rows, 1);
    const { signal } = abort;
    const checkpoint = () => receiveMessages(signal);
    // Waiting for space in the queue is not busy time.
    const busy = new BusyTime(this.#cells);
    try {
      const out = new SpeechOut(this.#model.manifest.sampleRateHz, async (samples) => {
        await checkpoint();
        await this.#sink.pcm(jobId, samples);
      });
      const give = (samples: Float32Array) => busy.without(() => out.write(samples));
      const bounds = await this.#model.speak(job, { signal, playsFromMs, checkpoint, give });
      this.#sink.spoken(jobId, await busy.without(() => out.end(bounds)));
    } catch (thrown) {
      const error = asServiceError(thrown);
      if (error instanceof ProviderError) {
        // No piece caused this failure, so another worker takes over all of them.
        this.#waiting.clear();
        this.#sink.lost(error);
      } else this.#sink.gaveUp(jobId, error);
    } finally {
      busy.end();
      this.#speaking = null;
    }
  }
}

/** Adds the time that a piece takes to `SYNTHESIS_CELL.busyMicros`. */
class BusyTime {
  readonly #cells: Int32Array;
  #sinceMs = performance.now();

  constructor(cells: Int32Array) {
    this.#cells = cells;
  }

  async without<T>(wait: () => Promise<T>): Promise<T> {
    this.end();
    try {
      return await wait();
    } finally {
      this.#sinceMs = performance.now();
    }
  }

  end(): void {
    const micros = Math.round((performance.now() - this.#sinceMs) * 1_000);
    Atomics.add(this.#cells, SYNTHESIS_CELL.busyMicros, micros);
  }
}

/** Lets the thread handle messages that arrived during a run. */
async function receiveMessages(signal: AbortSignal): Promise<void> {
  await nextTurn();
  if (signal.aborted) throw cancelled();
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "synthesis was cancelled");
}
