import "../models/no-telemetry.js";
import type { Piscina } from "piscina";
import { type Reading, type ReadingTask, readWords } from "../../core/domain/text/display/reading.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";
import type { PunctuationManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import type { ThreadTask } from "./worker.js";

const ENTRY = new URL("./worker.js", import.meta.url);
/** Time without work after which the thread ends; the shipped model loads quickly. */
const IDLE_MS = 60_000;
const QUEUE_CAPACITY = 10_000;

export interface ReadingThreadOptions {
  /** Called when the thread fails a task, which is then done without the model. */
  readonly onFailure: (error: unknown) => void;
  /** The model that chooses marks and capitals; by default the shipped one. */
  readonly model?: ModelPackage<PunctuationManifest>;
  /** Time without work after which the thread ends and its model is released. */
  readonly idleMs?: number;
  readonly entry?: URL;
}

/** Reads transcripts with the punctuation model, in a thread that starts with its first task. */
export class ReadingThread implements TranscriptReader {
  readonly #options: ReadingThreadOptions;
  #opened: Promise<Piscina> | null = null;
  /** Functions that reject the tasks of the current thread. */
  readonly #rejects = new Set<(error: unknown) => void>();

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
  }

  async read(task: ReadingTask): Promise<Reading> {
    try {
      this.#opened ??= this.#open();
      return (await this.#run(await this.#opened, task)) as Reading;
    } catch (error) {
      this.#options.onFailure(error);
      return readWords(task, null);
    }
  }

  async stop(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await (await opened)?.close();
  }

  #run(pool: Piscina, task: ReadingTask): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject);
      pool
        .run({ task, model: this.#options.model ?? null } satisfies ThreadTask)
        .then(resolve, reject)
        .finally(() => this.#rejects.delete(reject));
    });
  }

  async #open(): Promise<Piscina> {
    // Load it on demand: most processes never read a transcript.
    const { Piscina: Pool } = await import("piscina");
    const pool = new Pool({
      filename: (this.#options.entry ?? ENTRY).href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: this.#options.idleMs ?? IDLE_MS,
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
