import type PgBoss from "pg-boss";
import type { ISql } from "postgres";
import { jobBody } from "../../../core/protocol/job-response.js";
import { type JobRow, jobColumns, jobId, toJob } from "./job-rows.js";
import { through, WEBHOOKS } from "./queue.js";

/** The part of a webhook that pg-boss stores. */
export interface StoredWebhook {
  readonly organizationId: string;
  readonly url: string;
  readonly body: string;
}

/** Returns the ID of the webhook for a job's end. A job has only this one. */
export function webhookId(uuid: string): string {
  return jobId(uuid).replace(/^job_/, "wh_");
}

/** Queues the webhook of a finished job, in the transaction that ends the job. */
export async function announceEnd(transaction: ISql, boss: PgBoss, uuid: string): Promise<void> {
  const [row] = await transaction<(JobRow & { organization_id: string; webhook_url: string | null })[]>`
    select ${jobColumns(transaction)}, organization_id, webhook_url from jobs where id = ${uuid}`;
  if (row === undefined || row.webhook_url === null) return;
  const job = jobBody(toJob(row));
  const body = JSON.stringify({ id: webhookId(uuid), type: `job.${job.status}`, job });
  const data: StoredWebhook = { organizationId: row.organization_id, url: row.webhook_url, body };
  await boss.send(WEBHOOKS, data, { id: uuid, db: through(transaction) });
}
