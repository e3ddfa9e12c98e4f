import "../models/no-telemetry.js";
import type { Piscina } from "piscina";
import { type Reading, type ReadingTask, readWords } from "../../core/domain/text/display/reading.js";
import type { TranscriptReader } from "../../core/ports/transcript-reader.js";

const ENTRY = new URL("./worker.js", import.meta.url);
/** The thread ends after this long without work. */
const IDLE_MS = 60_000;
const QUEUE_CAPACITY = 10_000;

export interface ReadingThreadOptions {
  /** Called when the thread has failed at a task, which was then done without the model. */
  readonly onFailure: (error: unknown) => void;
  /** Entry of the thread. */
  readonly entry?: URL;
}

/** Reads transcripts with the punctuation model, in a thread that starts with its first task. */
export class ReadingThread implements TranscriptReader {
  readonly #options: ReadingThreadOptions;
  #pool: Promise<Piscina> | null = null;

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
  }

  async read(task: ReadingTask): Promise<Reading> {
    try {
      this.#pool ??= openPool(this.#options.entry ?? ENTRY);
      return (await (await this.#pool).run(task)) as Reading;
    } catch (error) {
      this.#options.onFailure(error);
      return readWords(task, null);
    }
  }

  async stop(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await (await pool)?.close();
  }
}

async function openPool(entry: URL): Promise<Piscina> {
  // Loaded on demand: most processes never read a transcript.
  const { Piscina: Pool } = await import("piscina");
  return new Pool({
    filename: entry.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_MS,
    concurrentTasksPerWorker: 1,
    maxQueue: QUEUE_CAPACITY,
  });
}
