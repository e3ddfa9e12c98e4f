import { audioTooLong } from "../../core/domain/audio/too-long.js";
import type { HotWord } from "../../core/domain/decoding/hot-words.js";
import type {
  FileLength,
  FileTranscript,
  TranscribedSegment,
} from "../../core/domain/decoding/transcript.js";
import { attributeWords } from "../../core/domain/diarization/attributed-words.js";
import type { SpeakerWishes } from "../../core/domain/diarization/speaker-turns.js";
import type { WindowShape } from "../../core/domain/diarization/windows.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { Log } from "../../core/observe/log.js";
import type { Span } from "../../core/ports/span.js";
import type { WavSource } from "../../native/threads/protocol.js";
import { openWav } from "../../native/transcription/file-audio.js";
import { releaseWarmWorkers, WARM_UP_CELL } from "../../native/transcription/task-cell.js";
import { type FilePool, FileQueue } from "./file-queue.js";
import { FileRun, type FileRunOptions } from "./file-run.js";
import { SpeakerRun } from "./speaker-run.js";
import { requireFewChannels } from "./split-channels.js";

export interface TranscriptionEngineOptions
  extends Pick<FileRunOptions, "sampleRateHz" | "frameSamples" | "forgets"> {
  readonly pool: FilePool;
  readonly modelId: string;
  readonly maxSeconds: number;
  /** Window sizes of the workers' model for diarization; null without one. */
  readonly speakerShape?: WindowShape | null;
  readonly log: Log;
}

export interface TranscribeOptions {
  /** Called with the length before any audio is processed. If it fails, the transcription fails. */
  readonly onLength?: (length: FileLength) => Promise<void>;
  /** Called with the finished share, 0 to 1, whenever it grows; first with 0 once the length is accepted. */
  readonly onProgress?: ((share: number) => void) | undefined;
  /** As in `FileRunOptions`. */
  readonly onSegments?: FileRunOptions["onSegments"];
  /** Requests speaker labels. Not used for channels that are transcribed separately. */
  readonly speakers?: SpeakerWishes | undefined;
  /** As in `FileRunOptions`. */
  readonly isLater?: boolean | undefined;
  /** Hot words in the model's alphabet. */
  readonly hotWords?: readonly HotWord[];
  readonly span?: Span;
}

const SHORTEST_SECONDS = 0.1;

