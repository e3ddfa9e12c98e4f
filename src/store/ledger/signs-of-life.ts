/** A running service, and its last sign of life in any form that changes with each. */
export interface LastSign {
  readonly id: string;
  readonly sign: string;
}

interface Seen {
  readonly sign: string;
  readonly sinceMs: number;
}

/**
 * Which services have fallen silent, as one observer hears them by its own monotonic clock: a sign that stays the same for
 * `silentMs`. What time the sign says does not matter, so a wall clock that jumps, in whichever direction, ends nobody and
 * keeps nobody alive.
 */
export class SignsOfLife {
  readonly #silentMs: number;
  readonly #seen = new Map<string, Seen>();

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** Takes the signs that are there now; returns those that are too old. */
  silentAmong(signs: readonly LastSign[], nowMs: number): LastSign[] {
    const ids = new Set(signs.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    return signs.filter(({ id, sign }) => {
      const seen = this.#seen.get(id);
      if (seen?.sign === sign) return nowMs - seen.sinceMs >= this.#silentMs;
      this.#seen.set(id, { sign, sinceMs: nowMs });
      return false;
    });
  }

  /** Nobody could be heard for a while: all get the time to give a sign. */
  forget(): void {
    this.#seen.clear();
  }
}
