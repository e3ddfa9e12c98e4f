import type { TestContext } from "node:test";

/** A timer that runs when the test fires it. `refresh` restarts its delay, as in Node. */
class ManualTimer {
  readonly #timers: ManualTimers;
  readonly callback: () => void;
  readonly #delayMs: number;
  dueAtMs = 0;

  constructor(timers: ManualTimers, callback: () => void, delayMs: number) {
    this.#timers = timers;
    this.callback = callback;
    this.#delayMs = delayMs;
    this.refresh();
  }

  refresh(): this {
    this.dueAtMs = this.#timers.nowMs + this.#delayMs;
    return this;
  }
}

/**
 * Replaces `setTimeout` and `clearTimeout` during one test. The mock timers of Node 20 ignore `refresh`,
 * which idle timers depend on.
 */
export class ManualTimers {
  nowMs = 0;
  readonly #pending = new Set<ManualTimer>();

  static install(t: TestContext): ManualTimers {
    const timers = new ManualTimers();
    const set = (callback: () => void, delayMs: number) => timers.#add(callback, delayMs);
    const clear = (timer: ManualTimer | undefined) => timer !== undefined && timers.#pending.delete(timer);
    t.mock.method(globalThis, "setTimeout", set as unknown as typeof setTimeout);
    t.mock.method(globalThis, "clearTimeout", clear as unknown as typeof clearTimeout);
    return timers;
  }

  /** The number of timers that have not run yet. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Advances the time and runs the timers that are due, in order. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (let timer = this.#nextDue(untilMs); timer !== undefined; timer = this.#nextDue(untilMs)) {
      this.nowMs = timer.dueAtMs;
      this.#pending.delete(timer);
      timer.callback();
    }
    this.nowMs = untilMs;
  }

  #add(callback: () => void, delayMs: number): ManualTimer {
    const timer = new ManualTimer(this, callback, delayMs);
    this.#pending.add(timer);
    return timer;
  }

  #nextDue(untilMs: number): ManualTimer | undefined {
    const due = [...this.#pending].filter((timer) => timer.dueAtMs <= untilMs);
    return due.sort((a, b) => a.dueAtMs - b.dueAtMs)[0];
  }
}
