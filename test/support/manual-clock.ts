import type { Clock } from "../../core/ports/clock.js";

/** A clock that stands until it is told to move. */
export class ManualClock implements Clock {
  #nowMs = 1_000;

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
