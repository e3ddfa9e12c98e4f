import { randomUUID } from "node:crypto";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type {
  DecodedPiece,
  FileAnswer,
  FilePiece,
  FileTask,
  SegmentResult,
} from "../../native/threads/protocol.js";
import { FILE_TASK_CELL, releaseWarmWorkers, WARM_UP_CELL } from "../../native/transcription/task-cell.js";
import type { HotWord } from "../../src/domain/decoding/hot-words.js";
import type { FileLength, FileTranscript, TranscribedSegment } from "../../src/domain/decoding/transcript.js";
import { ServiceError } from "../../src/domain/errors.js";
import type { Log } from "../../src/observe/log.js";
import { ENDLESS_ROOM, type SpoolRoom } from "../../src/ports/spool-room.js";

/** A pool of file workers: runs each task on a free one. */
export interface FilePool {
  readonly workerCount: number;
  run(task: FileTask): Promise<unknown>;
  close(): Promise<void>;
}

export interface TranscriptionEngineOptions {
  readonly pool: FilePool;
  readonly modelId: string;
  readonly sampleRateHz: number;
  /** Where the resampled PCM of a running transcription is spooled. */
  readonly spoolFolder: string;
  /** How much of the disk that may take; without bounds when it is not said. */
  readonly room?: SpoolRoom;
  readonly maxSeconds: number;
  readonly log: Log;
}

/** Seconds of speech in one decode task: long enough to cost little, short enough to spread and to cancel. */
const TASK_SECONDS = 60;
/** A task whose worker died is tried once more on another one. */
const MAX_ATTEMPTS = 2;

/** Splits files at pauses and spreads the pieces over the pool; nothing of a file is held whole in memory. */
export class TranscriptionEngine {
  readonly #options: TranscriptionEngineOptions;

  constructor(options: TranscriptionEngineOptions) {
    this.#options = options;
  }

  /** Loads the models of every worker, so that no request waits for them. @throws {ServiceError} `MODEL_BROKEN`, `WORKER_LOST` */
  async start(): Promise<void> {
    const { workerCount } = this.#options.pool;
    const cell = new SharedArrayBuffer(WARM_UP_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const tasks = Array.from({ length: workerCount }, () =>
      this.#run({ type: "warm-up", cell, workerCount }).catch((error: unknown) => {
        // Those that are warm wait for this one.
        releaseWarmWorkers(new Int32Array(cell));
        throw error;
      }),
    );
    await Promise.all(tasks);
  }

  async stop(): Promise<void> {
    await this.#options.pool.close();
  }

  /**
   * Transcribes a PCM WAV file on disk in bounded memory.
   *
   * @param onLength told the length as soon as it is known, before any decoding; when it fails, so does the work
   * @param hotWords words to be preferred, in the model's alphabet
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`, `CANCELLED`, `WORKER_LOST`
   */
  async transcribe(
    path: string,
    signal: AbortSignal,
    onLength: (length: FileLength) => Promise<void> = async () => {},
    hotWords: readonly HotWord[] = [],
  ): Promise<FileTranscript> {
    const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const cell = new Int32Array(shared);
    const onAbort = () => Atomics.store(cell, 0, FILE_TASK_CELL.giveUp);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const pcmPath = join(this.#options.spoolFolder, `${randomUUID()}.pcm`);
    const share = (this.#options.room ?? ENDLESS_ROOM).open();
    let full: ServiceError | null = null;
    share.watch(pcmPath, (error) => {
      full = error;
      onAbort();
    });
    try {
      const segmented = await this.#run<SegmentResult>({
        type: "segment",
        wavPath: path,
        pcmPath,
        maxSeconds: this.#options.maxSeconds,
        cell: shared,
      });
      await onLength(segmented);
      const batches = intoTasks(segmented.pieces, TASK_SECONDS * this.#options.sampleRateHz);
      const decoded = await Promise.all(
        batches.map((pieces) =>
          this.#run<readonly DecodedPiece[]>({
            type: "decode",
            pcmPath,
            pieces,
            hotWords,
            cell: shared,
          }),
        ),
      );
      return {
        segments: toSegments(segmented.pieces, decoded.flat(), this.#options.sampleRateHz),
        sampleCountIn: segmented.sampleCountIn,
        sampleRateInHz: segmented.sampleRateInHz,
        modelId: this.#options.modelId,
      };
    } catch (thrown) {
      throw full ?? thrown;
    } finally {
      // If one task failed its siblings have nothing to work for any more.
      onAbort();
      signal.removeEventListener("abort", onAbort);
      await unlink(pcmPath).catch(() => {
        // The segment task had not begun to write.
      });
      share.release();
    }
  }

  async #run<T>(task: FileTask): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      let answer: FileAnswer<T>;
      try {
        answer = (await this.#options.pool.run(task)) as FileAnswer<T>;
      } catch (error) {
        // Failures of the task itself come as values: a throw means that the worker is gone.
        this.#options.log.error({ task: task.type, attempt, err: error }, "file worker ended");
        if (attempt < MAX_ATTEMPTS) continue;
        throw new ServiceError("WORKER_LOST", "transcription failed, try again", { cause: error });
      }
      if (answer.ok) return answer.value;
      throw new ServiceError(answer.code, answer.message);
    }
  }
}

function intoTasks(pieces: readonly FilePiece[], taskSamples: number): FilePiece[][] {
  const tasks: FilePiece[][] = [];
  let samples = Number.POSITIVE_INFINITY;
  for (const piece of pieces) {
    if (samples >= taskSamples) {
      tasks.push([]);
      samples = 0;
    }
    tasks.at(-1)!.push(piece);
    samples += piece.endSample - piece.startSample;
  }
  return tasks;
}

function toSegments(
  pieces: readonly FilePiece[],
  decoded: readonly DecodedPiece[],
  sampleRateHz: number,
): TranscribedSegment[] {
  return decoded.flatMap(({ text, words }, index) => {
    const piece = pieces[index]!;
    if (text === "") return [];
    const startSeconds = words[0]?.start ?? piece.startSample / sampleRateHz;
    const endSeconds = words.at(-1)?.end ?? piece.endSample / sampleRateHz;
    return [{ text, startSeconds, endSeconds, words }];
  });
}
