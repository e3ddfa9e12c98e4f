import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Sql } from "postgres";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { Job } from "../../src/client/job-types.js";
import { DauysClient } from "../../src/client/node.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { eventually } from "../support/eventually.js";
import { FAULTY_MAIN } from "../support/faulty/entries.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { openLoadBalancer } from "../support/load-balancer.js";
import { momentOfFault, pace } from "../support/pace.js";
import { SEED, uniform } from "../support/seed.js";
import { type ServiceProcess, startBeside, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";

const RATE_HZ = 8_000;
const VICTIMS = ["owner", "other", "database", "workers"] as const;
type Victim = (typeof VICTIMS)[number];

export interface JobKillReport {
  readonly rounds: number;
  readonly kills: Readonly<Record<Victim, number>>;
  readonly jobs: number;
  /** The number of runs that ended without a result and were repeated. */
  readonly lostRuns: number;
  readonly webhooks: number;
  readonly requests: number;
}

/** Two services on the private database of the first. The workers of both fail on a signal. */
interface Pair {
  readonly url: string;
  readonly key: string;
  readonly dataDir: string;
  kill(victim: Victim): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Kills one service, the other one, the database or the workers at random moments, while clients submit jobs
 * and send requests. Each job must end once, with its result, one charge, and webhooks that share one ID.
 */
export async function jobKillRounds(rounds: number): Promise<JobKillReport> {
  const hooks = await openReceiver();
  const pair = await openPair();
  const random = uniform(SEED);
  const kills = { owner: 0, other: 0, database: 0, workers: 0 };
  const load = new Load(pair, hooks.url);
  try {
    await inDatabase(pair, (sql) => new Transfers(sql).topUp("org_development", 10_000_000, "kill rounds"));
    const clients = load.start();
    for (let round = 0; round < rounds; round++) {
      const victim = VICTIMS[Math.floor(random() * VICTIMS.length)]!;
      await momentOfFault(200 + random() * 2_500);
      kills[victim]++;
      await pair.kill(victim);
    }
    await load.stop();
    await clients;
    const lostRuns = await compare(pair, load, hooks.received);
    const webhooks = [...hooks.received.values()].reduce((sum, ids) => sum + ids.length, 0);
    return { rounds, kills, jobs: load.submitted.size, lostRuns, webhooks, requests: load.requests };
  } finally {
    await pair.stop();
    hooks.close();
  }
}

class Load {
  /** The credits of each submitted job. */
  readonly submitted = new Map<string, number>();
  requests = 0;
  readonly #pair: Pair;
  readonly #hookUrl: string;
  readonly #length = uniform(SEED + 1);
  #nth = 0;
  #isOver = false;

  constructor(pair: Pair, hookUrl: string) {
    this.#pair = pair;
    this.#hookUrl = hookUrl;
  }

  /** Starts two clients that submit jobs, and one whose requests take precedence. */
  async start(): Promise<void> {
    await Promise.all([this.#submitting(), this.#submitting(), this.#requesting()]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
  }

  async #submitting(): Promise<void> {
    const client = clientOf(this.#pair);
    while (!this.#isOver) {
      const samples = Math.round((0.5 + this.#length() * 20) * RATE_HZ);
      const wav = writeWav(new Int16Array(samples), RATE_HZ);
      const idempotencyKey = `kill-round-job-${this.#nth++}`;
      // The client repeats its submission until it is accepted, as a client that must not lose a recording
      // would.
      for (let isAccepted = false; !isAccepted; ) {
        const job = await client.jobs
          .submit(wav, { idempotencyKey, webhookUrl: this.#hookUrl, maxRetries: 0, timeoutMs: 20_000 })
          .catch(() => null);
        if (job === null) await pace(200);
        else this.submitted.set(job.id, Math.ceil((samples * 5) / (RATE_HZ * 2)));
        isAccepted = job !== null;
      }
      await pace(300);
    }
  }

  async #requesting(): Promise<void> {
    const client = clientOf(this.#pair);
    const wav = writeWav(new Int16Array(2 * RATE_HZ), RATE_HZ);
    while (!this.#isOver) {
      const answer = await client.transcribe(wav, { maxRetries: 0, timeoutMs: 20_000 }).catch(() => null);
      if (answer !== null) this.requests++;
      await pace(500);
    }
  }
}

function clientOf({ url, key }: Pair): DauysClient {
  return new DauysClient({ baseUrl: url, apiKey: key });
}

async function openReceiver() {
  /** The IDs of received webhooks, by job. */
  const received = new Map<string, string[]>();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { job, id } = JSON.parse(body) as { readonly job: Job; readonly id: string };
    assert.equal(request.headers["dauys-webhook-id"], id);
    assert.equal(job.status, "done");
    received.set(job.id, [...(received.get(job.id) ?? []), id]);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, received, close: () => server.close() };
}

async function openPair(): Promise<Pair> {
  const dataDir = await temporaryFolder();
  const settings = { ...(await lightModels()), URL_FETCH_ALLOW: "127.0.0.0/8", LOG_LEVEL: "error" };
  const own = { ...settings, DATA_DIR: dataDir };
  const beside = { ...settings, DATA_DIR: await temporaryFolder() };
  const faulty = { main: FAULTY_MAIN };
  let owner = await startServiceProcess(own, faulty);
  let other = await startBeside(owner, beside, faulty);
  const spread = await openLoadBalancer(() => [owner.port, other.port], SEED);
  return {
    url: spread.url,
    key: owner.key,
    dataDir,
    async kill(victim) {
      if (victim === "database") await killDatabase(dataDir);
      else if (victim === "workers") for (const { child } of [owner, other]) child.kill("SIGUSR2");
      else if (victim === "owner") {
        await killed(owner);
        owner = await startServiceProcess(own, faulty);
        // Its database has a new port, which the other service does not learn while it runs.
        await killed(other);
        other = await startBeside(owner, beside, faulty);
      } else {
        await killed(other);
        other = await startBeside(owner, beside, faulty);
      }
    },
    async stop() {
      await spread.close();
      const codes = [await other.stop(), await owner.stop()];
      assert.deepEqual(codes, [0, 0], other.output() + owner.output());
    },
  };
}

async function killed({ child, output }: ServiceProcess): Promise<void> {
  assert.equal(child.exitCode ?? child.signalCode, null, `the service has ended by itself: ${output()}`);
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Kills the database, which may still be recovering from the previous kill. */
async function killDatabase(dataDir: string): Promise<void> {
  await eventually("there is a database to kill", async () => {
    try {
      process.kill(await postmasterPid(dataDir), "SIGKILL");
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ESRCH" || code === "ENOENT") return false;
      throw error;
    }
  });
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n")[0]);
}

/** Returns the number of lost runs. */
async function compare(
  pair: Pair,
  { submitted }: Load,
  received: ReadonlyMap<string, readonly string[]>,
): Promise<number> {
  const client = clientOf(pair);
  for (const [id, credits] of submitted) {
    const job = await client.jobs.wait(id, { maxRetries: 20, timeoutMs: 600_000, pollMs: 500 });
    assert.deepEqual([job.status, job.credits_charged], ["done", credits], JSON.stringify(job));
    assert.equal(
      (await client.jobs.result(id, { maxRetries: 20, timeoutMs: 600_000 })).credits_charged,
      credits,
    );
  }
  await eventually("every webhook has arrived", () => received.size === submitted.size, 300_000);
  for (const [id, ids] of received) assert.deepEqual([...new Set(ids)], [id.replace("job_", "wh_")]);
  return await inDatabase(pair, async (sql) => {
    await eventually("no hold is open", async () => {
      return (await sql`select from holds where state in ('open', 'posted')`).length === 0;
    });
    assert.deepEqual(await brokenRules(sql), []);
    const charged = await sql<{ job: string; charges: number; credits: number }[]>`
      select split_part(id, '-', 1) as job, count(*) as charges, sum(amount) as credits
      from holds where amount > 0 and starts_with(id, 'job_') group by 1`;
    for (const { job, charges, credits } of charged)
      assert.deepEqual([charges, credits], [1, submitted.get(job)], job);
    assert.equal(charged.length, submitted.size, "every job was charged, and no other");
    const rows = await sql<{ jobs: number; lost: number }[]>`
      select count(*) as jobs, sum(attempt - 1) as lost from jobs`;
    assert.equal(rows[0]!.jobs, submitted.size, "a repeated submission makes no second job");
    assert.equal((await sql`select from job_audio`).length, 0);
    // If the delivery of a webhook was not recorded, the webhook is sent again after a minute.
    await eventually(
      "the queues are empty",
      async () => (await sql`select from pgboss.job`).length === 0,
      300_000,
    );
    return rows[0]!.lost;
  });
}

async function inDatabase<T>({ dataDir }: Pair, work: (sql: Sql) => Promise<T>): Promise<T> {
  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}
