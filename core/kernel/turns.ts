/**
 * Turns of the event loop for work in slices: each turn belongs to one waiter, in the order they came. With a turn each
 * in the same round of the loop, as `setImmediate` gives them, the slices of many would be one long delay for all others.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Settles in a turn in which no other waiter works. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#give());
    });
  }

  #give(): void {
    const resolve = this.#waiting.shift();
    // Asked for in this round, the next one comes in the round after.
    if (this.#waiting.length > 0) setImmediate(() => this.#give());
    resolve?.();
  }
}
