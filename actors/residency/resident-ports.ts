import type { FileTranscript } from "../../src/domain/decoding/transcript.js";
import type { Clock } from "../../src/ports/clock.js";
import type { SynthesizedPiece, Synthesizer } from "../../src/ports/synthesizer.js";
import type { Transcriber } from "../../src/ports/transcriber.js";
import type { Engine, Lease, ResidentModel } from "./resident-model.js";

/** Told how long a request has waited for its model, in milliseconds; 0 when it was there. */
export type OnModelWait = (waitedMs: number) => void;

/** A synthesizer that may be cold, for one request. A piece holds the model while it waits in the queue and is spoken. */
export class ResidentSynthesizer implements Synthesizer {
  readonly #model: ResidentModel<Engine & Synthesizer>;
  readonly #clock: Clock;
  readonly #onModelWait: OnModelWait;

  constructor(model: ResidentModel<Engine & Synthesizer>, clock: Clock, onModelWait: OnModelWait = () => {}) {
    this.#model = model;
    this.#clock = clock;
    this.#onModelWait = onModelWait;
  }

  speak(...[job, signal, options]: Parameters<Synthesizer["speak"]>): Promise<SynthesizedPiece> {
    return withLease(this.#model, signal, { clock: this.#clock, onModelWait: this.#onModelWait }, (engine) =>
      engine.speak(job, signal, options),
    );
  }
}

/** A transcriber that may be cold, for one request. */
export class ResidentTranscriber implements Transcriber {
  readonly #model: ResidentModel<Engine & Transcriber>;
  readonly #clock: Clock;
  readonly #onModelWait: OnModelWait;

  constructor(model: ResidentModel<Engine & Transcriber>, clock: Clock, onModelWait: OnModelWait = () => {}) {
    this.#model = model;
    this.#clock = clock;
    this.#onModelWait = onModelWait;
  }

  transcribe(...[path, signal, ...rest]: Parameters<Transcriber["transcribe"]>): Promise<FileTranscript> {
    return withLease(this.#model, signal, { clock: this.#clock, onModelWait: this.#onModelWait }, (engine) =>
      engine.transcribe(path, signal, ...rest),
    );
  }
}

/** Waits for the model, works with it, and gives it back in whatever way the work ends. */
async function withLease<E extends Engine, T>(
  model: ResidentModel<E>,
  signal: AbortSignal,
  told: { readonly clock: Clock; readonly onModelWait: OnModelWait },
  work: (engine: E) => Promise<T>,
): Promise<T> {
  const askedAtMs = told.clock.nowMs();
  let lease: Lease<E>;
  try {
    lease = await model.acquire(signal);
  } finally {
    told.onModelWait(told.clock.nowMs() - askedAtMs);
  }
  try {
    return await work(lease.engine);
  } finally {
    lease.release();
  }
}
