import { asServiceError, ServiceError } from "../../core/domain/errors.js";
import { type Span, together, traceparentsOf } from "../../core/ports/span.js";
import type {
  AudioSource,
  FileAnswer,
  FileTask,
  HeardPart,
  WavSource,
} from "../../native/threads/protocol.js";
import { samplesAt } from "../../native/transcription/file-audio.js";
import { FILE_TASK_CELL } from "../../native/transcription/task-cell.js";
import type { DecodeCall, FileCall, GiveUpNote, HearDone } from "./file-call.js";
import { FileBytes, type Item } from "./file-items.js";
import { type Call, CallLost } from "./fleet-calls.js";
import { HeardResults } from "./heard-results.js";
import type { NodePlaces } from "./node-places.js";

type Hear = Extract<FileTask, { type: "hear" }>;
type Decode = Extract<FileTask, { type: "decode" }>;

/** Most tasks of this front in flight: each holds part of a file in memory (`partsHeld`). */
const MAX_TASKS = 16;

/** A task in flight. */
interface Work {
  /** Cells of the task's files, in the order of their numbers in the call. */
  readonly cells: readonly SharedArrayBuffer[];
  readonly span: Span;
  readonly traceparents: readonly string[];
  readonly abort: AbortController;
  call: Call | null;
}

/** A pool of file workers on nodes of the fleet. The audio stays here; nodes request it. */
export class FleetFilePool {
  /** One attempt more than within one process: nodes also end for reasons other than their tasks. */
  readonly mostAttempts = 3;
  readonly #places: NodePlaces;
  readonly #sampleRateHz: number;
  readonly #works = new Set<Work>();
  /** Floats in a frame of the encoder's output; known after the first hear task. */
  #encodedSize = 0;

  constructor(parts: { readonly places: NodePlaces; readonly sampleRateHz: number }) {
    this.#places = parts.places;
    this.#sampleRateHz = parts.sampleRateHz;
  }

