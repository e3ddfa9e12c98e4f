import { randomUUID } from "node:crypto";
import type PgBoss from "pg-boss";
import type { ISql, Sql } from "postgres";
import type { Job, JobPage } from "../../../core/domain/jobs/job.js";
import type { Log } from "../../../core/observe/log.js";
import type { Jobs, NewJob, Submitted, WebhookSecret } from "../../../core/ports/jobs.js";
import { orUnavailable } from "../postgres/within.js";
import { announceEnd } from "./announce.js";
import { PART_BYTES } from "./audio-reader.js";
import { type JobRow, jobColumns, toJob, uuidOf } from "./job-rows.js";
import { TRANSCRIPTIONS, through } from "./queue.js";
import type { WebhookSecrets } from "./webhook-secrets.js";

export interface JobLimits {
  /** Limit on the audio of waiting jobs of all organizations. One organization may use half of it. */
  readonly storageBytes: number;
  /** Most waiting jobs of one organization. */
  readonly waitingMost: number;
  /** Time for which a finished job is kept. */
  readonly keptMs: number;
}

export interface PostgresJobsParts {
  readonly sql: Sql;
  readonly boss: PgBoss;
  readonly serviceId: string;
  readonly limits: JobLimits;
  readonly secrets: WebhookSecrets;
  /** Jobs whose audio this service is storing. */
  readonly storing: Set<string>;
  readonly log: Log;
  /** Called when a job was queued. */
  readonly onQueued: () => void;
}

const UNAVAILABLE = "jobs are not available at the moment";

type Claim = { readonly type: "claimed" } | Exclude<Submitted, { readonly type: "submitted" }>;

/** Manages jobs and their audio in the tables `jobs` and `job_audio`, for requests of organizations. */
export class PostgresJobs implements Jobs {
  readonly #parts: PostgresJobsParts;

  constructor(parts: PostgresJobsParts) {
    this.#parts = parts;
  }

  async submit(job: NewJob, audio: Parameters<Jobs["submit"]>[1]): Promise<Submitted> {
    const id = randomUUID();
    const { storing } = this.#parts;
    storing.add(id);
    try {
      return await this.#submit(id, job, audio);
    } finally {
      storing.delete(id);
    }
  }

