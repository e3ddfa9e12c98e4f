import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ApiError, ConnectionError } from "../client/errors.js";
import type { DauysClient, Transcribed } from "../client/node.js";
import {
  CommandError,
  type CommandInput,
  printLine,
  printNote,
  printRemark,
  UsageError,
  wholeNumber,
} from "./command.js";
import { reasonOf } from "./failures.js";
import {
  contentKey,
  freshKey,
  type KeyedOptions,
  keyedOptions,
  type TranscriptOptions,
} from "./idempotency-key.js";
import { interruptible } from "./interruption.js";
import { MOST_JOBS, transcribeByJob, UploadGate } from "./job-transcription.js";
import { CallProgress, clock, type LinePart, megabytes, withProgress } from "./progress.js";
import { ResultFile, UnwrittenError } from "./result-file.js";
import { openService } from "./service-client.js";
import { type Failure, findRecordings, type Recording } from "./sources.js";
import { formatTranscript, requestedFormats, type TranscriptFormat } from "./transcript-formats.js";

/** Number of concurrent requests that the free tier allows. */
export const DEFAULT_PARALLEL = 2;
export const MOST_PARALLEL = 16;
/** Enough to outlast rate limits and a restart of the service, which was reachable at the start. */
const RETRIES = 20;
/** Errors that would also occur for every other recording. */
const FATAL_CODES = ["key_invalid", "endpoint_not_allowed", "out_of_credits", "key_budget_exceeded"];

interface Job {
  readonly recording: Recording;
  readonly paths: ReadonlyMap<TranscriptFormat, string>;
}

/**
 * Transcribes several recordings in parallel, each into its own files. If one fails, the others continue,
 * unless they would fail too.
 *
 * @throws {CommandError} if any recording was not transcribed
 * @throws {Interrupted} after a signal; finished results are kept
 */
export async function transcribeSeveral(input: CommandInput, options: TranscriptOptions): Promise<void> {
  const parallel = wholeNumber(
    "--parallel",
    input.options.text("parallel") ?? `${DEFAULT_PARALLEL}`,
    MOST_PARALLEL,
  );
  await interruptible(async (signal) => {
    const folder = await folderOf(input);
    const { recordings, failures } = await findRecordings(input.positionals, signal);
    const [only] = failures;
    if (recordings.length === 0 && failures.length === 1 && only !== undefined)
      throw new CommandError(`cannot read ${only.name}: ${only.reason}`);
    const jobs = jobsOf(recordings, { folder, formats: requestedFormats(input.options) });
    const batch = new Batch(input, { options, failures, signal });
    const waiting = await batch.skipDone(jobs);
    if (waiting.length > 0) await batch.run(waiting, parallel);
    batch.finish();
  });
}

interface BatchParts {
  readonly options: TranscriptOptions;
  readonly failures: readonly Failure[];
  readonly signal: AbortSignal;
}

class Batch {
  readonly #input: CommandInput;
  #options: KeyedOptions;
  readonly #signal: AbortSignal;
  readonly #failures: Failure[];
  readonly #running = new Map<Job, CallProgress>();
  /** Limits the uploads of jobs; null for requests that wait for their transcript. */
  #uploads: UploadGate | null = null;
  #skipped = 0;
  #transcribed = 0;
  #replayed = 0;
  #audioSeconds = 0;
  #credits = 0;
  #total = 0;
  #totalBytes = 0;
  /** Number of recordings that succeeded or failed in this run, and their size. */
  #finished = 0;
  #finishedBytes = 0;
  #startedAtMs = 0;

  constructor(input: CommandInput, { options, failures, signal }: BatchParts) {
    this.#input = input;
    this.#options = { ...options, defaultModel: null };
    this.#signal = signal;
    this.#failures = [...failures];
    for (const { name, reason } of failures) this.#report({ file: name, status: "failed", error: reason });
  }

