import type PgBoss from "pg-boss";
import type { ISql, Sql } from "postgres";
import { holdIdOf, type Job, type JobOptions } from "../../../core/domain/jobs/job.js";
import type {
  JobCounts,
  JobQueue,
  JobResult,
  JobRun,
  WebhookAttempt,
  WebhookQueue,
} from "../../../core/ports/jobs.js";
import { postHold, retryingConflicts, voidLeftHold } from "../ledger/holds.js";
import { announceEnd, type StoredWebhook, webhookId } from "./announce.js";
import type { AudioReader } from "./audio-reader.js";
import { jobId, ownUuid } from "./job-rows.js";
import { TRANSCRIPTIONS, through, WEBHOOKS } from "./queue.js";
import type { WebhookSecrets } from "./webhook-secrets.js";

export interface PostgresJobQueueParts {
  readonly sql: Sql;
  readonly boss: PgBoss;
  readonly audio: AudioReader;
  readonly serviceId: string;
  readonly secrets: WebhookSecrets;
  /** Jobs whose audio this service is storing. */
  readonly storing: ReadonlySet<string>;
  readonly keptMs: number;
}

/** Most rows that one statement of the sweep deletes. */
const REMOVED_AT_ONCE = 500;

/** A job of this age that no service is storing any more was only half stored. */
const STORED_FROM = "10 seconds";

/** Thrown to roll back a transaction. */
class Undone extends Error {
  readonly outcome: "not-ours" | "hold-lost";

  constructor(outcome: "not-ours" | "hold-lost") {
    super(outcome);
    this.outcome = outcome;
  }
}

/**
 * Takes jobs from pg-boss's queue and records how they end. Each change of a job is one transaction together
 * with the changes to the queue, the ledger and its webhook, so no crash can separate them. A change applies
 * only to the run that made it: every run has its own number.
 */
export class PostgresJobQueue implements JobQueue, WebhookQueue {
  readonly #parts: PostgresJobQueueParts;

  constructor(parts: PostgresJobQueueParts) {
    this.#parts = parts;
  }

  take(): Promise<JobRun | null> {
    const { sql, boss, serviceId } = this.#parts;
    return sql.begin(async (transaction) => {
      const [next] = await boss.fetch(TRANSCRIPTIONS, { batchSize: 1, db: through(transaction) } as never);
      if (next === undefined) return null;
      const [row] = await transaction<RunRow[]>`
        update jobs set status = 'running', attempt = attempt + 1, service_id = ${serviceId}, share = 0,
          started_at = coalesce(started_at, now())
        where id = ${next.id} and status = 'queued'
        returning id, attempt, organization_id, key_id, options, file_name, url, losses`;
      if (row !== undefined) return toRun(row);
      await boss.deleteJob(TRANSCRIPTIONS, next.id, { db: through(transaction) });
      return null;
    });
  }

  audioOf(run: JobRun): AsyncIterable<Uint8Array> {
    return this.#parts.audio.parts(ownUuid(run));
  }

