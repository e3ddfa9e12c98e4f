import type { SpeakerTurn } from "../../core/domain/diarization/speaker-turns.js";
import { type SpeakerWindow, type WindowShape, windowCount } from "../../core/domain/diarization/windows.js";
import type { SpeakerTask, WavSource } from "../../native/threads/protocol.js";
import { samplesAt } from "../../native/transcription/file-audio.js";
import { FILE_TASK_CELL } from "../../native/transcription/task-cell.js";

/** Windows of a task, few enough that tasks of other files run in between. */
const TASK_WINDOWS = 4;

export interface SpeakerRunOptions {
  readonly source: WavSource;
  readonly shape: WindowShape;
  /** Null if the number of speakers is unknown. */
  readonly speakerCount: number | null;
  /** Number of concurrent tasks. */
  readonly width: number;
  /** Runs a task when it is this file's turn. */
  readonly run: <T>(task: SpeakerTask) => Promise<T>;
  /** Called with the finished share, 0 to 1. */
  readonly onProgress: (share: number) => void;
}

/** Finds the speakers of one file, a few windows per task. */
export class SpeakerRun {
  /** Rejects when a task fails, or after `giveUp`, once no worker is busy with it. */
  readonly turns: Promise<readonly SpeakerTurn[]>;
  readonly #options: SpeakerRunOptions;
  readonly #cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #windows: SpeakerWindow[] = [];
  readonly #sampleCount: number;
  readonly #count: number;
  #next = 0;
  #done = 0;

  constructor(options: SpeakerRunOptions) {
    this.#options = options;
    this.#sampleCount = samplesAt(options.source, options.shape.sampleRateHz);
    this.#count = windowCount(this.#sampleCount, options.shape);
    this.turns = this.#find();
    // The promise may reject before its owner awaits it.
    this.turns.catch(() => {});
  }

  giveUp(): void {
    Atomics.store(new Int32Array(this.#cell), 0, FILE_TASK_CELL.giveUp);
  }

  async #find(): Promise<readonly SpeakerTurn[]> {
    const lanes = Array.from({ length: this.#options.width }, () => this.#hear());
    const outcomes = await Promise.allSettled(lanes);
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const { speakerCount, run } = this.#options;
    return run({
      ...{ type: "group-speakers", windows: this.#windows, speakerCount },
      ...{ sampleCount: this.#sampleCount, cell: this.#cell },
    });
  }

  /** Processes the next windows until all are done. */
  async #hear(): Promise<void> {
    const { source, run, onProgress } = this.#options;
    while (this.#next < this.#count) {
      const firstWindow = this.#next;
      const endWindow = Math.min(firstWindow + TASK_WINDOWS, this.#count);
      this.#next = endWindow;
      const task = { type: "hear-speakers", source, firstWindow, endWindow, cell: this.#cell } as const;
      try {
        const heard = await run<readonly SpeakerWindow[]>(task);
        for (const [at, window] of heard.entries()) this.#windows[firstWindow + at] = window;
      } catch (error) {
        this.giveUp();
        throw error;
      }
      this.#done += endWindow - firstWindow;
      onProgress(this.#done / this.#count);
    }
  }
}
