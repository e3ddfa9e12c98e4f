import { deferred } from "./deferred.js";
import { settlesWithin } from "./readiness.js";

/** A worker, thread or process that a supervisor owns and that can end by itself. */
export interface Child {
  /** Settles when the child has ended: null after `stop`, else the reason. Never rejects. */
  readonly ended: Promise<Error | null>;
  /** Asks the child to end and settles when it has. May be called twice. */
  stop(): Promise<void>;
}

/** The end of a child, or of a failed start. */
export interface ChildEnd {
  readonly reason: Error;
  /** Time for which it was running; 0 for a failed start. */
  readonly servedMs: number;
}

export interface RestartPause {
  readonly firstMs: number;
  readonly longestMs: number;
}

export interface ChildSpec<C extends Child> {
  readonly id: string;
  /** Settles once the child is ready to serve. */
  readonly start: () => Promise<C>;
  /** {@link RESTART_LIMITS} when absent. */
  readonly limits?: RestartLimits;
  /** Called for every end and every failed restart; an excused one does not use up the restart budget. */
  readonly isExcused?: (end: ChildEnd) => boolean | Promise<boolean>;
  /**
   * Pause before restarts: none before the first, then `firstMs`, doubled up to `longestMs`. Starts over once
   * a child has served longer than the restart window.
   */
  readonly pause?: RestartPause;
  readonly onUp: (child: C) => void;
  /** The child ended by itself; a restart follows unless the budget is used up. */
  readonly onDown: (reason: Error) => void;
  /** The restart budget is used up: the supervisor has stopped, and its owner decides what to do. */
  readonly onGiveUp: (reason: Error) => void;
}

export interface RestartLimits {
  readonly maxRestarts: number;
  readonly windowMs: number;
}

/** Limits of every supervised part: workers, front threads, the private database. */
export const RESTART_LIMITS: RestartLimits = { maxRestarts: 5, windowMs: 30_000 };

/** Keeps one child running: restarts it when it ends by itself, within a budget. */
export class Supervisor<C extends Child> {
  readonly #spec: ChildSpec<C>;
  readonly #nowMs: () => number;
  readonly #limits: RestartLimits;
  readonly #budget: RestartBudget;
  /** Resolved by `stop`, which ends a pause. */
  readonly #stopped = deferred<void>();
  #pauseMs = 0;
  #child: C | null = null;
  #isStopping = false;
  #starting: Promise<void> = Promise.resolve();

  constructor(spec: ChildSpec<C>, nowMs: () => number) {
    this.#spec = spec;
    this.#nowMs = nowMs;
    this.#limits = spec.limits ?? RESTART_LIMITS;
    this.#budget = new RestartBudget(this.#limits);
  }

  /** The running child, or null while it is down. */
  get child(): C | null {
    return this.#child;
  }

  /** Starts the child for the first time; the caller handles a failure. */
  async start(): Promise<void> {
    const first = this.#startChild();
    // `stop` waits for a start in progress, whether it succeeds or not.
    this.#starting = first.catch(() => undefined);
    await first;
  }

  /** Ends the child for good. May be called twice. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopped.resolve();
    await this.#starting;
    await this.#child?.stop();
    this.#child = null;
  }

  async #startChild(): Promise<void> {
    const child = await this.#spec.start();
    if (this.#isStopping) await child.stop();
    else this.#adopt(child);
  }

  #adopt(child: C): void {
    this.#child = child;
    const upAtMs = this.#nowMs();
    this.#spec.onUp(child);
    void child.ended.then((reason) => {
      if (this.#child === child) this.#child = null;
      if (this.#isStopping || reason === null) return;
      this.#spec.onDown(reason);
      this.#starting = this.#restart({ reason, servedMs: this.#nowMs() - upAtMs });
    });
  }

  async #restart(first: ChildEnd): Promise<void> {
    for (let end = first; ; ) {
      const isExcused = this.#spec.isExcused !== undefined && (await this.#spec.isExcused(end));
      if (this.#isStopping) return;
      if (!isExcused && !this.#budget.take(this.#nowMs())) {
        this.#isStopping = true;
        this.#spec.onGiveUp(end.reason);
        return;
      }
      await this.#pause(end);
      if (this.#isStopping) return;
      try {
        await this.#startChild();
        return;
      } catch (error) {
        // A failed start counts against the same budget, so that a broken model file does not cause endless
        // restarts.
        end = { reason: error instanceof Error ? error : new Error(String(error)), servedMs: 0 };
      }
    }
  }

  async #pause({ servedMs }: ChildEnd): Promise<void> {
    const { pause } = this.#spec;
    if (pause === undefined) return;
    if (servedMs > this.#limits.windowMs) this.#pauseMs = 0;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(Math.max(2 * pauseMs, pause.firstMs), pause.longestMs);
    if (pauseMs > 0) await settlesWithin(this.#stopped.promise, pauseMs);
  }
}

/** Counts restarts in a sliding window. Pure: the caller passes the time. */
export class RestartBudget {
  readonly #limits: RestartLimits;
  #restartsAtMs: number[] = [];

  constructor(limits: RestartLimits = RESTART_LIMITS) {
    this.#limits = limits;
  }

  /** Uses one restart; false when the window already holds `maxRestarts`. */
  take(nowMs: number): boolean {
    const { maxRestarts, windowMs } = this.#limits;
    this.#restartsAtMs = this.#restartsAtMs.filter((atMs) => nowMs - atMs < windowMs);
    if (this.#restartsAtMs.length >= maxRestarts) return false;
    this.#restartsAtMs.push(nowMs);
    return true;
  }
}
