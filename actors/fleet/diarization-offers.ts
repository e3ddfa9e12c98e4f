import type { Clock } from "../../core/ports/clock.js";
import type { Heartbeat } from "./heartbeats.js";

interface OffersParts {
  readonly cell: string;
  /** An engine that has ended may be replaced within this time. */
  readonly keptMs: number;
  readonly clock: Clock;
}

/** The models for diarization that engines of a cell have, from their heartbeats. */
export class DiarizationOffers {
  readonly #parts: OffersParts;
  /** When an engine last reported each model, by the hash of its manifest. */
  readonly #heardAtMs = new Map<string, number>();

  constructor(parts: OffersParts) {
    this.#parts = parts;
  }

  hear({ cell, diarization }: Heartbeat): void {
    if (cell === this.#parts.cell && diarization !== undefined)
      this.#heardAtMs.set(diarization, this.#parts.clock.nowMs());
  }

  /**
   * Returns whether a task may wait for an engine with the model. True while no engine is known: requests
   * wait for the first one.
   *
   * @param manifest hash of the model's manifest
   * @param known the latest heartbeats of engines
   */
  isOffered(manifest: string, known: readonly Heartbeat[]): boolean {
    const { cell, keptMs, clock } = this.#parts;
    const heardAtMs = this.#heardAtMs.get(manifest) ?? Number.NEGATIVE_INFINITY;
    return clock.nowMs() - heardAtMs < keptMs || !known.some((heartbeat) => heartbeat.cell === cell);
  }
}
