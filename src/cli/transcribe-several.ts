import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ApiError, ConnectionError } from "../client/errors.js";
import type { DauysClient, Transcribed } from "../client/node.js";
import { CommandError, type CommandInput, printLine, printNote, UsageError } from "./command.js";
import { contentKey, freshKey, type KeyedWishes, type Wishes } from "./content-key.js";
import { defaultRecognizer } from "./default-recognizer.js";
import { reasonOf } from "./failures.js";
import { Interruption } from "./interruption.js";
import { CallProgress, clock, type LinePart, megabytes, startProgress } from "./progress.js";
import { ResultFile, UnwrittenError } from "./result-file.js";
import { openService } from "./service-client.js";
import { type Failure, findRecordings, type Recording } from "./sources.js";
import { askedFormats, type TranscriptFormat, written } from "./transcript-formats.js";

/** As many as the free tier allows. */
export const DEFAULT_PARALLEL = 2;
export const MOST_PARALLEL = 16;
/** Enough to outlast a restart of the service and rate limits: it was reachable at the start. */
const RETRIES = 20;
/** These errors would stop every other recording too. */
const HOPELESS_CODES = ["key_invalid", "out_of_credits"];

/** A recording and the files for its transcript. */
interface Job {
  readonly recording: Recording;
  readonly paths: ReadonlyMap<TranscriptFormat, string>;
}

/**
 * Transcribes several recordings in parallel, each into its own files. A failure does not stop the others, unless they
 * would fail as well.
 *
 * @throws {CommandError} if any recording was not transcribed
 * @throws {Interrupted} after a signal; finished results stay
 */
export async function transcribeSeveral(input: CommandInput, wishes: Wishes): Promise<void> {
  const parallel = parallelOf(input);
  const interruption = new Interruption();
  try {
    const folder = await folderOf(input);
    const { recordings, failures } = await findRecordings(input.positionals, interruption.signal);
    const [only] = failures;
    if (recordings.length === 0 && failures.length === 1 && only !== undefined)
      throw new CommandError(`cannot read ${only.name}: ${only.reason}`);
    const jobs = jobsOf(recordings, { folder, formats: askedFormats(input.options) });
    const batch = new Batch(input, { wishes, failures, signal: interruption.signal });
    const waiting = await batch.passOverDone(jobs);
    if (waiting.length > 0) await batch.run(waiting, parallel);
    batch.conclude();
  } finally {
    interruption.over();
  }
}

interface BatchParts {
  readonly wishes: Wishes;
  /** Failures before the first request. */
  readonly failures: readonly Failure[];
  readonly signal: AbortSignal;
}

class Batch {
  readonly #input: CommandInput;
  readonly #wishes: Wishes;
  #keyed: KeyedWishes;
  readonly #signal: AbortSignal;
  readonly #failures: Failure[];
  readonly #inWork = new Map<Job, CallProgress>();
  #passedOver = 0;
  #transcribed = 0;
  #replayed = 0;
  #audioSeconds = 0;
  #credits = 0;
  #total = 0;
  #totalBytes = 0;
  /** Bytes of recordings that finished or failed in this run. */
  #pastBytes = 0;
  #past = 0;
  #startedAtMs = 0;

  constructor(input: CommandInput, { wishes, failures, signal }: BatchParts) {
    this.#input = input;
    this.#wishes = wishes;
    this.#keyed = { ...wishes, defaultModel: null };
    this.#signal = signal;
    this.#failures = [...failures];
    for (const { name, reason } of failures) this.#report({ file: name, status: "failed", error: reason });
  }

