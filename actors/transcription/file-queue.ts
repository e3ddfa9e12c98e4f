import { ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Span } from "../../core/ports/span.js";
import type { DecodedPiece, FileAnswer, FileTask, HeardPart } from "../../native/threads/protocol.js";
import { type FileRun, MIN_PARTS_HELD, type RunPiece } from "./file-run.js";

/** A pool of file workers, which runs each task on a free one. */
export interface FilePool {
  readonly workerCount: number;
  /** Frames of speech that fill a worker's largest run; absent if workers run pieces alone. */
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

interface Work {
  readonly run: () => Promise<void>;
  readonly isLater: boolean;
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
  readonly #begun: FileRun[] = [];
  readonly #waiting: FileRun[] = [];
  #atWork = 0;
  #laterAtWork = 0;

  constructor(pool: FilePool, log: Log) {
    this.#pool = pool;
    this.#log = log;
  }

  add(run: FileRun): void {
    this.#waiting.push(run);
    // Nodes cannot resume an interrupted file, so there its running tasks finish first.
    if (!run.isLater && this.#pool.gaveUp === undefined)
      for (const other of this.#begun) if (other.isLater) other.yieldWorkers();
    this.#pump();
  }

  /** Gives up a file. Its `segments` reject when no worker is busy with it any more. */
  giveUp(run: FileRun, error: ServiceError): void {
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
      const later = work.isLater ? 1 : 0;
      this.#atWork++;
      this.#laterAtWork += later;
      void work.run().then(() => {
        this.#atWork--;
        this.#laterAtWork -= later;
        this.#pump();
      });
    }
  }

  /** Returns work for a free worker, from the first file in turn that has any. */
  #next(): Work | null {
    this.#rotate();
    const inOrder = [...this.#begun].sort((a, b) => Number(a.isLater) - Number(b.isLater));
    for (const run of inOrder) {
      if (run.isLater && this.#laterAtWork >= this.#mostLaterAtWork) return null;
      const work = this.#workOf(run);
      if (work === null) continue;
      // The file's next turn comes after those of the other files.
      this.#begun.splice(this.#begun.indexOf(run), 1);
      this.#begun.push(run);
      return { run: work, isLater: run.isLater };
    }
    return null;
  }

  /** Leaves one worker free for a file that may arrive. */
  get #mostLaterAtWork(): number {
    return Math.max(1, this.#pool.workerCount - 1);
  }

  /** Removes finished files and starts waiting ones. */
  #rotate(): void {
    for (const list of [this.#begun, this.#waiting]) {
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
      this.#begun.push(...this.#waiting.splice(at, 1));
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
