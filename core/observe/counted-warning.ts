import type { Log } from "./log.js";

const EVERY_MS = 1_000;

/**
 * Logs an event that may occur at any rate: at most one line a second, with the number of events since the
 * last line.
 */
export class CountedWarning {
  readonly #log: Log;
  readonly #message: string;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log, message: string) {
    this.#log = log;
    this.#message = message;
  }

  /** Counts an event; the first is logged immediately. */
  note(): void {
    this.#count++;
    if (this.#timer === undefined) this.#write();
  }

  /** Logs the events since the last line. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#count > 0) this.#log.warn({ count: this.#count }, this.#message);
    this.#count = 0;
  }

  #write(): void {
    this.#log.warn({ count: this.#count }, this.#message);
    this.#count = 0;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#count > 0) this.#write();
    }, EVERY_MS);
  }
}
