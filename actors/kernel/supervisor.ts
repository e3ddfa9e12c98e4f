/** Something with a life of its own, owned by a supervisor. */
export interface Child {
  /** Settles when the child has ended: null after `stop`, else the reason. Never rejects. */
  readonly ended: Promise<Error | null>;
  /** Asks the child to end and settles when it has. May be called twice. */
  stop(): Promise<void>;
}

export interface ChildSpec<C extends Child> {
  readonly id: string;
  /** Settles once the child is ready to serve. */
  readonly start: () => Promise<C>;
  readonly maxRestarts: number;
  readonly windowMs: number;
  /** The end of a child that has served this long costs nothing of the budget; every end counts without it. */
  readonly provenAfterMs?: number;
  readonly onUp: (child: C) => void;
  /** The child ended by itself; a restart follows unless the budget is spent. */
  readonly onDown: (reason: Error) => void;
  /** Past the restart budget: the supervisor has stopped and its owner decides. */
  readonly onGiveUp: (reason: Error) => void;
}

/** Counts restarts in a sliding window. Pure: the caller brings the time. */
export class RestartBudget {
  readonly #maxRestarts: number;
  readonly #windowMs: number;
  #restartsAtMs: number[] = [];

  constructor(options: { readonly maxRestarts: number; readonly windowMs: number }) {
    this.#maxRestarts = options.maxRestarts;
    this.#windowMs = options.windowMs;
  }

  /** Takes one restart out of the budget; false when the window holds `maxRestarts` already. */
  take(nowMs: number): boolean {
    this.#restartsAtMs = this.#restartsAtMs.filter((atMs) => nowMs - atMs < this.#windowMs);
    if (this.#restartsAtMs.length >= this.#maxRestarts) return false;
    this.#restartsAtMs.push(nowMs);
    return true;
  }
}

/** Keeps one child running: restarts it when it ends by itself, within a budget. */
export class Supervisor<C extends Child> {
  readonly #spec: ChildSpec<C>;
  readonly #nowMs: () => number;
  readonly #budget: RestartBudget;
  #child: C | null = null;
  #isStopping = false;
  #starting: Promise<void> = Promise.resolve();

  constructor(spec: ChildSpec<C>, nowMs: () => number) {
    this.#spec = spec;
    this.#nowMs = nowMs;
    this.#budget = new RestartBudget(spec);
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
      const servedMs = this.#nowMs() - upAtMs;
      const isProven = servedMs >= (this.#spec.provenAfterMs ?? Number.POSITIVE_INFINITY);
      this.#starting = this.#restart(reason, isProven);
    });
  }

  async #restart(reason: Error, isProven: boolean): Promise<void> {
    let lastReason = reason;
    for (let isFree = isProven; !this.#isStopping; isFree = false) {
      if (!isFree && !this.#budget.take(this.#nowMs())) {
        this.#isStopping = true;
        this.#spec.onGiveUp(lastReason);
        return;
      }
      try {
        await this.#startChild();
        return;
      } catch (error) {
        // A start that fails counts against the same budget, so a broken model file does not spin for ever.
        lastReason = error instanceof Error ? error : new Error(String(error));
      }
    }
  }
}