  /** Total number of tasks that all known nodes accept. */
  get workerCount(): number {
    return Math.min(MAX_TASKS, Math.max(1, this.#places.capacity));
  }

  /** See `FilePool.runFrames`. */
  get runFrames(): number {
    return this.#places.runFrames;
  }

  /**
   * Runs a task on a node, and retries while no node has room. Failures of the task are returned as values,
   * and so is `ENGINE_BUSY` if no node has room for too long.
   * @throws {CallLost} if the node or one of its messages is lost
   */
  async run(task: FileTask, spans: readonly Span[] = []): Promise<unknown> {
    switch (task.type) {
      case "warm-up":
        await this.#places.await();
        return { ok: true, value: null };
      case "release":
        return { ok: true, value: null };
      case "hear-speakers":
      case "group-speakers":
        // A gateway rejects such requests earlier: its models list no model for diarization.
        return {
          ok: false,
          code: "DIARIZATION_UNAVAILABLE",
          message: "diarization is not supported by a gateway",
        } satisfies FileAnswer<never>;
      case "hear":
        return this.#work([task.cell], spans, (work) => this.#hear(task, work));
      case "decode": {
        const cells = [...new Set(task.pieces.map(({ cell }) => cell))];
        return this.#work(cells, spans, (work) => this.#decode(task, work));
      }
    }
  }

  /** See `FilePool.gaveUp`. */
  gaveUp(cell: SharedArrayBuffer): void {
    for (const work of this.#works) this.#heed(work, cell);
  }

  async close(): Promise<void> {
    this.#places.close();
  }

  #heed({ cells, abort, call }: Work, cell: SharedArrayBuffer): void {
    const file = cells.indexOf(cell);
    if (file < 0) return;
    if (cells.every(isGivenUp)) abort.abort(new ServiceError("CANCELLED", "transcription was cancelled"));
    else call?.note({ giveUp: file } satisfies GiveUpNote);
  }

  async #work<T>(
    cells: readonly SharedArrayBuffer[],
    spans: readonly Span[],
    perform: (work: Work) => Promise<FileAnswer<T>>,
  ): Promise<FileAnswer<T>> {
    const work: Work = {
      ...{ cells, span: together(spans), traceparents: traceparentsOf(spans) },
      ...{ abort: new AbortController(), call: null },
    };
    this.#works.add(work);
    try {
      for (const cell of cells) if (isGivenUp(cell)) this.#heed(work, cell);
      return await perform(work);
    } catch (error) {
      if (error instanceof CallLost) throw error;
      const { code, message } = asServiceError(error);
      // Repeat the task, as after a lost worker of this process.
      if (code === "WORKER_LOST") throw error;
      return { ok: false, code, message };
    } finally {
      this.#works.delete(work);
    }
  }

  async #hear(task: Hear, work: Work): Promise<FileAnswer<HeardPart>> {
    const { startFrame, endFrame, state } = task;
    const source = onDisk(task.source);
    const file = { sampleCount: samplesAt(source, this.#sampleRateHz) };
    const stateBytes = state === null ? null : ([state.values.byteLength, state.bytes.byteLength] as const);
    const items: Item[] = [{ source, rateHz: this.#sampleRateHz }];
    if (state !== null) items.push({ memory: state.values }, { memory: state.bytes });
    const results = new HeardResults(task.room);
    const body = { type: "hear", file, startFrame, endFrame, stateBytes } as const;
    const done = (await this.#call(work, body, items, (part) => results.take(part))) as HearDone;
    this.#encodedSize = done.encodedSize;
    return { ok: true, value: results.part(done) };
  }

  async #decode({ pieces }: Decode, work: Work): Promise<FileAnswer<unknown>> {
    const encodedSize = this.#encodedSize;
    const ofFiles = work.cells.map((cell) => pieces.find((piece) => piece.cell === cell)!);
    const body: DecodeCall = {
      type: "decode",
      files: ofFiles.map(({ source, hotWords }) => ({
        sampleCount: samplesAt(onDisk(source), this.#sampleRateHz),
        hotWords,
      })),
      pieces: pieces.map(
        ({ startFrame, endFrame, endSample, speechMean, isCutBefore, isCutBehind, cell }) => ({
          ...{ startFrame, endFrame, endSample, speechMean, isCutBefore, isCutBehind },
          file: work.cells.indexOf(cell),
        }),
      ),
      encodedSize,
    };
    const items: Item[] = [
      ...ofFiles.map(({ source }) => ({ source: onDisk(source), rateHz: this.#sampleRateHz })),
      ...pieces.map((piece) => ({ piece, encodedSize })),
    ];
    const outcomes = await this.#call(work, body, items, () => {});
    return { ok: true, value: outcomes };
  }

  /** Calls a node that has room. */
  async #call(
    work: Work,
    body: FileCall,
    items: readonly Item[],
    onPart: (value: unknown) => void,
  ): Promise<unknown> {
    const bytes = new FileBytes(items);
    try {
      for (;;) {
        const place = await this.#places.take(work.abort.signal);
        work.span.set({ node: place.node });
        try {
          work.call = place.call({
            body,
            traceparents: work.traceparents,
            onPart,
            bytesOf: (item, start, count) => bytes.read(item, start, count),
          });
          // Some files may have been given up before the call.
          if (body.type === "decode")
            for (const cell of work.cells) if (isGivenUp(cell)) this.#heed(work, cell);
          return await work.call.answer;
        } catch (error) {
          if (!(error instanceof CallLost) || error.ending !== "refused") throw error;
        } finally {
          work.call = null;
          place.leave();
        }
      }
    } finally {
      await bytes.close();
    }
  }
}

function isGivenUp(cell: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(cell), 0) === FILE_TASK_CELL.giveUp;
}

function onDisk(source: AudioSource): WavSource {
  if ("path" in source) return source;
  throw new TypeError("cannot send a task: its audio is in memory");
}
