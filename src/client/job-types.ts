export type JobStatus = "queued" | "running" | "done" | "failed" | "cancelled";

/** A transcription that outlives its request. */
export interface Job {
  /** `job_` and 32 hex digits. */
  readonly id: string;
  readonly status: JobStatus;
  /** Transcribed share of the audio, 0 to 1. */
  readonly share: number;
  readonly model: string;
  readonly file_name: string | null;
  /** Address of the audio; null for an upload. */
  readonly url: string | null;
  /** Times are ISO 8601 in UTC. */
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** When the job and its result are deleted. */
  readonly expires_at: string | null;
  /** Known once it is done, like the credits. */
  readonly audio_seconds: number | null;
  readonly credits_charged: number | null;
  /** Why it failed. */
  readonly error: JobError | null;
  /** Null without a webhook. */
  readonly webhook: "pending" | "delivered" | "failed" | null;
}

export interface JobError {
  /** A stable name of the failure. */
  readonly code: string;
  readonly detail: string;
}

export interface JobList {
  /** Newest first. */
  readonly data: readonly Job[];
  /** `after` of the next page; null on the last one. */
  readonly next: string | null;
}

export interface JobEnd {
  readonly id: string;
  readonly status: "cancelled" | "deleted";
}

export interface WebhookSecret {
  /** Key of the HMAC in `Dauys-Signature`. */
  readonly secret: string;
  readonly created_at: string;
}

/** Body of a webhook: its job has ended. */
export interface Webhook {
  /** The same for all attempts, as in `Dauys-Webhook-Id`. */
  readonly id: string;
  readonly type: "job.done" | "job.failed" | "job.cancelled";
  readonly job: Job;
}
