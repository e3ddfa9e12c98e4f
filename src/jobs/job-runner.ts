import { setTimeout as sleep } from "node:timers/promises";
import type { FileLength, TimedTranscript } from "../../core/domain/decoding/transcript.js";
import { asServiceError, errorName, ServiceError } from "../../core/domain/errors.js";
import { holdIdOf } from "../../core/domain/jobs/job.js";
import type { Log } from "../../core/observe/log.js";
import type { Caller, FileWishes, StopReason } from "../../core/ports/conversations.js";
import type { JobCounts, JobQueue, JobResult, JobRun } from "../../core/ports/jobs.js";
import type { SpoolRoom } from "../../core/ports/spool-room.js";
import type { UrlSource } from "../../core/ports/url-source.js";
import type { Hold, UsageMeter } from "../../core/ports/usage-meter.js";
import { isRetryable, publicDetail } from "../../core/protocol/error-status.js";
import { toTranscription } from "../../core/protocol/transcription-response.js";
import { jsonInTurns } from "../http/long-body.js";
import { withHeader } from "../http/raw-samples.js";
import { LONGEST_FETCH_BYTES, LONGEST_UPLOAD_BYTES, safeExtension, withUpload } from "../http/spool.js";
import type { OngoingRequests } from "./ongoing-requests.js";

/** A transcription before it is billed. */
interface JobWork {
  readonly transcript: Promise<TimedTranscript>;
  stop(reason: StopReason): void;
}

export interface JobRunnerParts {
  readonly queue: JobQueue;
  readonly meter: Pick<UsageMeter, "hold">;
  /** Transcribes a file once no requests are waiting. `onLength` reports its length before any work. */
  readonly transcribe: (
    caller: Caller,
    path: string,
    wishes: FileWishes,
    onLength: (length: FileLength) => Promise<void>,
  ) => JobWork;
  /** Requests, which reading a job's audio and storing its result let pass. */
  readonly requests: Pick<OngoingRequests, "behind" | "pass">;
  readonly urls: UrlSource;
  readonly spoolDir: string;
  readonly room: SpoolRoom;
  /** Number of jobs that this service runs concurrently. */
  readonly atOnce: number;
  readonly observer: JobObserver;
  readonly log: Log;
}

interface JobObserver {
  /** Called whenever this service starts or ends a run, and after each sweep. */
  counted(counts: JobCounts): void;
  ended(outcome: "done" | "failed" | "lost"): void;
  /** Called with each transcript after it was charged. */
  transcribed(transcript: TimedTranscript): void;
}

/** Path under which usage reports list jobs. */
const ENDPOINT = "/v1/jobs/transcriptions";
/** Pause after the queue was found empty. A job submitted to this service ends it early. */
const POLL_MS = 1_000;
/** How often progress is written and a cancellation noticed. */
const PROGRESS_MS = 1_000;
const SWEEP_MS = 5_000;
/** A job that crashes its service every time must not do so forever. */
const MOST_LOSSES = 10;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Why a run was stopped, other than failures of the work itself. */
type Stopped = "not-ours" | "service-stops";

