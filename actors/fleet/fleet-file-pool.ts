import type { SpeakerTurn } from "../../core/domain/diarization/speaker-turns.js";
import type { SpeakerWindow } from "../../core/domain/diarization/windows.js";
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
import { alignedBytes } from "./call-messages.js";
import type { DecodeCall, FileCall, GiveUpNote, HearDone, HeardWindow } from "./file-call.js";
import { FileBytes, type Item } from "./file-items.js";
import { type Call, CallLost } from "./fleet-calls.js";
import { HeardResults } from "./heard-results.js";
import type { NodePlaces } from "./node-places.js";
import { packedWindows } from "./packed-windows.js";

type Hear = Extract<FileTask, { type: "hear" }>;
type Decode = Extract<FileTask, { type: "decode" }>;
type HearSpeakers = Extract<FileTask, { type: "hear-speakers" }>;
type GroupSpeakers = Extract<FileTask, { type: "group-speakers" }>;

/** Most tasks of this front in flight: each holds part of a file in memory (`partsHeld`). */
const MAX_TASKS = 16;

/** A model for diarization that some nodes have. */
interface RemoteDiarization {
  /** Hash of its manifest. */
  readonly manifest: string;
  readonly sampleRateHz: number;
}

interface FleetFilePoolParts {
  readonly places: NodePlaces;
  readonly sampleRateHz: number;
  /** Absent if the gateway has no such package. */
  readonly diarization?: RemoteDiarization | null;
}

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
  readonly #diarization: RemoteDiarization | null;
  readonly #works = new Set<Work>();
  /** Floats in a frame of the encoder's output; known after the first hear task. */
  #encodedSize = 0;

  constructor({ places, sampleRateHz, diarization = null }: FleetFilePoolParts) {
    this.#places = places;
    this.#sampleRateHz = sampleRateHz;
    this.#diarization = diarization;
  }

  /** Total number of tasks that all known nodes accept. */
  get workerCount(): number {
    return Math.min(MAX_TASKS, Math.max(1, this.#places.capacity));
  }

  /** See `FilePool.speakerWorkerCount`: waiting for the nodes with a model must not block other tasks. */
  get speakerWorkerCount(): number {
    const manifest = this.#diarization?.manifest ?? "";
    return Math.min(MAX_TASKS, Math.max(1, this.#places.capacityWith(manifest)));
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
        return this.#work([task.cell], spans, (work) => this.#hearSpeakers(task, work));
      case "group-speakers":
        return this.#work([task.cell], spans, (work) => this.#groupSpeakers(task, work));
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

  async #hearSpeakers(task: HearSpeakers, work: Work): Promise<FileAnswer<readonly SpeakerWindow[]>> {
    const { sampleRateHz: rateHz } = this.#requireDiarization();
    const source = onDisk(task.source);
    const { type, firstWindow, endWindow } = task;
    const body = { type, file: { sampleCount: samplesAt(source, rateHz) }, firstWindow, endWindow };
    const windows: SpeakerWindow[] = [];
    await this.#call(work, body, [{ source, rateHz }], (part) => windows.push(windowOf(part as HeardWindow)));
    return { ok: true, value: windows };
  }

  async #groupSpeakers(task: GroupSpeakers, work: Work): Promise<FileAnswer<readonly SpeakerTurn[]>> {
    const { type, windows, sampleCount, speakerCount } = task;
    const { shape, frames, embeddings } = packedWindows(windows);
    const body = { type, ...shape, sampleCount, speakerCount };
    const turns: SpeakerTurn[] = [];
    await this.#call(work, body, [{ memory: frames }, { memory: embeddings }], (part) =>
      turns.push(...(part as readonly SpeakerTurn[])),
    );
    return { ok: true, value: turns };
  }

  #requireDiarization(): RemoteDiarization {
    if (this.#diarization !== null) return this.#diarization;
    throw new ServiceError("DIARIZATION_UNAVAILABLE", "this gateway has no model for diarization");
  }

  /** Calls a node that has room. */
  async #call(
    work: Work,
    body: FileCall,
    items: readonly Item[],
    onPart: (value: unknown) => void,
  ): Promise<unknown> {
    const isSpeakers = body.type === "hear-speakers" || body.type === "group-speakers";
    const needed = isSpeakers ? this.#requireDiarization().manifest : null;
    const bytes = new FileBytes(items);
    try {
      for (;;) {
        const place = await this.#places.take(work.abort.signal, needed);
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

/** Copies a window out of a message, whose bytes are borrowed. */
function windowOf({ frames, embeddings }: HeardWindow): SpeakerWindow {
  return {
    frames: new Uint8Array(frames),
    embeddings: embeddings.map((bytes) => (bytes === null ? null : new Float32Array(alignedBytes(bytes)))),
  };
}

function isGivenUp(cell: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(cell), 0) === FILE_TASK_CELL.giveUp;
}

function onDisk(source: AudioSource): WavSource {
  if ("path" in source) return source;
  throw new TypeError("cannot send a task: its audio is in memory");
}