  async progress(run: JobRun, share: number): Promise<boolean> {
    const rows = await this.#parts.sql`
      update jobs set share = ${share} where ${this.#isRun(this.#parts.sql, run)} returning id`;
    return rows.length > 0;
  }

  async finish(run: JobRun, { holdId, units, audioSeconds, credits, result }: JobResult) {
    const { sql, boss, keptMs } = this.#parts;
    const uuid = ownUuid(run);
    try {
      return await retryingConflicts(() =>
        sql.begin(async (transaction) => {
          await boss.deleteJob(TRANSCRIPTIONS, uuid, { db: through(transaction) });
          const rows = await transaction`
            update jobs set status = 'done', share = 1, result = ${result}, audio_seconds = ${audioSeconds},
              credits = ${credits}, ended_at = now(),
              expires_at = now() + ${keptMs}::float8 * interval '1 millisecond'
            where ${this.#isRun(transaction, run)} returning id`;
          if (rows.length === 0) throw new Undone("not-ours");
          // Before the account is locked: it takes 10 ms, for which the organization's requests would wait.
          await transaction`delete from job_audio where job_id = ${uuid}`;
          const charged = await postHold(transaction, { id: holdId, units, state: "settled" });
          if (charged === null) throw new Undone("hold-lost");
          await announceEnd(transaction, boss, uuid);
          return "done" as const;
        }),
      );
    } catch (error) {
      if (error instanceof Undone) return error.outcome;
      throw error;
    }
  }

  async fail(run: JobRun, { code, detail }: NonNullable<Job["error"]>): Promise<void> {
    const { sql, boss, keptMs } = this.#parts;
    const uuid = ownUuid(run);
    await unlessUndone(
      sql.begin(async (transaction) => {
        await boss.deleteJob(TRANSCRIPTIONS, uuid, { db: through(transaction) });
        const rows = await transaction`
          update jobs set status = 'failed', error_code = ${code}, error_detail = ${detail}, ended_at = now(),
            expires_at = now() + ${keptMs}::float8 * interval '1 millisecond'
          where ${this.#isRun(transaction, run)} returning id`;
        if (rows.length === 0) throw new Undone("not-ours");
        await transaction`delete from job_audio where job_id = ${uuid}`;
        await announceEnd(transaction, boss, uuid);
      }),
    );
  }

  async putBack(run: JobRun, isLost: boolean): Promise<void> {
    const { sql, boss } = this.#parts;
    const change = () =>
      sql.begin(async (transaction) => {
        await boss.fail(TRANSCRIPTIONS, ownUuid(run), {}, { db: through(transaction) });
        const rows = await transaction`
          update jobs set status = 'queued', share = 0, losses = losses + ${isLost ? 1 : 0}
          where ${this.#isRun(transaction, run)} returning id`;
        if (rows.length === 0) throw new Undone("not-ours");
        // Otherwise this hold might use up credits, or the cap of its key, that the next run needs.
        await voidLeftHold(transaction, holdIdOf(run));
      });
    await unlessUndone(retryingConflicts(change));
  }

  async sweep(isRunning: (id: string) => Promise<boolean>): Promise<number> {
    const { sql, boss, serviceId, storing } = this.#parts;
    // Expire webhooks whose service died while sending them.
    await boss.expire();
    const rows = await sql<(RunRow & { is_own: boolean })[]>`
      select id, attempt, organization_id, key_id, options, file_name, url, losses, service_id = ${serviceId} as is_own
      from jobs where status = 'running' and (service_id = ${serviceId}
        or not exists (select from service_instances where service_instances.id = jobs.service_id))`;
    let lost = 0;
    for (const row of rows) {
      if (row.is_own && (await isRunning(jobId(row.id)))) continue;
      await this.putBack(toRun(row), true);
      lost++;
    }
    await sql`
      delete from jobs where status = 'storing'
        and (not exists (select from service_instances where service_instances.id = jobs.service_id)
          or (service_id = ${serviceId} and id <> all (${[...storing]}::uuid[])
            and created_at < now() - ${STORED_FROM}::interval))`;
    await sql`
      delete from jobs where id in (
        select id from jobs where expires_at < now() order by expires_at limit ${REMOVED_AT_ONCE}
        for update skip locked)`;
    return lost;
  }

  async counts(): Promise<JobCounts> {
    const [row] = await this.#parts.sql<JobCounts[]>`
      select count(*) filter (where status = 'queued') as queued,
        count(*) filter (where status = 'running') as running
      from jobs where status in ('storing', 'queued', 'running')`;
    return row ?? { queued: 0, running: 0 };
  }

  async takeWebhooks(most: number): Promise<readonly WebhookAttempt[]> {
    const { boss, secrets } = this.#parts;
    const taken = await boss.fetch<StoredWebhook>(WEBHOOKS, { batchSize: most, includeMetadata: true });
    return await Promise.all(
      taken.map(async ({ id, data, retryCount, retryLimit }) => ({
        id: webhookId(id),
        jobId: jobId(id),
        url: data.url,
        body: data.body,
        secrets: await secrets.valid(data.organizationId),
        isLast: retryCount >= retryLimit,
      })),
    );
  }

  delivered(attempt: WebhookAttempt): Promise<void> {
    return this.#endWebhook(attempt, "delivered");
  }

  async undelivered(attempt: WebhookAttempt, isFinal: boolean): Promise<void> {
    if (isFinal || attempt.isLast) return this.#endWebhook(attempt, "failed");
    await this.#parts.boss.fail(WEBHOOKS, ownUuid({ id: attempt.jobId }), {});
  }

  async #endWebhook({ jobId: id }: WebhookAttempt, state: "delivered" | "failed"): Promise<void> {
    const { sql, boss } = this.#parts;
    const uuid = ownUuid({ id });
    await sql.begin(async (transaction) => {
      await boss.deleteJob(WEBHOOKS, uuid, { db: through(transaction) });
      await transaction`update jobs set webhook_state = ${state} where id = ${uuid}`;
    });
  }

  #isRun(sql: ISql, run: JobRun) {
    return sql`id = ${ownUuid(run)} and attempt = ${run.attempt} and status = 'running'`;
  }
}

interface RunRow {
  readonly id: string;
  readonly attempt: number;
  readonly organization_id: string;
  readonly key_id: string;
  readonly options: JobOptions;
  readonly file_name: string | null;
  readonly url: string | null;
  readonly losses: number;
}

function toRun(row: RunRow): JobRun {
  return {
    id: jobId(row.id),
    attempt: row.attempt,
    organizationId: row.organization_id,
    keyId: row.key_id,
    options: row.options,
    fileName: row.file_name,
    url: row.url,
    losses: row.losses,
  };
}

async function unlessUndone(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error;
  });
}
