import type { SpeakerTurn } from "../../core/domain/diarization/speaker-turns.js";
import { type SpeakerWindow, type WindowShape, windowCount } from "../../core/domain/diarization/windows.js";
import type { ServiceError } from "../../core/domain/errors.js";
import { deferred } from "../../core/kernel/deferred.js";
import type { Span } from "../../core/ports/span.js";
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
  /** Nobody waits for it: other files go first, and interrupt its tasks. */
  readonly isLater?: boolean;
  /** Called with the finished share, 0 to 1. */
  readonly onProgress: (share: number) => void;
  /** Called when the file is given up, with the cell that tells workers so. */
  readonly onGiveUp?: (cell: SharedArrayBuffer) => void;
  readonly span?: Span | undefined;
}

/** The speakers of one file in progress in the workers: some windows per task, then one task groups them. */
export class SpeakerRun {
  /** Rejects when a task fails, or after `giveUp`, once no worker is busy with it. */
  readonly turns: Promise<readonly SpeakerTurn[]>;
  readonly #options: SpeakerRunOptions;
  readonly #cell = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #windows: SpeakerWindow[] = [];
  /** Interrupted tasks, to be run again. */
  readonly #interrupted: SpeakerTask[] = [];
  readonly #outcome = deferred<readonly SpeakerTurn[]>();
  readonly #sampleCount: number;
  readonly #count: number;
  #next = 0;
  #heard = 0;
  #isGrouping = false;
  #atWork = 0;
  #failure: ServiceError | null = null;
  #isOver = false;
  /** Its tasks were asked to stop; it starts no other until they have. */
  #isYielding = false;

  constructor(options: SpeakerRunOptions) {
    this.#options = options;
    this.#sampleCount = samplesAt(options.source, options.shape.sampleRateHz);
    this.#count = windowCount(this.#sampleCount, options.shape);
    this.turns = this.#outcome.promise;
    // The owner may await it later than it fails.
    this.turns.catch(() => {});
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isLater(): boolean {
    return this.#options.isLater === true;
  }

  get span(): Span | undefined {
    return this.#options.span;
  }

  /** True if another task may start now. */
  get canStart(): boolean {
    if (this.#failure !== null || this.#isYielding) return false;
    if (this.#interrupted.length > 0 || this.#next < this.#count) return true;
    return this.#heard === this.#count && !this.#isGrouping;
  }

  /** Takes the next task. */
  take(): SpeakerTask {
    this.#atWork++;
    const again = this.#interrupted.shift();
    if (again !== undefined) return again;
    const { source, speakerCount } = this.#options;
    const cell = this.#cell;
    if (this.#next === this.#count) {
      this.#isGrouping = true;
      const sampleCount = this.#sampleCount;
      return { type: "group-speakers", windows: this.#windows, sampleCount, speakerCount, cell };
    }
    const firstWindow = this.#next;
    this.#next = Math.min(firstWindow + TASK_WINDOWS, this.#count);
    return { type: "hear-speakers", source, firstWindow, endWindow: this.#next, cell };
  }

  heard(firstWindow: number, windows: readonly SpeakerWindow[]): void {
    this.#atWork--;
    for (const [at, window] of windows.entries()) this.#windows[firstWindow + at] = window;
    this.#heard += windows.length;
    if (this.#failure === null) this.#options.onProgress(this.#heard / this.#count);
    this.#advance();
  }

  grouped(turns: readonly SpeakerTurn[]): void {
    this.#atWork--;
    this.#isOver = true;
    if (this.#failure === null) this.#outcome.resolve(turns);
    else this.#outcome.reject(this.#failure);
  }

  /** Interrupts its tasks within their next window, for a file that goes first. */
  yieldWorkers(): number {
    if (this.#atWork === 0 || this.#failure !== null) return this.#atWork;
    this.#isYielding = true;
    this.#set(FILE_TASK_CELL.giveUp);
    return this.#atWork;
  }

  /** Takes back a task that was interrupted. False if its failure has another reason. */
  takeBack(task: SpeakerTask, { code }: ServiceError): boolean {
    if (!this.#isYielding || this.#failure !== null || code !== "CANCELLED") return false;
    this.#atWork--;
    this.#interrupted.push(task);
    this.#advance();
    return true;
  }

  /** Called when a task has failed. */
  failed(error: ServiceError): void {
    this.#atWork--;
    this.giveUp(error);
  }

  /** Ends the run as soon as no worker is busy with it; the first reason counts. */
  giveUp(error: ServiceError): void {
    if (this.#isOver) return;
    this.#failure ??= error;
    this.#set(FILE_TASK_CELL.giveUp);
    this.#options.onGiveUp?.(this.#cell);
    this.#advance();
  }

  #advance(): void {
    if (this.#isOver || this.#atWork > 0) return;
    if (this.#failure !== null) {
      this.#isOver = true;
      this.#outcome.reject(this.#failure);
    } else if (this.#isYielding) {
      this.#isYielding = false;
      this.#set(FILE_TASK_CELL.goOn);
    }
  }

  #set(value: number): void {
    Atomics.store(new Int32Array(this.#cell), 0, value);
  }
}