/** Runs jobs from the queue for as long as the service runs. */
export class JobRunner {
  readonly #parts: JobRunnerParts;
  readonly #running = new Map<string, { readonly abort: AbortController; readonly ended: Promise<void> }>();
  readonly #stopping = new AbortController();
  #taking: Promise<JobRun | null> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(parts: JobRunnerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#sweeper = setInterval(() => this.#sweepAlone(), SWEEP_MS).unref();
    this.#sweepAlone();
    this.wake();
  }

  /** Called when a job may be waiting. */
  wake(): void {
    clearTimeout(this.#timer);
    void this.#pump();
  }

  /** Puts running jobs back into the queue. May be called twice. */
  async stop(): Promise<void> {
    clearInterval(this.#sweeper);
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#taking?.catch(() => {});
    const runs = [...this.#running.values()];
    for (const { abort } of runs) abort.abort("service-stops" satisfies Stopped);
    await Promise.allSettled([this.#sweeping, ...runs.map(({ ended }) => ended)]);
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #pump(): Promise<void> {
    if (this.#taking !== null) return;
    try {
      while (!this.#isStopping && this.#running.size < this.#parts.atOnce) {
        this.#taking = this.#parts.queue.take();
        const run = await this.#taking;
        if (run === null) break;
        this.#begin(run);
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, "could not take a job from the queue");
    } finally {
      this.#taking = null;
    }
    if (this.#isStopping || this.#running.size >= this.#parts.atOnce) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#pump(), POLL_MS).unref();
  }

  #begin(run: JobRun): void {
    const abort = new AbortController();
    if (this.#isStopping) abort.abort("service-stops" satisfies Stopped);
    const ended = this.#run(run, abort)
      .catch((error: unknown) =>
        this.#parts.log.error({ err: error, jobId: run.id }, "could not end a job's run"),
      )
      .finally(() => {
        this.#running.delete(run.id);
        void this.#pump();
      });
    this.#running.set(run.id, { abort, ended });
  }

  async #run(run: JobRun, abort: AbortController): Promise<void> {
    const { queue, log, observer } = this.#parts;
    const stopped = () => (abort.signal.aborted ? (abort.signal.reason as Stopped) : null);
    const progress = new ProgressOfRun(run, queue, () => abort.abort("not-ours" satisfies Stopped));
    try {
      if (run.losses >= MOST_LOSSES) throw new ServiceError("WORKER_LOST", lostTooOften(run));
      const outcome = await this.#transcribe(run, abort.signal, progress);
      if (outcome === "done") observer.ended("done");
      else if (outcome === "hold-lost") throw new ServiceError("AUTH_UNAVAILABLE", "the hold was closed");
    } catch (thrown) {
      if (stopped() === "not-ours") return;
      const error = asServiceError(thrown);
      const isTransient = isRetryable(error.code) || error.code === "INTERNAL" || stopped() !== null;
      if (isTransient && run.losses < MOST_LOSSES) {
        const isLost = stopped() === null;
        log.warn({ err: thrown, jobId: run.id, attempt: run.attempt }, "job put back into the queue");
        if (isLost) observer.ended("lost");
        await this.#persist(run, () => queue.putBack(run, isLost));
        // The reason may persist, for example if the disk is full.
        if (isLost) await this.#pause(Math.min(FIRST_PAUSE_MS * 2 ** run.losses, LONGEST_PAUSE_MS));
        return;
      }
      observer.ended("failed");
      const failure = { code: errorName(error.code), detail: publicDetail(error) };
      await this.#persist(run, () => queue.fail(run, failure));
    } finally {
      progress.end();
    }
  }

  async #transcribe(run: JobRun, signal: AbortSignal, progress: ProgressOfRun) {
    const { queue, requests, urls, spoolDir, room } = this.#parts;
    const { raw } = run.options;
    const source =
      run.url === null ? requests.behind(queue.audioOf(run), signal) : urls.fetch(run.url, signal);
    const bytes = raw === undefined ? source : withHeader(source, raw);
    const options = {
      ...{ spoolDir, room, name: `${run.id}-${run.attempt}` },
      extension: safeExtension(run.fileName ?? undefined),
      maxBytes: run.url === null ? LONGEST_UPLOAD_BYTES : LONGEST_FETCH_BYTES,
    };
    return await withUpload(bytes, options, async (path) => {
      signal.throwIfAborted();
      return await this.#charged(run, path, signal, progress);
    });
  }

  async #charged(run: JobRun, path: string, signal: AbortSignal, progress: ProgressOfRun) {
    const { meter, transcribe, queue, requests, observer } = this.#parts;
    const { model, hotWords, reading, speakers, channels = "mix" } = run.options;
    const identity = { keyId: run.keyId, organizationId: run.organizationId, tier: "paid" } as const;
    const holdId = holdIdOf(run);
    const caller: Caller = { requestId: holdId, identity, endpoint: ENDPOINT };
    const origin = { keyId: run.keyId, endpoint: ENDPOINT };
    let hold: Hold | null = null;
    let units = 0;
    const onLength = async ({ sampleCountIn, sampleRateInHz, channelCount = 1 }: FileLength) => {
      units = sampleCountIn * channelCount;
      const reference = { id: holdId, organizationId: run.organizationId, origin };
      hold = await meter.hold(reference, "file", { units, unitsPerSecond: sampleRateInHz });
    };
    const onProgress = (share: number) => progress.reached(share);
    const wishes = { model, hotWords, reading, speakers, channels, onProgress, isLater: true };
    const work = transcribe(caller, path, wishes, onLength);
    const onAbort = () => work.stop("service-stops");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const transcript = await work.transcript;
      const held = hold as Hold | null;
      if (held === null) throw new Error("Cannot charge for a job whose length was not reported");
      const result = await resultOf(transcript, { holdId, units, credits: held.credits });
      await requests.pass(signal);
      const outcome = (await this.#persist(run, () => queue.finish(run, result))) ?? "not-ours";
      if (outcome === "done") observer.transcribed(transcript);
      return outcome;
    } finally {
      signal.removeEventListener("abort", onAbort);
      // Has no effect on a hold that was charged.
      await (hold as Hold | null)?.release();
    }
  }

  /** Repeats a change until the database has made it. Returns null if the service stops first. */
  async #persist<T>(run: JobRun, change: () => Promise<T>): Promise<T | null> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await change();
      } catch (error) {
        this.#parts.log.warn({ err: error, jobId: run.id }, "could not record a job's end");
        // Once this service has stopped, another service's sweep or its own next start puts the job back.
        if (this.#isStopping) return null;
      }
      await this.#pause(pauseMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }

  #sweepAlone(): void {
    this.#sweeping = this.#sweeping.then(() => this.#sweep());
  }

  async #sweep(): Promise<void> {
    const { queue, observer, log } = this.#parts;
    if (this.#isStopping) return;
    try {
      const lost = await queue.sweep(async (id) => {
        // A job that is just being taken is known here only when the statement has returned.
        await this.#taking?.catch(() => {});
        return this.#running.has(id);
      });
      if (lost > 0) {
        log.info({ lost }, "jobs of stopped services put back into the queue");
        this.wake();
      }
      observer.counted(await queue.counts());
    } catch (error) {
      log.warn({ err: error }, "could not sweep jobs");
    }
  }
}

/** Writes a run's progress at most once a second, and notices if the job no longer belongs to the run. */
class ProgressOfRun {
  readonly #timer: NodeJS.Timeout;
  #share = 0;
  #writing: Promise<void> | null = null;

  constructor(run: JobRun, queue: JobQueue, onLost: () => void) {
    const write = async () => {
      // If the database fails, the end of the run will handle that.
      const isOurs = await queue.progress(run, this.#share).catch(() => true);
      if (!isOurs) onLost();
    };
    this.#timer = setInterval(() => {
      this.#writing ??= write().finally(() => {
        this.#writing = null;
      });
    }, PROGRESS_MS).unref();
  }

  reached(share: number): void {
    this.#share = share;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

async function resultOf(
  transcript: TimedTranscript,
  paid: Pick<JobResult, "holdId" | "units" | "credits">,
): Promise<JobResult> {
  const transcription = toTranscription({ ...transcript, creditsCharged: paid.credits }, true);
  const { parts } = await jsonInTurns(transcription);
  const result = Buffer.concat([...parts]).toString();
  return { ...paid, audioSeconds: transcription.audio_seconds, result };
}

function lostTooOften({ losses }: JobRun): string {
  return `the job was given up after ${losses} attempts without a result`;
}
