import type { Sql } from "postgres";
import type { Log } from "../../../core/observe/log.js";
import type { JobQueue, Jobs, WebhookQueue } from "../../../core/ports/jobs.js";
import type { AudioReader } from "./audio-reader.js";
import { PostgresJobQueue } from "./postgres-job-queue.js";
import { type JobLimits, PostgresJobs } from "./postgres-jobs.js";
import { openQueue } from "./queue.js";
import { WebhookSecrets } from "./webhook-secrets.js";

export type { JobLimits } from "./postgres-jobs.js";

export interface StoredJobs {
  /** The side that handles requests. */
  readonly jobs: Jobs;
  /** The side for the service that runs jobs. */
  readonly queue: JobQueue & WebhookQueue;
}

export function openJobs(parts: {
  readonly sql: Sql;
  readonly audio: AudioReader;
  readonly queueSchema: string;
  readonly serviceId: string;
  readonly limits: JobLimits;
  /** Derives a secret for one purpose from the pepper. */
  readonly derive: (purpose: string) => Uint8Array;
  readonly log: Log;
  readonly onQueued: () => void;
}): StoredJobs {
  const { sql, audio, queueSchema, serviceId, limits, derive, log, onQueued } = parts;
  const boss = openQueue(sql, queueSchema);
  const secrets = new WebhookSecrets(sql, derive);
  const storing = new Set<string>();
  return {
    jobs: new PostgresJobs({ sql, boss, serviceId, limits, secrets, storing, log, onQueued }),
    queue: new PostgresJobQueue({ sql, boss, audio, serviceId, secrets, storing, keptMs: limits.keptMs }),
  };
}
