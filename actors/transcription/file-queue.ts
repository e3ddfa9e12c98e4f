import { ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Span } from "../../core/ports/span.js";
import type { DecodedPiece, FileAnswer, FileTask, HeardPart } from "../../native/threads/protocol.js";
import { FileRun, MIN_PARTS_HELD, type RunPiece } from "./file-run.js";
import { SpeakerRun } from "./speaker-run.js";

/** A pool of file workers, which runs each task on a free one. */
export interface FilePool {
  readonly workerCount: number;
  /** Workers with a model for diarization; all by default. */
  readonly speakerWorkerCount?: number;
  /** Frames of speech that fill a worker's largest run; absent if pieces run alone. */
  readonly runFrames?: number;
  /** Attempts at a task whose workers die, each on a different worker; 2 by default. */
  readonly mostAttempts?: number;
  /** @param spans spans of the task's files; a worker in another process continues their traces */
  run(task: FileTask, spans?: readonly Span[]): Promise<unknown>;
  /**
   * Notifies workers without shared memory that a file was given up. For other workers the cell says so.
   */
  gaveUp?(cell: SharedArrayBuffer): void;
  close(): Promise<void>;
}

/** Frames of speech in a decode task (40 s): long enough to be cheap, short enough to spread and cancel. */
const TASK_FRAMES = 1_000;
/** Most frames of a task that fills a run (160 s): one core runs a task's searches next to its graphs. */
const MAX_TASK_FRAMES = 4_000;
/** Number of parts in memory, 2.3 MB each: a few per worker, and enough for several files at a time. */
const partsHeld = (workerCount: number) => 4 * workerCount + 2 * MIN_PARTS_HELD;
const MAX_ATTEMPTS = 2;

/** Whether jobs make way until a client has sent its file, or until the engine has added it to the queue. */
type Expectation = "received" | "added";

/** The words or the speakers of a file. */
type Run = FileRun | SpeakerRun;

interface Work {
  readonly act: () => Promise<void>;
  readonly run: Run;
}

type Answered = { readonly answer: FileAnswer<unknown> } | { readonly lost: unknown };

/**
 * Runs files through the pool. Started files take turns, one task each, and pieces of several files share a
 * task. Other files wait, so memory does not grow with their number. Files that nobody waits for get only
 * workers that the others leave idle.
 */
export class FileQueue {
  readonly #pool: FilePool;
  readonly #log: Log;
  /** Started runs, in the order of their turns. */
  readonly #inTurn: Run[] = [];
  readonly #waiting: FileRun[] = [];
  #atWork = 0;
  #laterAtWork = 0;
  #speakersAtWork = 0;
  /** Number of files that jobs make way for. */
  readonly #expected: Record<Expectation, number> = { received: 0, added: 0 };

  constructor(pool: FilePool, log: Log) {
    this.#pool = pool;
    this.#log = log;
  }

  add(run: Run): void {
    // Speakers hold no parts in memory, and need not wait.
    if (run instanceof SpeakerRun) this.#inTurn.push(run);
    else this.#waiting.push(run);
    if (!run.isLater) this.#interruptLater();
    this.#pump();
  }

  /**
   * Keeps workers from files that nobody waits for, because another file is expected.
   * @returns a function that ends this; later calls of it do nothing
   */
  makeWay(until: Expectation): () => void {
    if (!this.#canInterrupt) return () => {};
    this.#expected[until]++;
    const most = this.#mostLaterAtWork;
    // A task may decode several pieces, so counting them could spare a file that must yield its workers.
    this.#interruptLater(most === 0 ? Number.POSITIVE_INFINITY : this.#laterAtWork - most);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#expected[until]--;
      this.#pump();
    };
  }

