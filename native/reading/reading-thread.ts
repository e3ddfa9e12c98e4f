import "../models/no-telemetry.js";
import type { Piscina } from "piscina";
import type { TimedWord } from "../../core/domain/decoding/words.js";
import { pausesAfter } from "../../core/domain/text/display/pauses.js";
import { type Reading, type ReadingTask, readWords } from "../../core/domain/text/display/reading.js";
import { certainStretch } from "../../core/domain/text/display/text-windows.js";
import type { GrowingText, TranscriptReader } from "../../core/ports/transcript-reader.js";
import type { PunctuationManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import type { ReadingWork, ThreadTask } from "./worker.js";

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
  #nextText = 0;
  /** Functions that reject the tasks of the current thread. */
  readonly #rejects = new Set<(error: unknown) => void>();

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
  }

  read(task: ReadingTask): Promise<Reading> {
    return this.#read(task, null);
  }

  begin(): GrowingText {
    const text = this.#nextText++;
    const words: TimedWord[] = [];
    let nth = 0;
    return {
      add: (added) => {
        for (const word of added) words.push(word);
        for (let span = certainStretch(nth, words.length); span !== null; ) {
          this.#readAhead(text, nth, words.slice(span[0], span[1] + 1));
          span = certainStretch(++nth, words.length);
        }
      },
      read: (task) => this.#read(task, text),
    };
  }

  async stop(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    await (await opened)?.close();
  }

  async #read(task: ReadingTask, text: number | null): Promise<Reading> {
    try {
      return (await this.#run({ task, text })) as Reading;
    } catch (error) {
      this.#options.onFailure(error);
      return readWords(task, null);
    }
  }

  /** @param words of the stretch, and the one after it, before which the last pause ends */
  #readAhead(text: number, nth: number, words: readonly TimedWord[]): void {
    const pauses = pausesAfter(words).slice(0, -1);
    const stretch = { text, nth, words: words.slice(0, -1).map(({ word }) => word), pauses };
    // The text is read again when it is complete, and that reports the failure.
    this.#run({ stretch }).catch(() => {});
  }

  async #run(work: ReadingWork): Promise<unknown> {
    this.#opened ??= this.#open();
    const pool = await this.#opened;
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject);
      pool
        .run({ ...work, model: this.#options.model ?? null } satisfies ThreadTask)
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
