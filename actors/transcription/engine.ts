import { audioTooLong } from "../../core/domain/audio/too-long.js";
import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type { FileLength, FileTranscript } from "../../core/domain/decoding/transcript.js";
import { attributeWords } from "../../core/domain/diarization/attributed-words.js";
import type { SpeakerWishes } from "../../core/domain/diarization/speaker-turns.js";
import type { WindowShape } from "../../core/domain/diarization/windows.js";
import { asServiceError, ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Span } from "../../core/ports/span.js";
import type { WavSource } from "../../native/threads/protocol.js";
import { openWav } from "../../native/transcription/file-audio.js";
import { releaseWarmWorkers, WARM_UP_CELL } from "../../native/transcription/task-cell.js";
import { type FilePool, FileQueue } from "./file-queue.js";
import { FileRun, type FileRunOptions } from "./file-run.js";
import { SpeakerRun } from "./speaker-run.js";

export interface TranscriptionEngineOptions
  extends Pick<FileRunOptions, "sampleRateHz" | "frameSamples" | "forgets"> {
  readonly pool: FilePool;
  readonly modelId: string;
  readonly maxSeconds: number;
  /** Windows of the workers' model for diarization; null without one. */
  readonly speakerShape?: WindowShape | null;
  readonly log: Log;
}

export interface TranscribeOptions {
  /** Called with the length before any audio is processed; when it fails, so does the work. */
  readonly onLength?: (length: FileLength) => Promise<void>;
  /** Called with the finished share, 0 to 1, whenever it grows; with 0 once the length is accepted. */
  readonly onProgress?: ((share: number) => void) | undefined;
  /** As in `FileRunOptions`. */
  readonly onSegments?: FileRunOptions["onSegments"];
  /** Tell speakers apart. */
  readonly speakers?: SpeakerWishes | undefined;
  /** As in `FileRunOptions`. */
  readonly isLater?: boolean | undefined;
  /** In the model's alphabet. */
  readonly hotWords?: readonly HotWord[];
  readonly span?: Span;
}

const SHORTEST_SECONDS = 0.1;

/** Spreads files over the pool, part by part and piece by piece; no file is in memory as a whole. */
export class TranscriptionEngine {
  readonly #options: TranscriptionEngineOptions;
  readonly #queue: FileQueue;

  constructor(options: TranscriptionEngineOptions) {
    this.#options = options;
    this.#queue = new FileQueue(options.pool, options.log);
  }

  /** Loads the models in every worker. @throws {ServiceError} `MODEL_BROKEN`, `WORKER_LOST` */
  async start(): Promise<void> {
    const { workerCount } = this.#options.pool;
    const cell = new SharedArrayBuffer(WARM_UP_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const tasks = Array.from({ length: workerCount }, () =>
      this.#queue.run({ type: "warm-up", cell, workerCount }).catch((error: unknown) => {
        // Warm workers wait for this one.
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
   * Transcribes a PCM WAV file in bounded memory; the file must stay until this settles.
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`,
   * `DIARIZATION_UNAVAILABLE`, `CANCELLED`, `WORKER_LOST`
   */
  async transcribe(
    path: string,
    signal: AbortSignal,
    {
      onLength,
      onProgress = () => {},
      onSegments,
      speakers,
      isLater = false,
      hotWords = [],
      span,
    }: TranscribeOptions = {},
  ): Promise<FileTranscript> {
    const { modelId, maxSeconds, sampleRateHz, frameSamples, forgets } = this.#options;
    const source = await openWav(path);
    const length = { sampleCountIn: source.sampleCount, sampleRateInHz: source.header.sampleRateHz };
    // The number of samples in the file counts, not the one in its header.
    if (length.sampleCountIn > maxSeconds * length.sampleRateInHz) throw audioTooLong(maxSeconds);
    if (length.sampleCountIn < SHORTEST_SECONDS * length.sampleRateInHz) {
      throw new ServiceError("AUDIO_TOO_SHORT", "audio must be at least 0.1 s long");
    }
    await onLength?.(length);
    if (signal.aborted) throw cancelled();
    onProgress(0);
    const shares = new Shares(speakers === undefined ? 1 : 2, growing(onProgress));
    const run = new FileRun({
      ...{ source, hotWords, sampleRateHz, frameSamples, forgets, isLater },
      onProgress: shares.of(0),
      // Segments are split by speaker when all is heard.
      onSegments: speakers === undefined ? onSegments : undefined,
      onGiveUp: (cell) => this.#options.pool.gaveUp?.(cell),
      ...(span !== undefined && { span }),
    });
    const speakerRun =
      speakers && this.#speakerRun(source, speakers, { isLater, onProgress: shares.of(1), span });
    const giveUp = (error: ServiceError) => {
      this.#queue.giveUp(run, error);
      speakerRun?.giveUp();
    };
    const onAbort = () => giveUp(cancelled());
    signal.addEventListener("abort", onAbort, { once: true });
    speakerRun?.turns.catch((error: unknown) => giveUp(asServiceError(error)));
    this.#queue.add(run);
    try {
      const segments = await run.segments;
      const plain = { segments, ...length, modelId };
      if (speakerRun === undefined) return plain;
      return { ...plain, ...attributeWords(segments, await speakerRun.turns) };
    } finally {
      speakerRun?.giveUp();
      // The file must stay until no worker reads it.
      await speakerRun?.turns.catch(() => {});
      signal.removeEventListener("abort", onAbort);
    }
  }

  #speakerRun(
    source: WavSource,
    { count }: SpeakerWishes,
    {
      isLater,
      onProgress,
      span,
    }: {
      readonly isLater: boolean;
      readonly onProgress: (share: number) => void;
      readonly span: Span | undefined;
    },
  ): SpeakerRun {
    const { speakerShape = null, pool } = this.#options;
    // Files that somebody waits for wait for at most one task.
    const width = isLater ? 1 : pool.workerCount;
    if (speakerShape === null)
      throw new ServiceError("DIARIZATION_UNAVAILABLE", "no model for diarization is installed");
    return new SpeakerRun({
      ...{ source, shape: speakerShape, speakerCount: count, width, onProgress },
      run: (task) => this.#queue.run(task, span),
    });
  }
}

/** Averages the shares of equal parts of the work. */
class Shares {
  readonly #shares: number[];
  readonly #onProgress: (share: number) => void;

  constructor(parts: number, onProgress: (share: number) => void) {
    this.#shares = new Array(parts).fill(0);
    this.#onProgress = onProgress;
  }

  of(part: number): (share: number) => void {
    return (share) => {
      this.#shares[part] = share;
      this.#onProgress(this.#shares.reduce((sum, own) => sum + own, 0) / this.#shares.length);
    };
  }
}

/** Passes on only shares above the last one. */
function growing(onProgress: (share: number) => void): (share: number) => void {
  let last = 0;
  return (share) => {
    if (share <= last) return;
    last = share;
    onProgress(share);
  };
}

function cancelled(): ServiceError {
  return new ServiceError("CANCELLED", "transcription was cancelled");
}
