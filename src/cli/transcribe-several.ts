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

const PARALLEL_UNLESS_SAID = 2;
const MOST_PARALLEL = 16;
/** A restart of the service, and other clients of the organization, are waited for; it was there at the beginning. */
const RETRIES = 20;
/** After these no other recording would fare better. */
const HOPELESS_CODES = ["key_invalid", "out_of_credits"];

/** A recording and the files that its transcript goes to. */
interface Job {
  readonly recording: Recording;
  readonly paths: ReadonlyMap<TranscriptFormat, string>;
}

/**
 * Transcribes several recordings, some at a time, each into files of its own. What fails is told and does not keep the others
 * from being done, unless they would fail as well.
 *
 * @throws {CommandError} when any of them was not transcribed
 * @throws {Interrupted} when a signal ended it; what was done stays
 */
export async function transcribeSeveral(input: CommandInput, wishes: Wishes): Promise<void> {
  const parallel = parallelOf(input);
  const interruption = new Interruption();
  try {
    const folder = await folderOf(input);
    const { recordings, failures } = await findRecordings(input.positionals, interruption.signal);
    const [only] = failures;
    if (recordings.length === 0 && failures.length === 1 && only !== undefined)
      throw new CommandError(`Cannot read ${only.name}: ${only.reason}`);
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
  /** What was lost before anything was asked for. */
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
  /** Of what was transcribed or failed in this run. */
  #pastBytes = 0;
  #past = 0;
  #startedAtMs = 0;

  constructor(input: CommandInput, { wishes, failures, signal }: BatchParts) {
    this.#input = input;
    this.#wishes = wishes;
    this.#keyed = { ...wishes, defaultModel: null };
    this.#signal = signal;
    this.#failures = [...failures];
    for (const { name, reason } of failures) this.#tell({ file: name, status: "failed", error: reason });
  }

  /** @returns what is still to be done: a result that is younger than its recording counts as done */
  async passOverDone(jobs: readonly Job[]): Promise<readonly Job[]> {
    if (this.#input.options.isSet("again")) return jobs;
    const waiting: Job[] = [];
    for (const job of jobs) {
      if (!(await isDone(job))) waiting.push(job);
      else {
        this.#passedOver++;
        this.#tell({ file: job.recording.name, status: "passed_over", results: [...job.paths.values()] });
      }
    }
    return waiting;
  }

  async run(jobs: readonly Job[], parallel: number): Promise<void> {
    const client = await openService(this.#input);
    // Once and quickly: a service that is not there is told before the first recording is read.
    await client.health({ maxRetries: 0, signal: this.#signal });
    if (this.#wishes.model === undefined) {
      this.#keyed = { ...this.#wishes, defaultModel: await defaultRecognizer(client, this.#signal) };
    }
    this.#total = jobs.length;
    this.#totalBytes = jobs.reduce((sum, { recording }) => sum + recording.sizeBytes, 0);
    this.#startedAtMs = performance.now();
    const size = `${jobs.length === 1 ? "one recording" : `${jobs.length} recordings`}, ${megabytes(this.#totalBytes)} MB`;
    this.#note(`${size}, ${parallel} at a time; Ctrl-C stops, and what is done stays`);
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

  /** Says what became of all. @throws {CommandError} or the signal's reason unless all is done */
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
        `${failed + left} of ${failed + left + this.#transcribed + this.#passedOver} not transcribed`,
      );
  }

  /** @returns whether it makes sense to go on */
  async #do(client: DauysClient, job: Job): Promise<boolean> {
    const { name, sizeBytes } = job.recording;
    const progress = new CallProgress(name);
    this.#inWork.set(job, progress);
    try {
      const transcription = await this.#transcribe(client, job, progress);
      this.#count(job, transcription);
    } catch (error) {
      // What was interrupted did not fail, and is not charged: its answer never left.
      if (this.#signal.aborted && error === this.#signal.reason) return false;
      const reason = reasonOf(error);
      this.#failures.push({ name, reason });
      this.#tell({ file: name, status: "failed", error: reason });
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
      this.#tell({ file: recording.name, status: "transcribed", results, ...bill });
    } else for (const path of results) printLine(path);
  }

  async #keyOf({ name, isUrl }: Recording): Promise<string | undefined> {
    if (this.#input.options.isSet("again")) return freshKey();
    // What is behind an address may change, so a key of its own would be refused then.
    return isUrl ? undefined : await contentKey(name, this.#keyed);
  }

  #parts(): readonly LinePart[] {
    const share = this.#totalBytes > 0 ? this.#pastBytes / this.#totalBytes : this.#past / this.#total;
    const failed = this.#failures.length === 0 ? [] : [`${this.#failures.length} failed`];
    const inWork = [...this.#inWork.values()].map((progress) => progress.short()).join(", ");
    return [`${this.#past} of ${this.#total}`, { share }, ...failed, ...this.#timeLeft(share), inWork];
  }

  /** Only an estimate, and said to be one: a recording's length shows when it is transcribed. */
  #timeLeft(share: number): readonly string[] {
    if (share === 0) return [];
    const leftMs = ((performance.now() - this.#startedAtMs) * (1 - share)) / share;
    return [`about ${clock(leftMs)} left`];
  }

  #summary(left: number): string {
    const bill = `${round(this.#audioSeconds)} s of audio, ${this.#credits} credits`;
    const replayed = this.#replayed === 0 ? "" : `, ${this.#replayed} of them charged before`;
    const parts = [`${this.#transcribed} transcribed (${bill}${replayed})`];
    if (this.#passedOver > 0)
      parts.push(`${this.#passedOver} passed over, which have their results (--again)`);
    if (this.#failures.length > 0) parts.push(`${this.#failures.length} failed`);
    if (left > 0) parts.push(`${left} not done: the same command goes on with them`);
    return parts.join(", ");
  }

  get #isJson(): boolean {
    return this.#input.options.isSet("json");
  }

  #tell(line: object): void {
    if (this.#isJson) printLine(JSON.stringify(line));
  }

  #note(text: string): void {
    if (!this.#input.options.isSet("quiet")) printNote(text);
  }
}

/** @throws {CommandError} when two recordings would write the same file */
function jobsOf(
  recordings: readonly Recording[],
  { folder, formats }: { readonly folder: string | null; readonly formats: readonly TranscriptFormat[] },
): readonly Job[] {
  const byPlace = new Map<string, Recording>();
  const endings = formats.length === 0 ? (["txt"] as const) : formats;
  return recordings.map((recording) => {
    const beside = recording.isUrl ? recording.place : recording.name;
    const place = folder === null ? beside : join(folder, recording.place);
    const other = byPlace.get(place);
    if (other !== undefined) {
      const both = `${other.name} and ${recording.name}`;
      throw new CommandError(
        `Cannot write ${place}.${endings[0]} for both ${both}: give each a folder of its own`,
      );
    }
    byPlace.set(place, recording);
    // The whole name with a second ending: talk.mp3 and talk.wav never meet.
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

/** @throws {UsageError} for what cannot hold several files */
async function folderOf({ options }: CommandInput): Promise<string | null> {
  const output = options.text("output");
  if (output === null) return null;
  if (output === "-" || output === "")
    throw new UsageError("several transcripts do not go to one place: say -o FOLDER, or leave -o out");
  const found = await stat(output).catch(() => null);
  if (found === null || found.isDirectory()) return output;
  throw new UsageError(`${output} is no folder: several transcripts have no room in one file`);
}

function parallelOf({ options }: CommandInput): number {
  const given = options.number("parallel") ?? PARALLEL_UNLESS_SAID;
  if (Number.isInteger(given) && given >= 1 && given <= MOST_PARALLEL) return given;
  throw new UsageError(`--parallel must be a whole number from 1 to ${MOST_PARALLEL}, received "${given}"`);
}

/** Whether the others would fail for the same reason, or be charged and lost. */
function isHopeless(error: unknown): boolean {
  if (error instanceof ApiError) return HOPELESS_CODES.includes(error.code);
  return error instanceof ConnectionError || error instanceof UnwrittenError;
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
