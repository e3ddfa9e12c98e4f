import "../models/no-telemetry.js";
import type { TimedWord } from "../../core/domain/decoding/words.js";
import { pausesAfter } from "../../core/domain/text/display/pauses.js";
import { type Reading, type ReadingTask, readWords } from "../../core/domain/text/display/reading.js";
import { certainStretch } from "../../core/domain/text/display/text-windows.js";
import type { GrowingText, TranscriptReader } from "../../core/ports/transcript-reader.js";
import type { PunctuationManifest } from "../models/manifest.js";
import type { ModelPackage } from "../models/package.js";
import { OnDemandThread, type OnDemandThreadOptions } from "../threads/on-demand-thread.js";
import type { ReadingWork, ThreadTask } from "./worker.js";

const ENTRY = new URL("./worker.js", import.meta.url);

export interface ReadingThreadOptions extends OnDemandThreadOptions {
  /** Called when the thread fails a task, which is then done without the model. */
  readonly onFailure: (error: unknown) => void;
  /** The model that chooses marks and capitals; by default the shipped one. */
  readonly model?: ModelPackage<PunctuationManifest>;
  readonly entry?: URL;
}

/** Reads transcripts with the punctuation model, in a thread that starts with its first task. */
export class ReadingThread implements TranscriptReader {
  readonly #options: ReadingThreadOptions;
  readonly #thread: OnDemandThread;
  #nextText = 0;

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
    this.#thread = new OnDemandThread(options.entry ?? ENTRY, options);
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

  stop(): Promise<void> {
    return this.#thread.stop();
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

  #run(work: ReadingWork): Promise<unknown> {
    return this.#thread.run({ ...work, model: this.#options.model ?? null } satisfies ThreadTask);
  }
}