  /** @returns the jobs left: a result newer than its recording counts as done */
  async passOverDone(jobs: readonly Job[]): Promise<readonly Job[]> {
    if (this.#input.options.isSet("again")) return jobs;
    const waiting: Job[] = [];
    for (const job of jobs) {
      if (!(await isDone(job))) waiting.push(job);
      else {
        this.#passedOver++;
        this.#report({ file: job.recording.name, status: "passed_over", results: [...job.paths.values()] });
      }
    }
    return waiting;
  }

  async run(jobs: readonly Job[], parallel: number): Promise<void> {
    const client = await openService(this.#input);
    // Without retries, so that an unreachable service is reported before the first upload.
    await client.health({ maxRetries: 0, signal: this.#signal });
    if (this.#wishes.model === undefined) {
      this.#keyed = { ...this.#wishes, defaultModel: await defaultRecognizer(client, this.#signal) };
    }
    this.#total = jobs.length;
    this.#totalBytes = jobs.reduce((sum, { recording }) => sum + recording.sizeBytes, 0);
    this.#startedAtMs = performance.now();
    const size = `${jobs.length} recording${jobs.length === 1 ? "" : "s"}, ${megabytes(this.#totalBytes)} MB`;
    this.#note(`${size}, ${parallel} at a time; Ctrl-C stops and keeps finished results`);
    const stopProgress = startProgress(this.#input, () => this.#parts());
    const waiting = [...jobs];
    const worker = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
        if (!(await this.#do(client, job))) waiting.length = 0;
      }
    };
    try {
      await Promise.all(Array.from({ length: parallel }, worker));
    } finally {
      stopProgress();
    }
  }

  /** Prints the summary. @throws {CommandError} or the signal's reason unless everything is done */
  conclude(): void {
    const left = this.#total - this.#past;
    const failed = this.#failures.length;
    if (this.#isJson) {
      const sums = { transcribed: this.#transcribed, passed_over: this.#passedOver, failed, not_tried: left };
      const bill = { audio_seconds: this.#audioSeconds, credits_charged: this.#credits };
      printLine(JSON.stringify({ type: "summary", ...sums, ...bill }));
    }
    for (const { name, reason } of this.#failures) printNote(`failed: ${name}: ${reason}`);
    this.#note(this.#summary(left));
    if (this.#signal.aborted) throw this.#signal.reason;
    if (failed > 0 || left > 0)
      throw new CommandError(
        `${failed + left} of ${failed + left + this.#transcribed + this.#passedOver} recordings were not transcribed`,
      );
  }

  /** @returns whether to continue with other recordings */
  async #do(client: DauysClient, job: Job): Promise<boolean> {
    const { name, sizeBytes } = job.recording;
    const progress = new CallProgress(name);
    this.#inWork.set(job, progress);
    try {
      const transcription = await this.#transcribe(client, job, progress);
      this.#count(job, transcription);
    } catch (error) {
      // Interrupted is not failed: the answer was never sent, so nothing was charged.
      if (this.#signal.aborted && error === this.#signal.reason) return false;
      const reason = reasonOf(error);
      this.#failures.push({ name, reason });
      this.#report({ file: name, status: "failed", error: reason });
      if (isHopeless(error)) {
        this.#past++;
        return false;
      }
    } finally {
      this.#inWork.delete(job);
    }
    this.#past++;
    this.#pastBytes += sizeBytes;
    return true;
  }

  async #transcribe(
    client: DauysClient,
    { recording, paths }: Job,
    progress: CallProgress,
  ): Promise<Transcribed> {
    const { name, isUrl } = recording;
    const files = new Map<TranscriptFormat, ResultFile>();
    try {
      for (const [format, path] of paths) {
        await mkdir(dirname(path), { recursive: true });
        files.set(format, await ResultFile.prepare(path, "transcript"));
      }
      if (isUrl) progress.transcribing();
      const transcription = await client.transcribe(isUrl ? { url: name } : { path: name }, {
        ...this.#wishes,
        idempotencyKey: await this.#keyOf(recording),
        maxRetries: RETRIES,
        signal: this.#signal,
        onUploadProgress: (upload) => progress.sent(upload),
        onProgress: (share) => progress.transcribed(share),
      });
      const hasTimes = this.#input.options.isSet("timestamps");
      for (const [format, file] of files)
        await file.write(Buffer.from(written(format, transcription, { hasTimes })));
      return transcription;
    } finally {
      for (const file of files.values()) await file.abandon();
    }
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
    // No key: the content of an address may change, and its old key would then be rejected.
    return isUrl ? undefined : await contentKey(name, this.#keyed);
  }

  #parts(): readonly LinePart[] {
    const share = this.#totalBytes > 0 ? this.#pastBytes / this.#totalBytes : this.#past / this.#total;
    const failed = this.#failures.length === 0 ? [] : [`${this.#failures.length} failed`];
    const inWork = [...this.#inWork.values()].map((progress) => progress.short()).join(", ");
    return [`${this.#past} of ${this.#total}`, { share }, ...failed, ...this.#timeLeft(share), inWork];
  }

  /** Estimates from sizes: durations are unknown until a recording is transcribed. */
  #timeLeft(share: number): readonly string[] {
    if (share === 0) return [];
    const leftMs = ((performance.now() - this.#startedAtMs) * (1 - share)) / share;
    return [`about ${clock(leftMs)} left`];
  }

  #summary(left: number): string {
    const bill = `${round(this.#audioSeconds)} s of audio, ${this.#credits} credits`;
    const replayed = this.#replayed === 0 ? "" : `, ${this.#replayed} already charged`;
    const parts = [`${this.#transcribed} transcribed (${bill}${replayed})`];
    if (this.#passedOver > 0)
      parts.push(`${this.#passedOver} skipped with current results (--again repeats them)`);
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

  #note(text: string): void {
    if (!this.#input.options.isSet("quiet")) printNote(text);
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

function parallelOf({ options }: CommandInput): number {
  const given = options.number("parallel") ?? DEFAULT_PARALLEL;
  if (Number.isInteger(given) && given >= 1 && given <= MOST_PARALLEL) return given;
  throw new UsageError(`--parallel must be a whole number from 1 to ${MOST_PARALLEL}, received "${given}"`);
}

/** Returns whether the others would fail for the same reason, or be charged and lost. */
function isHopeless(error: unknown): boolean {
  if (error instanceof ApiError) return HOPELESS_CODES.includes(error.code);
  return error instanceof ConnectionError || error instanceof UnwrittenError;
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
