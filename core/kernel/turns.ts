/**
 * Gives one waiter at a time a turn of the event loop, for work that is cut into slices. With plain
 * `setImmediate`, the slices of all waiters would run in the same iteration and add up to one long delay.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a turn of the event loop that no other waiter gets. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#give());
    });
  }

  #give(): void {
    const resolve = this.#waiting.shift();
    // An immediate that is set now runs in the next iteration.
    if (this.#waiting.length > 0) setImmediate(() => this.#give());
    resolve?.();
  }
}
