import { settlesWithin } from "./readiness.js";
import { RESTART_LIMITS, RestartBudget, type RestartLimits } from "./restart-budget.js";

/** Something with a life of its own, owned by a supervisor. */
export interface Child {
  /** Settles when the child has ended: null after `stop`, else the reason. Never rejects. */
  readonly ended: Promise<Error | null>;
  /** Asks the child to end and settles when it has. May be called twice. */
  stop(): Promise<void>;
}

/** How a child, or its start, came to an end. */
export interface ChildEnd {
  readonly reason: Error;
  /** Since it was up; 0 for a start that failed. */
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
  /** Asked of every end and of every restart that fails: one that says nothing against the child costs no restart. */
  readonly isExcused?: (end: ChildEnd) => boolean | Promise<boolean>;
  /** Before restarts: none at first, then `firstMs`, doubled up to `longestMs` until a child has served a whole window. */
  readonly pause?: RestartPause;
  readonly onUp: (child: C) => void;
  /** The child ended by itself; a restart follows unless the budget is spent. */
  readonly onDown: (reason: Error) => void;
  /** Past the restart budget: the supervisor has stopped and its owner decides. */
  readonly onGiveUp: (reason: Error) => void;
}

/** Keeps one child running: restarts it when it ends by itself, within a budget. */
export class Supervisor<C extends Child> {
  readonly #spec: ChildSpec<C>;
  readonly #nowMs: () => number;
  readonly #limits: RestartLimits;
  readonly #budget: RestartBudget;
  /** Settles with `stop`, which ends a pause. */
  readonly #stopped: Promise<void>;
  #tellStopped: () => void = () => {};
  #pauseMs = 0;
  #child: C | null = null;
  #isStopping = false;
  #starting: Promise<void> = Promise.resolve();

  constructor(spec: ChildSpec<C>, nowMs: () => number) {
    this.#spec = spec;
    this.#nowMs = nowMs;
    this.#stopped = new Promise((resolve) => {
      this.#tellStopped = resolve;
    });
    this.#limits = spec.limits ?? RESTART_LIMITS;
    this.#budget = new RestartBudget(this.#limits);
  }

  /** The running child, or null while it is down. */
  get child(): C | null {
    return this.#child;
  }

  /** Starts the child for the first time; a failure here is the caller's to handle. */
  async start(): Promise<void> {
    const first = this.#startChild();
    // `stop` waits for a start in progress, whatever becomes of it.
    this.#starting = first.catch(() => undefined);
    await first;
  }

  /** Ends the child and restarts nothing any more. May be called twice. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#tellStopped();
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
        // A start that fails counts against the same budget, so a broken model file does not spin for ever.
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
    if (pauseMs > 0) await settlesWithin(this.#stopped, pauseMs);
  }
}