  /** Skips recordings whose results are up to date. @returns the remaining jobs */
  async skipDone(jobs: readonly Job[]): Promise<readonly Job[]> {
    if (this.#input.options.isSet("again")) return jobs;
    const waiting: Job[] = [];
    for (const job of jobs) {
      if (!(await isDone(job))) waiting.push(job);
      else {
        this.#skipped++;
        this.#report({ file: job.recording.name, status: "passed_over", results: [...job.paths.values()] });
      }
    }
    return waiting;
  }

  async run(jobs: readonly Job[], parallel: number): Promise<void> {
    const client = await openService(this.#input);
    // No retries, so that an unreachable service is reported before the first upload.
    await client.health({ maxRetries: 0, signal: this.#signal });
    this.#options = await keyedOptions(client, this.#options, this.#signal);
    this.#total = jobs.length;
    this.#totalBytes = jobs.reduce((sum, { recording }) => sum + recording.sizeBytes, 0);
    this.#startedAtMs = performance.now();
    if (this.#input.options.isSet("jobs")) this.#uploads = new UploadGate(parallel);
    const size = `${jobs.length} recording${jobs.length === 1 ? "" : "s"}, ${megabytes(this.#totalBytes)} MB`;
    const how =
      this.#uploads === null
        ? `${parallel} at a time; Ctrl-C stops and keeps finished results`
        : `as jobs, ${parallel} uploads at a time; after Ctrl-C the same command continues`;
    printRemark(this.#input, `${size}, ${how}`);
    const workers = this.#uploads === null ? parallel : Math.min(MOST_JOBS, jobs.length);
    const waiting = [...jobs];
    const worker = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
        if (!(await this.#process(client, job))) waiting.length = 0;
      }
    };
    await withProgress(
      this.#input,
      () => this.#parts(),
      () => Promise.all(Array.from({ length: workers }, worker)),
    );
  }

  /** Prints the summary. @throws {CommandError} or the signal's reason unless everything is done */
  finish(): void {
    const left = this.#total - this.#finished;
    const failed = this.#failures.length;
    if (this.#isJson) {
      const sums = { transcribed: this.#transcribed, passed_over: this.#skipped, failed, not_tried: left };
      const bill = { audio_seconds: this.#audioSeconds, credits_charged: this.#credits };
      printLine(JSON.stringify({ type: "summary", ...sums, ...bill }));
    }
    for (const { name, reason } of this.#failures) printNote(`failed: ${name}: ${reason}`);
    printRemark(this.#input, this.#summary(left));
    if (this.#signal.aborted) throw this.#signal.reason;
    if (failed > 0 || left > 0)
      throw new CommandError(
        `${failed + left} of ${failed + left + this.#transcribed + this.#skipped} recordings were not transcribed`,
      );
  }

  /** @returns whether to continue with other recordings */
  async #process(client: DauysClient, job: Job): Promise<boolean> {
    const { name, sizeBytes } = job.recording;
    const progress = new CallProgress(name);
    this.#running.set(job, progress);
    try {
      const transcription = await this.#transcribe(client, job, progress);
      this.#count(job, transcription);
    } catch (error) {
      // An interrupted recording did not fail: without a response, nothing is charged.
      if (this.#signal.aborted && error === this.#signal.reason) return false;
      const reason = reasonOf(error);
      this.#failures.push({ name, reason });
      this.#report({ file: name, status: "failed", error: reason });
      if (isFatal(error)) {
        this.#finished++;
        return false;
      }
    } finally {
      this.#running.delete(job);
    }
    this.#finished++;
    this.#finishedBytes += sizeBytes;
    return true;
  }

  async #transcribe(
    client: DauysClient,
    { recording, paths }: Job,
    progress: CallProgress,
  ): Promise<Transcribed> {
    const { isUrl } = recording;
    const files = new Map<TranscriptFormat, ResultFile>();
    try {
      for (const [format, path] of paths) {
        await mkdir(dirname(path), { recursive: true });
        files.set(format, await ResultFile.prepare(path, "transcript"));
      }
      if (isUrl) progress.transcribing();
      const transcription = await this.#request(client, recording, progress);
      const hasTimes = this.#input.options.isSet("timestamps");
      for (const [format, file] of files)
        await file.write(Buffer.from(formatTranscript(format, transcription, { hasTimes })));
      return transcription;
    } finally {
      for (const file of files.values()) await file.abandon();
    }
  }

  async #request(client: DauysClient, recording: Recording, progress: CallProgress): Promise<Transcribed> {
    const { name, isUrl } = recording;
    const source = isUrl ? { url: name } : { path: name };
    const call = {
      idempotencyKey: await this.#keyOf(recording),
      maxRetries: RETRIES,
      signal: this.#signal,
    };
    if (this.#uploads !== null) {
      const { size: waiting } = this.#running;
      const [options, uploads] = [this.#options, this.#uploads];
      return transcribeByJob(client, { ...call, source, options, progress, uploads, waiting });
    }
    return client.transcribe(source, {
      ...this.#options,
      ...call,
      onUploadProgress: progress.sent.bind(progress),
      onProgress: progress.transcribed.bind(progress),
    });
  }

  #count({ recording, paths }: Job, transcription: Transcribed): void {
    const { audio_seconds, credits_charged, is_replayed, request_id } = transcription;
    const credits = is_replayed ? 0 : credits_charged;
    this.#transcribed++;
    this.#audioSeconds += audio_seconds;
    this.#credits += credits;
    if (is_replayed) this.#replayed++;
    const results = [...paths.values()];
    if (this.#isJson) {
      const bill = { audio_seconds, credits_charged: credits, request_id };
      this.#report({ file: recording.name, status: "transcribed", results, ...bill });
    } else for (const path of results) printLine(path);
  }

  async #keyOf({ name, isUrl }: Recording): Promise<string | undefined> {
    if (this.#input.options.isSet("again")) return freshKey();
    // A URL gets no key: its content may change, and the service would then reject the old key.
    return isUrl ? undefined : await contentKey(name, this.#options);
  }

  #parts(): readonly LinePart[] {
    const share =
      this.#totalBytes > 0 ? this.#finishedBytes / this.#totalBytes : this.#finished / this.#total;
    const failed = this.#failures.length === 0 ? [] : [`${this.#failures.length} failed`];
    const running = [...this.#running.values()].map((progress) => progress.short()).join(", ");
    return [`${this.#finished} of ${this.#total}`, { share }, ...failed, ...this.#timeLeft(share), running];
  }

  /** Estimates the time left from sizes, because durations are unknown until recordings are transcribed. */
  #timeLeft(share: number): readonly string[] {
    if (share === 0) return [];
    const leftMs = ((performance.now() - this.#startedAtMs) * (1 - share)) / share;
    return [`about ${clock(leftMs)} left`];
  }

  #summary(left: number): string {
    const bill = `${Math.round(this.#audioSeconds * 10) / 10} s of audio, ${this.#credits} credits`;
    const replayed = this.#replayed === 0 ? "" : `, ${this.#replayed} already charged`;
    const parts = [`${this.#transcribed} transcribed (${bill}${replayed})`];
    if (this.#skipped > 0)
      parts.push(`${this.#skipped} skipped because their results are current (--again repeats them)`);
    if (this.#failures.length > 0) parts.push(`${this.#failures.length} failed`);
    if (left > 0) parts.push(`${left} not done (run the same command to continue)`);
    return parts.join(", ");
  }

  get #isJson(): boolean {
    return this.#input.options.isSet("json");
  }

  #report(line: object): void {
    if (this.#isJson) printLine(JSON.stringify(line));
  }
}

/** @throws {CommandError} if two recordings would write the same file */
function jobsOf(
  recordings: readonly Recording[],
  { folder, formats }: { readonly folder: string | null; readonly formats: readonly TranscriptFormat[] },
): readonly Job[] {
  const byPlace = new Map<string, Recording>();
  const endings = formats.length === 0 ? (["txt"] as const) : formats;
  return recordings.map((recording) => {
    const name = recording.isUrl ? recording.place : recording.name;
    const place = folder === null ? name : join(folder, recording.place);
    const other = byPlace.get(place);
    if (other !== undefined) {
      const both = `${other.name} and ${recording.name}`;
      throw new CommandError(
        `cannot write ${place}.${endings[0]} for both ${both}; transcribe them into separate folders`,
      );
    }
    byPlace.set(place, recording);
    // Keep the full name, so that talk.mp3 and talk.wav get different results.
    return { recording, paths: new Map(endings.map((ending) => [ending, `${place}.${ending}`])) };
  });
}

async function isDone({ recording, paths }: Job): Promise<boolean> {
  for (const path of paths.values()) {
    const found = await stat(path).catch(() => null);
    if (found === null || !found.isFile() || found.mtimeMs < (recording.modifiedMs ?? 0)) return false;
  }
  return true;
}

/** @throws {UsageError} if -o is not a folder */
async function folderOf({ options }: CommandInput): Promise<string | null> {
  const output = options.text("output");
  if (output === null) return null;
  const isName = output !== "-" && output !== "";
  const found = isName ? await stat(output).catch(() => null) : null;
  if (isName && (found === null || found.isDirectory())) return output;
  throw new UsageError(`-o must be a folder for several recordings, received "${output}"`);
}

/** Returns whether the other recordings would fail for the same reason, or would be charged and lost. */
function isFatal(error: unknown): boolean {
  if (error instanceof ApiError) return FATAL_CODES.includes(error.code);
  return error instanceof ConnectionError || error instanceof UnwrittenError;
}
