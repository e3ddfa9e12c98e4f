import type { Job } from "../client/job-types.js";
import type { DauysClient, NodeAudioSource, Transcribed } from "../client/node.js";
import { CommandError } from "./command.js";
import type { KeyedOptions } from "./idempotency-key.js";
import type { CallProgress } from "./progress.js";

/** Most jobs to wait for at the same time. Their uploads have a separate limit. */
export const MOST_JOBS = 200;
/** Pause for each waiting job, so that many jobs do not flood the service with requests. */
const POLL_MS_PER_JOB = 50;
const LEAST_POLL_MS = 2_000;

/** Lets a limited number of uploads run at a time, in the order of their requests. */
export class UploadGate {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async use<T>(upload: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await upload();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

export interface JobCall {
  readonly source: NodeAudioSource;
  readonly options: KeyedOptions;
  /** Undefined for sources whose job cannot be found again. */
  readonly idempotencyKey: string | undefined;
  readonly maxRetries: number;
  readonly signal: AbortSignal;
  readonly progress: CallProgress;
  readonly uploads: UploadGate;
  /** Number of jobs that are being waited for. */
  readonly waiting: number;
}

/**
 * Transcribes a recording by a job. If an earlier command created a job for the same bytes and options, waits
 * for that one without another upload.
 *
 * @throws {CommandError} if the job failed or was cancelled
 */
export async function transcribeByJob(client: DauysClient, call: JobCall): Promise<Transcribed> {
  const { maxRetries, signal, progress } = call;
  const earlier = await earlierJob(client, call);
  const job = earlier ?? (await call.uploads.use(() => submitted(client, call)));
  progress.transcribing();
  const pollMs = Math.max(LEAST_POLL_MS, call.waiting * POLL_MS_PER_JOB);
  const ended = await client.jobs.wait(job.id, {
    ...{ maxRetries, signal, pollMs },
    onChange: ({ status, share }) => {
      if (status === "running") progress.transcribed(share);
    },
  });
  if (ended.status !== "done") throw new CommandError(failureOf(ended));
  const transcription = await client.jobs.result(ended.id, { maxRetries, signal });
  return { ...transcription, request_id: null, is_replayed: earlier !== null };
}

async function submitted(client: DauysClient, call: JobCall): Promise<Job> {
  const { source, options, idempotencyKey, maxRetries, signal, progress } = call;
  const { defaultModel: _defaultModel, ...wishes } = options;
  return client.jobs.submit(source, {
    ...wishes,
    ...{ idempotencyKey, maxRetries, signal },
    onUploadProgress: progress.sent.bind(progress),
  });
}

/** Finds the job of an earlier command. Deletes a failed or cancelled job, which frees its key. */
async function earlierJob(
  client: DauysClient,
  { idempotencyKey, maxRetries, signal }: JobCall,
): Promise<Job | null> {
  if (idempotencyKey === undefined) return null;
  const { data } = await client.jobs.list({ idempotencyKey, limit: 1, maxRetries, signal });
  const [job] = data;
  if (job === undefined) return null;
  if (job.status !== "failed" && job.status !== "cancelled") return job;
  await client.jobs.end(job.id, { signal });
  return null;
}

function failureOf({ id, status, error }: Job): string {
  return error === null ? `the job ${id} was ${status}` : `${error.detail} (${error.code}, job ${id})`;
}