  /** Interrupts files that nobody waits for until about so many tasks end; all of them by default. */
  #interruptLater(tasks = Number.POSITIVE_INFINITY): void {
    if (!this.#canInterrupt) return;
    let ending = 0;
    for (const other of this.#inTurn) if (other.isLater && ending < tasks) ending += other.yieldWorkers();
  }

  /** Gives up a run; its promise rejects when no worker is busy with it any more. */
  giveUp(run: Run, error: ServiceError): void {
    run.giveUp(error);
    this.#pump();
  }

  /**
   * Runs one task, and repeats it if its worker dies. @throws {ServiceError} the task's failure,
   * `WORKER_LOST`
   */
  async run<T>(task: FileTask, span?: Span): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const answered = await this.#attempt(task, attempt, span === undefined ? [] : [span]);
      if ("lost" in answered) {
        if (attempt < this.#mostAttempts) continue;
        throw workerLost(answered.lost);
      }
      const { answer } = answered;
      if (answer.ok) return answer.value as T;
      throw new ServiceError(answer.code, answer.message);
    }
  }

  get #mostAttempts(): number {
    return this.#pool.mostAttempts ?? MAX_ATTEMPTS;
  }

  #pump(): void {
    while (this.#atWork < this.#pool.workerCount) {
      const work = this.#next();
      if (work === null) return;
      this.#count(work, 1);
      void work.act().then(() => {
        this.#count(work, -1);
        this.#pump();
      });
    }
  }

  #count({ run }: Work, change: 1 | -1): void {
    this.#atWork += change;
    if (run.isLater) this.#laterAtWork += change;
    if (run instanceof SpeakerRun) this.#speakersAtWork += change;
  }

  /** Returns work for a free worker, from the first run in turn with available work. */
  #next(): Work | null {
    this.#rotate();
    const inOrder = [...this.#inTurn].sort((a, b) => Number(a.isLater) - Number(b.isLater));
    for (const run of inOrder) {
      if (run.isLater && this.#laterAtWork >= this.#mostLaterAtWork) return null;
      const act = run instanceof SpeakerRun ? this.#speakerWorkOf(run) : this.#workOf(run);
      if (act === null) continue;
      // Its next turn comes after those of the others.
      this.#inTurn.splice(this.#inTurn.indexOf(run), 1);
      this.#inTurn.push(run);
      return { act, run };
    }
    return null;
  }

  /** Files whose words are in progress. */
  get #begun(): readonly FileRun[] {
    return this.#inTurn.filter((run) => run instanceof FileRun);
  }

  /** Nodes cannot resume a file that was interrupted: its running tasks end first there. */
  get #canInterrupt(): boolean {
    return this.#pool.gaveUp === undefined;
  }

  /**
   * One worker is left to a file that may come, and all of them to one that is about to be added. While others
   * are received or in progress, the core of one more worker is left to the threads that serve them.
   */
  get #mostLaterAtWork(): number {
    const { workerCount } = this.#pool;
    if (this.#expected.added > 0) return 0;
    const isBusy =
      this.#expected.received > 0 || [...this.#inTurn, ...this.#waiting].some(({ isLater }) => !isLater);
    return isBusy ? Math.max(0, workerCount - 2) : Math.max(1, workerCount - 1);
  }

  /** Removes finished files and starts waiting ones. */
  #rotate(): void {
    for (const list of [this.#inTurn, this.#waiting]) {
      for (let at = list.length - 1; at >= 0; at--) if (list[at]!.isOver) list.splice(at, 1);
    }
    const most = Math.floor(partsHeld(this.#pool.workerCount) / MIN_PARTS_HELD);
    this.#beginWhile(false, () => this.#begun.filter(({ isLater }) => !isLater).length < most);
    this.#beginWhile(true, () => this.#begun.length < most || !this.#begun.some(({ isLater }) => isLater));
  }

  #beginWhile(isLater: boolean, hasRoom: () => boolean): void {
    while (hasRoom()) {
      const at = this.#waiting.findIndex((run) => run.isLater === isLater);
      if (at < 0) return;
      this.#inTurn.push(...this.#waiting.splice(at, 1));
    }
  }

  /** Number of parts that each started file may have in memory; fewer could not hold a long piece. */
  get #partsOfEach(): number {
    return Math.max(MIN_PARTS_HELD, partsHeld(this.#pool.workerCount) / this.#begun.length);
  }

  #workOf(run: FileRun): (() => Promise<void>) | null {
    const { readyFrames } = run;
    const taskFrames = Math.min(MAX_TASK_FRAMES, Math.max(TASK_FRAMES, this.#pool.runFrames ?? 0));
    const canHear = run.canHear && (run.heldParts < this.#partsOfEach || run.isInterrupted);
    if (canHear && readyFrames < taskFrames) return () => this.#hear(run);
    if (readyFrames === 0) return null;
    const pieces = run.takePieces(taskFrames);
    for (const other of this.#begun) {
      const frames = pieces.reduce((sum, { piece }) => sum + piece.endFrame - piece.startFrame, 0);
      if (other !== run && other.isLater === run.isLater && other.readyFrames > 0 && frames < taskFrames) {
        pieces.push(...other.takePieces(taskFrames - frames));
      }
    }
    return () => this.#decode(pieces);
  }

  #speakerWorkOf(run: SpeakerRun): (() => Promise<void>) | null {
    const { speakerWorkerCount = this.#pool.workerCount } = this.#pool;
    // Tasks of seconds that cannot be interrupted: a job leaves the other workers to requests.
    const most = run.isLater && !this.#canInterrupt ? 1 : speakerWorkerCount;
    return run.canStart && this.#speakersAtWork < most ? () => this.#findSpeakers(run) : null;
  }

  async #findSpeakers(run: SpeakerRun): Promise<void> {
    const task = run.take();
    try {
      if (task.type === "hear-speakers") run.heard(task.firstWindow, await this.run(task, run.span));
      else run.grouped(await this.run(task, run.span));
    } catch (error) {
      if (!run.takeBack(task, error as ServiceError)) run.failed(error as ServiceError);
    }
  }

  async #hear(run: FileRun): Promise<void> {
    const work = run.hear();
    const { part, task } = work;
    const span = run.taskSpan("worker run", { task: "hear", part });
    try {
      run.heard(part, task, await this.run<HeardPart>(task, span));
    } catch (error) {
      if (!run.takeBack(work, error as ServiceError)) run.failed(error as ServiceError);
    } finally {
      span.end();
    }
  }

  /** If the worker dies, repeats the pieces of each file separately, since one file may be the cause. */
  async #decode(pieces: readonly RunPiece[]): Promise<void> {
    let groups: readonly (readonly RunPiece[])[] = [pieces];
    for (let attempt = 1; attempt <= this.#mostAttempts; attempt++) {
      const lost: RunPiece[] = [];
      const spans = new Map<FileRun, Span>(
        runsOf(groups.flat()).map((run) => {
          const own = pieces.filter((piece) => piece.run === run).length;
          return [run, run.taskSpan("worker run", { task: "decode", pieces: own, attempt })];
        }),
      );
      for (const group of groups) {
        const task = { type: "decode", pieces: group.map(({ piece }) => piece) } as const;
        const answered = await this.#attempt(
          task,
          attempt,
          runsOf(group).map((run) => spans.get(run)!),
        );
        if (!("lost" in answered)) settle(group, answered.answer);
        else if (attempt < this.#mostAttempts) lost.push(...group);
        else for (const { run } of group) run.failed(workerLost(answered.lost));
      }
      for (const span of spans.values()) span.end();
      groups = runsOf(lost).map((run) => lost.filter((piece) => piece.run === run));
    }
  }

  async #attempt(task: FileTask, attempt: number, spans: readonly Span[]): Promise<Answered> {
    try {
      return { answer: (await this.#pool.run(task, spans)) as FileAnswer<unknown> };
    } catch (error) {
      // Failures of the task itself are values; an exception means that the worker is lost.
      this.#log.error({ task: task.type, attempt, err: error }, "file worker ended");
      return { lost: error };
    }
  }
}

function runsOf(pieces: readonly RunPiece[]): readonly FileRun[] {
  return [...new Set(pieces.map(({ run }) => run))];
}

function settle(pieces: readonly RunPiece[], answer: FileAnswer<unknown>): void {
  for (const [at, piece] of pieces.entries()) {
    const { run, index } = piece;
    const outcome = answer.ok ? (answer.value as readonly FileAnswer<DecodedPiece>[])[at]! : answer;
    if (outcome.ok) run.decoded(index, outcome.value);
    else {
      const error = new ServiceError(outcome.code, outcome.message);
      if (!run.takeBack(piece, error)) run.failed(error);
    }
  }
}

function workerLost(cause: unknown): ServiceError {
  return new ServiceError("WORKER_LOST", "transcription failed, try again", { cause });
}
