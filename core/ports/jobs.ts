import type { Job, JobOptions, JobPage } from "../domain/jobs/job.js";

/** A job to submit. Its audio is either stored with it or fetched from `url`. */
export interface NewJob {
  readonly organizationId: string;
  readonly keyId: string;
  readonly options: JobOptions;
  readonly fileName: string | null;
  readonly url: string | null;
  readonly webhookUrl: string | null;
  /** Both null without an idempotency key. */
  readonly idempotencyKey: string | null;
  readonly fingerprint: Uint8Array | null;
}

export type Submitted =
  | { readonly type: "submitted" | "replayed"; readonly job: Job }
  /** A submission under this idempotency key is still in progress. */
  | { readonly type: "in-use" }
  /** The key belongs to another job. */
  | { readonly type: "reused" }
  /** Too many jobs, or too much of their audio, are waiting. */
  | { readonly type: "too-many-jobs"; readonly most: number }
  | { readonly type: "storage-full" };

/** Jobs of organizations, for their requests. All methods throw `AUTH_UNAVAILABLE` without a database. */
export interface Jobs {
  /**
   * Stores a job and its audio, and queues it.
   * @param audio null for a URL; `bytes` is its length
   */
  submit(
    job: NewJob,
    audio: { readonly bytes: number; readonly parts: AsyncIterable<Uint8Array> } | null,
  ): Promise<Submitted>;
  /** Whether a job was submitted, or is being submitted, with this idempotency key. */
  isKnown(organizationId: string, idempotencyKey: string): Promise<boolean>;
  /** Returns null for ids of other organizations, and after the job has expired. */
  find(organizationId: string, id: string): Promise<Job | null>;
  /** Newest first. */
  list(organizationId: string, page: JobPage): Promise<readonly Job[]>;
  /** Cancels a job that has not ended, and deletes one that has. */
  end(organizationId: string, id: string): Promise<"cancelled" | "deleted" | null>;
  /** Returns the JSON of the transcription, with all times; null unless the job is done. */
  result(organizationId: string, id: string): Promise<string | null>;
  /** Returns the secret that signs the organization's webhooks. */
  webhookSecret(organizationId: string): Promise<WebhookSecret>;
  /** Replaces the secret; for a day, webhooks are signed with both the old and the new one. */
  rotateWebhookSecret(organizationId: string): Promise<WebhookSecret>;
}

export interface WebhookSecret {
  readonly secret: string;
  readonly createdAt: Date;
}

/** One run of a job by this service. It can change the job until another run of it starts. */
export interface JobRun {
  readonly id: string;
  /** Counts from 1. */
  readonly attempt: number;
  readonly organizationId: string;
  readonly keyId: string;
  readonly options: JobOptions;
  readonly fileName: string | null;
  readonly url: string | null;
  /** Number of earlier runs that were lost. */
  readonly losses: number;
}

export interface JobResult {
  /** Open hold that pays for the job. */
  readonly holdId: string;
  /** Number of samples that the job charges for. */
  readonly units: number;
  readonly audioSeconds: number;
  readonly credits: number;
  /** JSON of the transcription. */
  readonly result: string;
}

export interface JobCounts {
  readonly queued: number;
  readonly running: number;
}

/** The queue as a running service sees it. Methods fail without a database. */
export interface JobQueue {
  /** Takes the next job; null if there is none. */
  take(): Promise<JobRun | null>;
  /** Returns the parts of a job's audio; each is valid until the next is requested. */
  audioOf(run: JobRun): AsyncIterable<Uint8Array>;
  /** Records progress. False if another run of the job has started. */
  progress(run: JobRun, share: number): Promise<boolean>;
  /**
   * Stores the result and charges for it in one transaction. `hold-lost`: the hold was closed meanwhile, and
   * nothing was changed.
   */
  finish(run: JobRun, result: JobResult): Promise<"done" | "not-ours" | "hold-lost">;
  /** Ends the job without a result or a charge. */
  fail(run: JobRun, error: NonNullable<Job["error"]>): Promise<void>;
  /** Puts the job back. @param isLost counts the run as lost */
  putBack(run: JobRun, isLost: boolean): Promise<void>;
  /**
   * Puts back jobs of stopped services, and jobs that this service does not run although the database says
   * so. Removes expired jobs, and half-stored jobs of stopped services.
   * @returns the number of lost runs
   */
  sweep(isRunning: (id: string) => Promise<boolean>): Promise<number>;
  counts(): Promise<JobCounts>;
}

export interface WebhookAttempt {
  /** The same for all attempts. */
  readonly id: string;
  readonly jobId: string;
  readonly url: string;
  readonly body: string;
  /** The current secret, and for a day after a rotation the former one. */
  readonly secrets: readonly string[];
  readonly isLast: boolean;
}

export interface WebhookQueue {
  /** Takes webhooks that are due. */
  takeWebhooks(most: number): Promise<readonly WebhookAttempt[]>;
  delivered(attempt: WebhookAttempt): Promise<void>;
  /** Retries later, unless it was the last attempt. @param isFinal the receiver rejects further attempts */
  undelivered(attempt: WebhookAttempt, isFinal: boolean): Promise<void>;
}

/** Sends webhooks without reaching private addresses. */
export interface WebhookSender {
  /** Checks the text of an address. @throws {ServiceError} `INVALID_REQUEST` */
  check(url: string): void;
  /** Returns the status of the response. Redirects are not followed. @throws if there is none */
  post(
    url: string,
    sent: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
    signal: AbortSignal,
  ): Promise<number>;
}