/** Spreads files over the pool, part by part and piece by piece. No file is in memory as a whole. */
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
        // The other workers wait for this one.
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
   * Makes jobs free a worker, because a file is being received.
   * @returns a function that ends this; later calls of it do nothing
   */
  expectFile(): () => void {
    return this.#queue.makeWay("received");
  }

  /**
   * Transcribes a PCM WAV file in bounded memory. The file must exist until the promise settles.
   * @throws {ServiceError} `AUDIO_UNREADABLE`, `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG`,
   * `DIARIZATION_UNAVAILABLE`, `CANCELLED`, `WORKER_LOST`
   */
  async transcribe(
    path: string,
    signal: AbortSignal,
    options: TranscribeOptions = {},
  ): Promise<FileTranscript> {
    const { modelId } = this.#options;
    const { onProgress = () => {}, speakers } = options;
    const source = await openWav(path);
    const length = this.#lengthOf(source);
    const own = { ...options, onProgress: growing(onProgress) };
    const transcript = await this.#begin(length, signal, options, async () =>
      speakers === undefined
        ? { segments: await this.#run(source, signal, own) }
        : this.#runWithSpeakers(source, signal, { ...own, speakers }),
    );
    return { ...transcript, ...length, modelId };
  }

  /**
   * Like `transcribe`, but transcribes each channel as if it were a mono file.
   * @returns one transcript per channel, in order
   * @throws {ServiceError} as `transcribe`; `INVALID_REQUEST` for too many channels
   */
  async transcribeChannels(
    path: string,
    signal: AbortSignal,
    options: TranscribeOptions = {},
  ): Promise<readonly FileTranscript[]> {
    const { modelId } = this.#options;
    const { onProgress = () => {} } = options;
    const source = await openWav(path);
    const length = this.#lengthOf(source);
    const { channels } = source.header;
    requireFewChannels(channels);
    const segments = await this.#begin({ ...length, channelCount: channels }, signal, options, () =>
      this.#runChannels(source, channels, signal, { ...options, onProgress }),
    );
    return segments.map((own) => ({ segments: own, ...length, modelId }));
  }

  /** Starts the work on a file once `onLength` settles; until then, jobs make way for it. */
  async #begin<T>(
    length: FileLength,
    signal: AbortSignal,
    { onLength, onProgress, isLater = false }: TranscribeOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const leave = isLater ? () => {} : this.#queue.makeWay("added");
    try {
      await onLength?.(length);
      if (signal.aborted) throw cancelled();
      onProgress?.(0);
      const working = work();
      // Its file is in the queue now.
      leave();
      return await working;
    } finally {
      leave();
    }
  }

  async #runChannels(
    source: WavSource,
    channels: number,
    signal: AbortSignal,
    options: TranscribeOptions & { readonly onProgress: (share: number) => void },
  ): Promise<readonly (readonly TranscribedSegment[])[]> {
    const { onProgress } = options;
    const shares = new Shares(channels, growing(onProgress));
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const runs = Array.from({ length: channels }, (_, channel) =>
      this.#run({ ...source, channel }, either, { ...options, onProgress: shares.of(channel) }),
    );
    try {
      return await Promise.all(runs);
    } catch (error) {
      failed.abort();
      // The file must exist until no worker reads it.
      await Promise.allSettled(runs);
      throw error;
    }
  }

  /** @throws {ServiceError} `AUDIO_TOO_SHORT`, `AUDIO_TOO_LONG` */
  #lengthOf(source: WavSource): FileLength {
    const { maxSeconds } = this.#options;
    const length = { sampleCountIn: source.sampleCount, sampleRateInHz: source.header.sampleRateHz };
    // Trust the number of samples in the file, not the one in its header.
    if (length.sampleCountIn > maxSeconds * length.sampleRateInHz) throw audioTooLong(maxSeconds);
    if (length.sampleCountIn < SHORTEST_SECONDS * length.sampleRateInHz) {
      throw new ServiceError("AUDIO_TOO_SHORT", "audio must be at least 0.1 s long");
    }
    return length;
  }

  async #run(
    source: WavSource,
    signal: AbortSignal,
    { onProgress = () => {}, onSegments, isLater = false, hotWords = [], span }: TranscribeOptions,
  ): Promise<readonly TranscribedSegment[]> {
    const { sampleRateHz, frameSamples, forgets } = this.#options;
    const run = new FileRun({
      ...{ source, hotWords, sampleRateHz, frameSamples, forgets, isLater },
      onProgress,
      onSegments,
      onGiveUp: (cell) => this.#options.pool.gaveUp?.(cell),
      ...(span !== undefined && { span }),
    });
    const onAbort = () => this.#queue.giveUp(run, cancelled());
    signal.addEventListener("abort", onAbort, { once: true });
    this.#queue.add(run);
    try {
      return await run.segments;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Transcribes the file, then finds its speakers. */
  async #runWithSpeakers(
    source: WavSource,
    signal: AbortSignal,
    options: TranscribeOptions & { readonly speakers: SpeakerWishes },
  ): Promise<Pick<FileTranscript, "segments" | "speakerCount">> {
    // Segments are split by speaker, so they are known only when all audio is processed.
    const { onSegments: _, onProgress = () => {}, ...others } = options;
    const shares = new Shares(2, onProgress);
    const speakers = this.#speakerRun(source, { ...options, onProgress: shares.of(1) });
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    either.addEventListener("abort", () => this.#queue.giveUp(speakers, cancelled()), { once: true });
    this.#queue.add(speakers);
    const words = this.#run(source, either, { ...others, onProgress: shares.of(0) });
    try {
      const [segments, turns] = await Promise.all([words, speakers.turns]);
      return attributeWords(segments, turns);
    } catch (error) {
      failed.abort();
      // The file must exist until no worker reads it.
      await Promise.allSettled([words, speakers.turns]);
      throw error;
    }
  }

  #speakerRun(
    source: WavSource,
    options: TranscribeOptions & {
      readonly speakers: SpeakerWishes;
      readonly onProgress: (share: number) => void;
    },
  ): SpeakerRun {
    const { speakers, isLater = false, onProgress, span } = options;
    const { speakerShape = null, pool } = this.#options;
    if (speakerShape === null)
      throw new ServiceError("DIARIZATION_UNAVAILABLE", "no model for diarization is installed");
    return new SpeakerRun({
      ...{ source, shape: speakerShape, speakerCount: speakers.count, isLater, onProgress, span },
      onGiveUp: (cell) => pool.gaveUp?.(cell),
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
