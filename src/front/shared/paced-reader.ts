import type { ReaderPace } from "../../../core/ports/front.js";

/** How one reader keeps its pace. Only time in which we wait for it counts. */
export class PacedReader {
  readonly #pace: ReaderPace;
  #takenBytes = 0;
  #waitedMs = 0;

  constructor(pace: ReaderPace) {
    this.#pace = pace;
  }

  took(bytes: number): void {
    this.#takenBytes += bytes;
  }

  waited(milliseconds: number): void {
    this.#waitedMs += milliseconds;
  }

  /** How long its next bytes may take; 0 for a reader that is too slow. */
  get leftMs(): number {
    const dueMs = this.#pace.graceMs + (1_000 * this.#takenBytes) / this.#pace.leastBytesPerS;
    return Math.max(0, dueMs - this.#waitedMs);
  }
}
