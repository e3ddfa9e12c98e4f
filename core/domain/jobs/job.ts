import type { ChannelHandling, RawAudio } from "../audio/channels.js";
import type { HotWord } from "../decoding/hot-words.js";
import type { SpeakerWishes } from "../diarization/speaker-turns.js";
import type { ReadingOptions } from "../text/display/reading.js";

/** Statuses that clients see, in the order of a job's life. */
export const JOB_STATUSES = ["queued", "running", "done", "failed", "cancelled"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Delivery status of a job's webhook. */
export type WebhookState = "pending" | "delivered" | "failed";

/** Options of a transcription that runs later. */
export interface JobOptions {
  /** Model id. */
  readonly model: string;
  readonly timestamps: boolean;
  readonly hotWords: readonly HotWord[];
  readonly reading: ReadingOptions | null;
  /** Speaker labels; absent if not requested. */
  readonly speakers?: SpeakerWishes | undefined;
  /** Absent for mixed channels. */
  readonly channels?: ChannelHandling;
  /** Present for samples without a header. */
  readonly raw?: RawAudio;
}

/** A transcription that outlives its request. */
export interface Job {
  /** `job_` and 32 hex digits. */
  readonly id: string;
  readonly status: JobStatus;
  readonly options: JobOptions;
  readonly fileName: string | null;
  readonly url: string | null;
  /** Transcribed share of the audio, 0 to 1. */
  readonly share: number;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** When the job and its result are deleted. */
  readonly expiresAt: Date | null;
  readonly audioSeconds: number | null;
  /** Credits charged; null until the job is done. */
  readonly credits: number | null;
  readonly error: { readonly code: string; readonly detail: string } | null;
  /** Null without a webhook. */
  readonly webhook: WebhookState | null;
}

/**
 * Returns the id of a run's hold. Every run has its own, since a closed hold can never be opened again.
 * @param attempt number of the run
 */
export function holdIdOf({ id, attempt }: { readonly id: string; readonly attempt: number }): string {
  return `${id}-${attempt}`;
}

export interface JobPage {
  readonly status: JobStatus | null;
  readonly limit: number;
  /** Id of the last job of the previous page. */
  readonly after: string | null;
  /** Only the job that was submitted with it. */
  readonly idempotencyKey: string | null;
}
