/** Something that runs for a client and can be asked to come to an end. */
export interface Work {
  /** The service stops: say so to the client and finish within the deadline. */
  goingAway(deadlineSeconds: number): void;
  /** Time is up. */
  stop(): void;
}

/** What runs for clients right now, so that the service can stop without cutting anybody off. */
export class RunningWork {
  readonly #works = new Set<Work>();
  #isDraining = false;
  #deadlineSeconds = 0;
  #onEmpty: (() => void) | null = null;

  get isDraining(): boolean {
    return this.#isDraining;
  }

  get size(): number {
    return this.#works.size;
  }

  /** Returns what to call when the work is over; calling it twice does nothing. */
  add(work: Work): () => void {
    this.#works.add(work);
    // It slipped in between the check and here.
    if (this.#isDraining) work.goingAway(this.#deadlineSeconds);
    return () => {
      if (this.#works.delete(work) && this.#works.size === 0) this.#onEmpty?.();
    };
  }

  /** Announces the end to all, and stops whatever is still there when the deadline has passed. */
  async drain(deadlineMs: number): Promise<void> {
    this.#isDraining = true;
    this.#deadlineSeconds = Math.ceil(deadlineMs / 1_000);
    for (const work of [...this.#works]) work.goingAway(this.#deadlineSeconds);
    await this.#empty(deadlineMs);
    for (const work of [...this.#works]) work.stop();
    // Stopped work still writes its last answer.
    await this.#empty(Math.min(deadlineMs, 1_000));
  }

  async #empty(withinMs: number): Promise<void> {
    if (this.#works.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onEmpty = null;
  }
}
