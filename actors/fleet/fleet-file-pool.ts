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

/** Tasks of this front at once: each holds a part of a file in memory, or soon (`partsHeld`). */
const MOST_TASKS = 16;

/** A task on its way. */
interface Work {
  /** Of its files, as they are numbered in the call. */
  readonly cells: readonly SharedArrayBuffer[];
  /** Of its files, those that are told. */
  readonly span: Span;
  readonly traceparents: readonly string[];
  readonly abort: AbortController;
  call: Call | null;
}

/** Tasks of files on nodes of the fleet: a pool of file workers, as the engine knows it. The audio stays here; nodes ask for it. */
export class FleetFilePool {
  /** Nodes die of more than what a task does to them. */
  readonly mostAttempts = 3;
  readonly #places: NodePlaces;
  readonly #sampleRateHz: number;
  readonly #works = new Set<Work>();
  /** Floats of a frame that the model's encoder leaves; known from the first part that was heard. */
  #encodedSize = 0;

  constructor(parts: { readonly places: NodePlaces; readonly sampleRateHz: number }) {
    this.#places = parts.places;
    this.#sampleRateHz = parts.sampleRateHz;
  }

  /** As many tasks as all nodes take, as far as is known. */
  get workerCount(): number {
    return Math.min(MOST_TASKS, Math.max(1, this.#places.capacity));
  }

  /** As a pool of this process has it: a task may go to any node. */
  get runFrames(): number {
    return this.#places.runFrames;
  }

  /**
   * Runs a task on a node; those without room are asked again. Failures of the task are values, and so is `ENGINE_BUSY` where
   * no node has room for long.
   * @throws {CallLost} when its node, or something on the way, is lost
   */
  async run(task: FileTask, spans: readonly Span[] = []): Promise<unknown> {
    switch (task.type) {
      case "warm-up":
        await this.#places.await();
        return { ok: true, value: null };
      case "release":
        return { ok: true, value: null };
      case "hear":
        return this.#work([task.cell], spans, (work) => this.#hear(task, work));
      case "decode": {
        const cells = [...new Set(task.pieces.map(({ cell }) => cell))];
        return this.#work(cells, spans, (work) => this.#decode(task, work));
      }
    }
  }

  /** What is made of a file is not wanted any more. */
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
      // As where a worker here is lost: the task is tried again.
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

  /** Makes a call to a node with room. */
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
          // Files that were given up before.
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

/** Files of a front are on its disk. */
function onDisk(source: AudioSource): WavSource {
  if ("path" in source) return source;
  throw new TypeError("Cannot send a task: its audio is in memory");
}