  async #submit(id: string, job: NewJob, audio: Parameters<Jobs["submit"]>[1]): Promise<Submitted> {
    const claim = await this.#ask(this.#claim(id, job, audio?.bytes ?? 0));
    if (claim.type !== "claimed") return claim;
    try {
      if (audio !== null) await this.#store(id, audio.parts);
      const queued = await this.#ask(this.#queue(id, job.organizationId));
      this.#parts.onQueued();
      return { type: "submitted", job: queued };
    } catch (error) {
      // If this fails too, the sweep deletes it.
      await this.#parts.sql`delete from jobs where id = ${id} and status = 'storing'`.catch(() => {});
      throw error;
    }
  }

  async isKnown(organizationId: string, idempotencyKey: string): Promise<boolean> {
    const { sql } = this.#parts;
    const rows = await this.#ask(
      sql`select from jobs where organization_id = ${organizationId} and idempotency_key = ${idempotencyKey}`,
    );
    return rows.length > 0;
  }

  async find(organizationId: string, id: string): Promise<Job | null> {
    const uuid = uuidOf(id);
    if (uuid === null) return null;
    const { sql } = this.#parts;
    const [row] = await this.#ask(
      sql<JobRow[]>`
        select ${jobColumns(sql)} from jobs
        where id = ${uuid} and organization_id = ${organizationId} and ${this.#visible()}`,
    );
    return row === undefined ? null : toJob(row);
  }

  async list(
    organizationId: string,
    { status, limit, after, idempotencyKey }: JobPage,
  ): Promise<readonly Job[]> {
    const { sql } = this.#parts;
    const afterId = after === null ? null : uuidOf(after);
    const rows = await this.#ask(
      sql<JobRow[]>`
        select ${jobColumns(sql)} from jobs
        where organization_id = ${organizationId} and ${this.#visible()}
          and (${status}::text is null or status = ${status})
          and (${idempotencyKey}::text is null or idempotency_key = ${idempotencyKey})
          and (${afterId}::uuid is null or (created_at, id) < (
            select created_at, id from jobs as last
            where last.id = ${afterId}::uuid and last.organization_id = ${organizationId}))
        order by created_at desc, id desc limit ${limit}`,
    );
    return rows.map(toJob);
  }

  async end(organizationId: string, id: string): Promise<"cancelled" | "deleted" | null> {
    const uuid = uuidOf(id);
    if (uuid === null || (await this.find(organizationId, id)) === null) return null;
    const { sql, boss, limits } = this.#parts;
    return await this.#ask(
      sql.begin(async (transaction) => {
        // Always lock in this order: the queue's row, the job's, the hold's.
        await boss.deleteJob(TRANSCRIPTIONS, uuid, { db: through(transaction) });
        const [row] = await transaction<JobRow[]>`
          update jobs set status = 'cancelled', ended_at = now(),
            expires_at = now() + ${limits.keptMs}::float8 * interval '1 millisecond'
          where id = ${uuid} and organization_id = ${organizationId} and status in ('queued', 'running')
          returning ${jobColumns(transaction)}`;
        if (row === undefined) {
          await transaction`delete from jobs where id = ${uuid} and organization_id = ${organizationId}`;
          return "deleted" as const;
        }
        await transaction`delete from job_audio where job_id = ${uuid}`;
        await announceEnd(transaction, boss, uuid);
        return "cancelled" as const;
      }),
    );
  }

  async result(organizationId: string, id: string): Promise<string | null> {
    const uuid = uuidOf(id);
    if (uuid === null) return null;
    const { sql } = this.#parts;
    const [row] = await this.#ask(
      sql<{ result: string | null }[]>`
        select result from jobs
        where id = ${uuid} and organization_id = ${organizationId} and ${this.#visible()}`,
    );
    return row?.result ?? null;
  }

  webhookSecret(organizationId: string): Promise<WebhookSecret> {
    return this.#ask(this.#parts.secrets.current(organizationId));
  }

  rotateWebhookSecret(organizationId: string): Promise<WebhookSecret> {
    return this.#ask(this.#parts.secrets.rotate(organizationId));
  }

  /** Registers the job, which reserves its idempotency key and the space for its audio. */
  async #claim(id: string, job: NewJob, bytes: number): Promise<Claim> {
    const full = await this.#limited(job.organizationId, bytes);
    const known = await this.#known(job);
    if (known !== null) return known;
    if (full !== null) return full;
    const { sql, serviceId } = this.#parts;
    const rows = await sql`
      insert into jobs (id, organization_id, key_id, status, service_id, options, file_name, url, audio_bytes,
        idempotency_key, fingerprint, webhook_url, webhook_state)
      values (${id}, ${job.organizationId}, ${job.keyId}, 'storing', ${serviceId}, ${sql.json(job.options as never)},
        ${job.fileName}, ${job.url}, ${bytes}, ${job.idempotencyKey},
        ${job.fingerprint === null ? null : Buffer.from(job.fingerprint)}, ${job.webhookUrl},
        ${job.webhookUrl === null ? null : "pending"})
      on conflict (organization_id, idempotency_key) where idempotency_key is not null do nothing
      returning id`;
    return rows.length > 0 ? { type: "claimed" } : ((await this.#known(job)) ?? { type: "in-use" });
  }

  async #known({ organizationId, idempotencyKey, fingerprint }: NewJob): Promise<Claim | null> {
    if (idempotencyKey === null || fingerprint === null) return null;
    const { sql } = this.#parts;
    const [row] = await sql<(JobRow & { is_same: boolean; is_storing: boolean })[]>`
      select ${jobColumns(sql)}, fingerprint = ${Buffer.from(fingerprint)} as is_same, status = 'storing' as is_storing
      from jobs where organization_id = ${organizationId} and idempotency_key = ${idempotencyKey}`;
    if (row === undefined) return null;
    if (!row.is_same) return { type: "reused" };
    return row.is_storing ? { type: "in-use" } : { type: "replayed", job: toJob(row) };
  }

  async #limited(organizationId: string, bytes: number): Promise<Claim | null> {
    const { sql, limits } = this.#parts;
    const [sums] = await sql<{ own_jobs: number; own_bytes: number; all_bytes: number }[]>`
      select count(*) filter (where organization_id = ${organizationId}) as own_jobs,
        coalesce(sum(audio_bytes) filter (where organization_id = ${organizationId}), 0) as own_bytes,
        coalesce(sum(audio_bytes), 0) as all_bytes
      from jobs where status in ('storing', 'queued', 'running')`;
    const { own_jobs: own = 0, own_bytes: ownBytes = 0, all_bytes: allBytes = 0 } = sums ?? {};
    if (own >= limits.waitingMost) return { type: "too-many-jobs", most: limits.waitingMost };
    const isFull = allBytes + bytes > limits.storageBytes || ownBytes + bytes > limits.storageBytes / 2;
    return bytes > 0 && isFull ? { type: "storage-full" } : null;
  }

  async #store(id: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    let part = 0;
    for await (const bytes of inPieces(parts, PART_BYTES)) {
      const { sql } = this.#parts;
      await this.#ask(sql`insert into job_audio (job_id, part, bytes) values (${id}, ${part}, ${bytes})`);
      part++;
    }
  }

  /**
   * Queues a job. Organizations with fewer waiting jobs go first, so one with thousands does not block
   * others.
   */
  #queue(id: string, organizationId: string): Promise<Job> {
    const { sql, boss } = this.#parts;
    return sql.begin(async (transaction) => {
      const [row] = await transaction<JobRow[]>`
        update jobs set status = 'queued', created_at = now() where id = ${id} and status = 'storing'
        returning ${jobColumns(transaction)}`;
      if (row === undefined)
        throw new Error("Cannot queue the job: it was removed while its audio was stored");
      const waiting = await waitingOf(transaction, organizationId);
      await boss.send(TRANSCRIPTIONS, {}, { id, priority: -waiting, db: through(transaction) });
      return toJob(row);
    });
  }

  #visible() {
    return this.#parts.sql`status <> 'storing' and (expires_at is null or expires_at > now())`;
  }

  #ask<T>(query: Promise<T>): Promise<T> {
    return orUnavailable(query, UNAVAILABLE, (cause) => {
      this.#parts.log.warn({ err: cause }, "jobs not available");
    });
  }
}

async function waitingOf(sql: ISql, organizationId: string): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select count(*) as waiting from jobs
    where organization_id = ${organizationId} and status in ('storing', 'queued', 'running')`;
  return row?.waiting ?? 0;
}

/** Regroups bytes into pieces of `length`; the last piece may be shorter. */
async function* inPieces(
  parts: AsyncIterable<Uint8Array>,
  length: number,
): AsyncGenerator<Buffer, void, undefined> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    for (let start = 0; start < part.length; ) {
      const taken = part.subarray(start, start + length - bytes);
      held.push(taken);
      bytes += taken.length;
      start += taken.length;
      if (bytes < length) continue;
      yield Buffer.concat(held);
      held = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(held);
}
