// Checks clients and the ledger during the worst failures of the database.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort } from "../../bench/support/free-port.js";
import { runLive } from "../../bench/support/live-client.js";
import { readMetrics } from "../../bench/support/operator-metrics.js";
import { connect } from "../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../src/store/postgres/embedded-postgres.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { momentOfFault } from "../support/pace.js";
import { preparedFolder } from "../support/prepared-database.js";
import { SEED, uniform } from "../support/seed.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";
import { suspendPostgres } from "../support/suspended-postgres.js";
import { databaseOf, PayingClients } from "./support/paying-clients.js";

/** Duration of the database's hang. */
const HANG_S = Number(process.env["ATTACK_HANG_S"] ?? 8);
const BURSTS = Number(process.env["ATTACK_BURSTS"] ?? 12);

let dataDir: string;
let models: Record<string, string>;
let operatorPort: number;
let service: ServiceProcess;

before(async () => {
  dataDir = await temporaryFolder();
  operatorPort = await freePort();
  models = await lightModels();
  service = await startServiceProcess({ ...models, DATA_DIR: dataDir, OPERATOR_PORT: String(operatorPort) });
  await creditDevelopment(service, 1_000_000);
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

test("database connections cut under load cause no wrong charge and no crash", async () => {
  const sql = await databaseOf(dataDir);
  const clients = new PayingClients(service);
  const random = uniform(SEED);
  clients.start();
  let endedCount = 0;
  for (let burst = 0; burst < BURSTS; burst++) {
    const before = clients.answeredCount;
    // Several together: later ones hit connections that are just being opened.
    for (let blow = 0; blow < 5; blow++) {
      const ended = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where pid <> pg_backend_pid() and application_name = 'dauys'`;
      endedCount += ended.length;
      await momentOfFault(30 * random());
    }
    await eventually(
      "answers again",
      () => service.child.exitCode !== null || clients.answeredCount > before + 3,
    );
    assert.equal(service.child.exitCode, null, service.output());
  }
  await clients.end();
  assert.ok(endedCount > BURSTS, `${endedCount} connections were ended`);
  await clients.checkLedger(sql);
  await sql.end();
  assert.equal((await readMetrics(operatorPort)).get("database_driver_faults_total"), 0);
});

test("with a hanging database, requests get responses, live sessions continue, and work is charged once", async () => {
  const sql = await databaseOf(dataDir);
  const clients = new PayingClients(service);
  clients.start();
  await eventually("answers", () => clients.answeredCount > 5);
  // Speech that begins before the database hangs; its last words arrive while it hangs.
  const session = runLive({
    url: service.url,
    key: service.key,
    pcm: new Int16Array(16_000 * Math.min(6, HANG_S - 1)),
    messageSamples: 1_600,
    isPaced: true,
  });
  await momentOfFault(500);
  const until = performance.now() + 1_000 * HANG_S;
  const resume = await suspendPostgres(dataDir);
  try {
    const refusedBefore = clients.refusedCount;
    await eventually("refusals", () => clients.refusedCount > refusedBefore + 10);
    const probes = await Promise.all(["/ready", "/health"].map((path) => fetch(service.url + path)));
    assert.deepEqual(
      probes.map(({ status }) => status),
      [503, 200],
    );
    // The session holds credits for longer than that.
    await momentOfFault(Math.max(0, until - performance.now()));
  } finally {
    resume();
  }
  const run = await session;
  assert.equal(run.closeCode, 1000);
  assert.equal(run.received.at(-1)?.message.type, "done");
  const answered = clients.answeredCount;
  await eventually("answers again", () => clients.answeredCount > answered + 5);
  await clients.end();
  await clients.checkLedger(sql);
  // The service's own connection may be between two statements.
  await eventually("no transaction is left open", async () => {
    const open = await sql`select from pg_stat_activity where state like 'idle in transaction%'`;
    return open.length === 0;
  });
  await sql.end();
  assert.equal((await fetch(`${service.url}/ready`)).status, 200);
});

test("a second service started on a folder in use does not touch the first one's uploads", async () => {
  const upload = join(dataDir, "spool", "req_of_the_first.wav");
  await writeFile(upload, "audio");
  await assert.rejects(startServiceProcess({ DATA_DIR: dataDir }), /Cannot use the data folder/);
  assert.equal(await readFile(upload, "utf8"), "audio");
  await rm(upload);
});

test("two services on one database charge their work once while its connections are cut", async (t) => {
  const folders = await Promise.all([preparedFolder(), temporaryFolder(), temporaryFolder()]);
  const [serverDir, ...dataDirs] = folders as [string, string, string];
  const server = await EmbeddedPostgres.start({ dataDir: serverDir, purpose: "service", log: SILENT });
  t.after(() => server.stop());
  const { user, password, host, port, database } = server.connection;
  const shared = {
    ...models,
    DATABASE_URL: `postgres://${user}:${password}@${host}:${port}/${database}`,
    KEY_PEPPER: "a pepper that both of them know",
  };
  // Both at the same time: they migrate the schema one after another.
  const services = await Promise.all(
    dataDirs.map((folder) => startServiceProcess({ ...shared, DATA_DIR: folder })),
  );
  t.after(async () => {
    for (const each of services) assert.equal(await each.stop(), 0, each.output());
  });
  const sql = connect(server.connection, SILENT);
  t.after(() => sql.end());
  const clients = new PayingClients(...services);
  clients.start();
  await eventually("answers", () => clients.answeredCount > 10);
  for (let blow = 0; blow < 5; blow++) {
    const before = clients.answeredCount;
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and application_name = 'dauys'`;
    await eventually("answers again", () => clients.answeredCount > before + 3);
  }
  await clients.end();
  const once = await Promise.all(services.map((each) => keyedSpeech(each, "the same on both")));
  const statuses = once.map(({ status }) => status).sort();
  assert.ok(statuses[0] === 200 && [200, 409].includes(statuses[1]!), statuses.join());
  const made = once.filter((answer) => answer.status === 200 && !answer.headers.has("idempotent-replayed"));
  assert.equal(made.length, 1, "one of them did the work");
  clients.note(made[0]!);
  await clients.checkLedger(sql);
});

async function keyedSpeech(to: ServiceProcess, key: string): Promise<Response> {
  const answer = await fetch(`${to.url}/v1/tts`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${to.key}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify({ text: "Сәлем.", nfe: 4 }),
  });
  await answer.arrayBuffer();
  return answer;
}
