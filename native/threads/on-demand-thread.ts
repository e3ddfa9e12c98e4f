import type { Piscina } from "piscina";

/** Time without work after which a thread ends. */
const IDLE_MS = 60_000;
const QUEUE_CAPACITY = 10_000;

export interface OnDemandThreadOptions {
  readonly idleMs?: number | undefined;
}

/** A thread that starts with its first task, runs one task at a time, and ends when it is idle. */
export class OnDemandThread {
  readonly #entry: URL;
  readonly #idleMs: number;
  #opened: Promise<Piscina> | null = null;
  /** Functions that reject the tasks of the current thread. */
  readonly #rejects = new Set<(error: unknown) => void>();

  /** @param entry a module whose default export runs a task */
  constructor(entry: URL, { idleMs = IDLE_MS }: OnDemandThreadOptions = {}) {
    this.#entry = entry;
    this.#idleMs = idleMs;
  }

  /** Runs a task; a stopped thread starts again. */
  async run(task: unknown): Promise<unknown> {
    this.#opened ??= this.#open();
    const pool = await this.#opened;
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject);
      pool
        .run(task)
        .then(resolve, reject)
        .finally(() => this.#rejects.delete(reject));
    });
  }

  async stop(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await (await opened)?.close();
  }

  async #open(): Promise<Piscina> {
    // Load it on demand: most processes never need such a thread.
    const { Piscina: Pool } = await import("piscina");
    const pool = new Pool({
      filename: this.#entry.href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: this.#idleMs,
      concurrentTasksPerWorker: 1,
      maxQueue: QUEUE_CAPACITY,
    });
    // A thread that cannot start ends without taking a task, so its tasks would wait forever.
    return pool.once("error", (error) => {
      this.#opened = null;
      for (const reject of this.#rejects) reject(error);
      void pool.destroy().catch(() => {});
    });
  }
}
