import type { Clock } from "../../core/ports/clock.js";

/** A clock that moves only when the test advances it. */
export class ManualClock implements Clock {
  #nowMs = 1_000;

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
