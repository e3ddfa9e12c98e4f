import type { ISql } from "postgres";
import type { Job, JobOptions, JobStatus, WebhookState } from "../../../core/domain/jobs/job.js";
import type { JobRun } from "../../../core/ports/jobs.js";

const PREFIX = "job_";
const JOB_ID = /^job_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

export function jobId(uuid: string): string {
  return PREFIX + uuid.replaceAll("-", "");
}

/** Returns the ID used in the database; null if the text is not a job ID. */
export function uuidOf(id: string): string | null {
  const parts = JOB_ID.exec(id);
  return parts === null ? null : parts.slice(1).join("-");
}

/** Returns the UUID of a job whose ID came from this service. */
export function ownUuid({ id }: Pick<JobRun, "id">): string {
  const uuid = uuidOf(id);
  if (uuid === null) throw new Error(`Cannot find a job: its id must be one of ours, received ${id}`);
  return uuid;
}

export interface JobRow {
  readonly id: string;
  readonly status: JobStatus;
  readonly options: JobOptions;
  readonly file_name: string | null;
  readonly url: string | null;
  readonly share: number;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly expires_at: Date | null;
  readonly audio_seconds: number | null;
  readonly credits: number | null;
  readonly error_code: string | null;
  readonly error_detail: string | null;
  readonly webhook_state: WebhookState | null;
}

/** Selects the columns of a `JobRow`. */
export function jobColumns(sql: ISql) {
  return sql`id, status, options, file_name, url, share, created_at, started_at, ended_at, expires_at, audio_seconds,
    credits, error_code, error_detail, webhook_state`;
}

export function toJob(row: JobRow): Job {
  const { error_code: code, error_detail: detail } = row;
  return {
    id: jobId(row.id),
    status: row.status,
    options: row.options,
    fileName: row.file_name,
    url: row.url,
    share: row.share,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    expiresAt: row.expires_at,
    audioSeconds: row.audio_seconds,
    credits: row.credits,
    error: code === null ? null : { code, detail: detail ?? "" },
    webhook: row.webhook_state,
  };
}
