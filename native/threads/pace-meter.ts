import type { LivePace } from "./protocol.js";

const REPORT_EVERY_MS = 1_000;
/** Buffer size, more than the number of steps possible in a second. */
const CAPACITY = 2_048;

/** Measures how a live worker spends its time, and reports it about every second while it works. */
export class PaceMeter {
  readonly #runMs: () => number;
  readonly #post: (pace: LivePace) => void;
  readonly #stepsMs = new Float32Array(CAPACITY);
  #stepCount = 0;
  #reportedAtMs = performance.now();
  /** Null before the first round: warm-up does not count. */
  #reportedRunMs: number | null = null;
  #busyMs = 0;
  #awakeSinceMs: number | null = null;

  /** @param runMs milliseconds inside runs of the graphs so far */
  constructor(runMs: () => number, post: (pace: LivePace) => void) {
    this.#runMs = runMs;
    this.#post = post;
  }

  step(stepMs: number): void {
    if (this.#stepCount < CAPACITY) this.#stepsMs[this.#stepCount++] = stepMs;
  }

  /** Marks the start of a round. */
  wake(): void {
    const nowMs = performance.now();
    if (this.#awakeSinceMs !== null) this.#busyMs += nowMs - this.#awakeSinceMs;
    this.#awakeSinceMs = nowMs;
    this.#reportedRunMs ??= this.#runMs();
    if (nowMs - this.#reportedAtMs >= REPORT_EVERY_MS && this.#stepCount > 0) this.#report(nowMs);
  }

  /** Marks the start of idle time. */
  sleep(): void {
    if (this.#awakeSinceMs !== null) this.#busyMs += performance.now() - this.#awakeSinceMs;
    this.#awakeSinceMs = null;
  }

  #report(nowMs: number): void {
    const runMs = this.#runMs();
    const stepsMs = this.#stepsMs.slice(0, this.#stepCount);
    this.#post({ type: "pace", stepsMs, busyMs: this.#busyMs, runMs: runMs - (this.#reportedRunMs ?? 0) });
    this.#reportedAtMs = nowMs;
    this.#reportedRunMs = runMs;
    this.#busyMs = 0;
    this.#stepCount = 0;
  }
}
