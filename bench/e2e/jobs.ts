import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import { DauysClient } from "../../src/client/node.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { percentiles } from "../support/percentiles.js";
import { startServiceProcess } from "../support/service-process.js";
import { median } from "../support/synthesis-floor.js";

const SENTENCE = "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады. ";
/** Recordings of about three seconds, one minute and two minutes. */
const SENTENCES = { short: 1, long: 20, job: 40 };
const LENGTHS = ["short", "long"] as const;
/** A worker for each core, the default, and a single one, which requests and jobs share. */
const WORKERS = ["auto", "1"] as const;
const SIZES = {
  full: { jobs: 10_000, rounds: 4, requests: 10 },
  smoke: { jobs: 50, rounds: 1, requests: 1 },
};

/** PostgreSQL vacuums and writes back inserted and deleted jobs, which is not part of the load. */
const SETTLING_MS = 10_000;
const RESAMPLINGS = 2_000;

type Sql = ReturnType<typeof connect>;

type Length = (typeof LENGTHS)[number];

/** Milliseconds of each request, by round. */
interface Samples {
  readonly without: number[][];
  readonly queued: number[][];
}

/**
 * `npm run bench -- jobs`: the time of short and long synchronous transcriptions without jobs, and with 10,000 of
 * them in the queue and one running, by `FILE_WORKERS`. Half of a round's requests without jobs come before those
 * with them, and half after, since machines become faster and slower. The jobs are copies of one job, made in the
 * database.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const size = smoke ? SIZES.smoke : SIZES.full;
  const byWorkers = [];
  for (const workers of WORKERS) byWorkers.push(await measured(workers, size));
  if (!smoke) console.log(await saveResult("jobs", { parameters: { ...size }, byWorkers }));
}

async function measured(workers: (typeof WORKERS)[number], size: (typeof SIZES)["full" | "smoke"]) {
  const service = await startServiceProcess({ LOG_LEVEL: "error", FILE_WORKERS: workers });
  const sql = connect(
    JSON.parse(await readFile(join(service.dataDir, "postgres.json"), "utf8")) as PostgresConnection,
    { warn() {}, debug() {} } as never,
  );
  try {
    await new Transfers(sql).topUp("org_development", 100_000_000, "bench");
    const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
    const requests = {
      short: await speech(client, SENTENCES.short),
      long: await speech(client, SENTENCES.long),
    };
    const audio = await speech(client, SENTENCES.job);
    const job = await client.jobs.submit(audio);
    await client.jobs.wait(job.id);
    const samples: Record<Length, Samples> = {
      short: { without: [], queued: [] },
      long: { without: [], queued: [] },
    };
    const measure = async (state: keyof Samples, round: number) => {
      for (const length of LENGTHS) {
        const rounds = samples[length][state];
        const times = await timed(client, requests[length], size.requests);
        rounds[round] = [...(rounds[round] ?? []), ...times];
      }
    };
    const settled = () => new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    let jobsDone = 0;
    for (const length of LENGTHS) await timed(client, requests[length], size.requests);
    for (let round = 0; round < size.rounds; round++) {
      await measure("without", round);
      await enqueue(sql, client, { audio, copies: size.jobs });
      await untilRunning(sql);
      await settled();
      for (let half = 0; half < 2; half++) await measure("queued", round);
      jobsDone += await clear(sql);
      await settled();
      await measure("without", round);
    }
    const figures = { short: compared(samples.short), long: compared(samples.long) };
    console.log(workers, figures);
    return { workers, jobsDone, serviceCpuSeconds: service.cpuSeconds(), figures, samples };
  } finally {
    await sql.end();
    await service.stop();
  }
}

async function speech(client: DauysClient, sentences: number): Promise<Uint8Array> {
  const { wav } = await client.speak({ text: SENTENCE.repeat(sentences), nfe: 4, seed: sentences });
  return wav;
}

/** Returns the milliseconds of each request, with a pause in which a job gets the worker. */
async function timed(client: DauysClient, wav: Uint8Array, requests: number): Promise<number[]> {
  const took: number[] = [];
  for (let nth = 0; nth < requests; nth++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const sinceMs = performance.now();
    await client.transcribe(wav, { maxRetries: 0 });
    took.push(performance.now() - sinceMs);
  }
  return took;
}

async function enqueue(
  sql: Sql,
  client: DauysClient,
  { audio, copies }: { readonly audio: Uint8Array; readonly copies: number },
): Promise<void> {
  const { id } = await client.jobs.submit(audio);
  const uuid = id.replace("job_", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    await transaction`
      create temporary table copies on commit drop as
        select gen_random_uuid() as id from generate_series(1, ${copies})`;
    await transaction`
      insert into jobs (id, organization_id, key_id, status, service_id, options, file_name, audio_bytes)
      select copies.id, organization_id, key_id, 'queued', service_id, options, file_name, audio_bytes
      from copies, jobs where jobs.id = ${uuid}`;
    // A gigabyte of identical audio would measure the disk, so only the first jobs have audio, and only they
    // run.
    await transaction`
      insert into job_audio (job_id, part, bytes)
      select copies.id, part, bytes from (select id from copies limit 60) as copies, job_audio
      where job_id = ${uuid}`;
    await transaction`
      insert into pgboss.job (id, name, priority)
      select id, 'transcriptions', case when exists (select from job_audio where job_id = id) then 0 else -1 end
      from copies`;
  });
  // Autovacuum counts them within a minute, and takes its time.
  await sql`analyze jobs, job_audio, pgboss.job`;
}

async function untilRunning(sql: Sql): Promise<void> {
  for (;;) {
    const rows = await sql`select from jobs where status = 'running'`;
    if (rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Removes the jobs. @returns the number of finished ones */
async function clear(sql: Sql): Promise<number> {
  const rows = await sql<{ status: string }[]>`select status from jobs where status = 'done'`;
  await sql`delete from pgboss.job`;
  await sql`delete from jobs`;
  return rows.length;
}

function compared({ without, queued }: Samples) {
  const withoutMs = percentiles(without.flat(), 1)!;
  const queuedMs = percentiles(queued.flat(), 1)!;
  const ratios = queued.map((round, nth) => median(round) / median(without[nth]!));
  return {
    ...{ withoutMs, queuedMs },
    ratioP50: queuedMs.p50 / withoutMs.p50,
    /** 95 % interval, from a bootstrap over requests. */
    ratioP50Interval: ratioInterval(without.flat(), queued.flat()),
    /** Of single rounds. */
    ratiosP50: { least: Math.min(...ratios), most: Math.max(...ratios) },
    addedMsP50: queuedMs.p50 - withoutMs.p50,
    ratioP95: queuedMs.p95 / withoutMs.p95,
  };
}

function ratioInterval(without: readonly number[], queued: readonly number[]) {
  const random = uniformRandom(1);
  const redrawn = (times: readonly number[]) =>
    median(times.map(() => times[Math.floor(random() * times.length)]!));
  const ratios = Array.from({ length: RESAMPLINGS }, () => redrawn(queued) / redrawn(without));
  const sorted = ratios.toSorted((a, b) => a - b);
  return { low: sorted[Math.floor(0.025 * RESAMPLINGS)]!, high: sorted[Math.floor(0.975 * RESAMPLINGS)]! };
}
