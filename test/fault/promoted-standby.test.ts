// The database's machine fails and its standby takes over, as docs/deployment.md describes in "Failover of
// the database".
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Sql } from "postgres";
import { runLive } from "../../bench/support/live-client.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import { PayingClients } from "../attack/support/paying-clients.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { ReplicatedPostgres } from "../support/replicated-postgres.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";

const RATE_HZ = 16_000;

for (const isSynchronous of [true, false]) {
  describe(`a service whose database fails over to ${isSynchronous ? "a synchronous" : "an asynchronous"} standby`, () => {
    let database: ReplicatedPostgres;
    let service: ServiceProcess;
    let sql: Sql;
    let clients: PayingClients;

    before(async () => {
      database = await ReplicatedPostgres.start({ isSynchronous });
      service = await startServiceProcess({
        ...(await lightModels()),
        DATABASE_URL: database.url,
        KEY_PEPPER: "a pepper of this test",
      });
      sql = connect(database.url, SILENT);
      await new Transfers(sql).topUp("org_development", 1_000_000, "credits of a test");
      clients = new PayingClients(service);
      clients.start();
      await eventually("answers", () => clients.answeredCount > 5);
    });
    after(async () => {
      await sql?.end({ timeout: 5 });
      const code = await service?.stop();
      await database?.stop();
      assert.equal(code, 0, service.output());
    });

    const failOver = async () => {
      await database.losePrimary();
      const refused = clients.refusedCount;
      await eventually("refusals", () => clients.refusedCount > refused + 5);
      assert.equal((await fetch(`${service.url}/ready`)).status, 503);
      await database.promote();
      const answered = clients.answeredCount;
      await eventually("answers again", () => clients.answeredCount > answered + 5);
    };

    if (isSynchronous)
      test("no charge reported to a client is lost while a live session continues", async () => {
        const session = await openSession(service, sql);
        await failOver();
        const run = await session.end();
        assert.equal(run.closeCode, 1000);
        assert.equal(run.received.at(-1)?.message.type, "done");
        await clients.end();
        await clients.checkLedger(sql);
      });
    else
      test("lost charges are lost as a whole without leaving holds", async () => {
        database.cutStream();
        const before = clients.answeredCount;
        await eventually("answers that the standby misses", () => clients.answeredCount > before + 5);
        await failOver();
        await clients.end();
        assert.ok((await clients.countForgotten(sql)) > 0, "the standby missed charges");
        // Some requests were running when replication was cut. The standby does not know how they ended.
        await eventually("no hold left", async () => (await countInWork(sql)) === 0);
        await eventually("no key in use", async () => (await countRunning(sql)) === 0);
        assert.deepEqual(await brokenRules(sql), []);
        const later = new PayingClients(service);
        later.start();
        await eventually("later answers", () => later.answeredCount > 5);
        await later.end();
        await later.checkLedger(sql);
      });
  });
}

/** Opens a paid live session that sends speech until it is told to end. */
async function openSession({ url, key }: ServiceProcess, sql: Sql) {
  let isOver = false;
  const ready = deferred<string>();
  const run = runLive({
    url,
    key,
    pcm: new Int16Array(60 * RATE_HZ),
    messageSamples: 1_600,
    isPaced: true,
    isOver: () => isOver,
    onMessage: (message) => {
      if (message.type === "ready") ready.resolve(message.session_id);
    },
  });
  const id = await ready.promise;
  const isPaid = async () => (await sql`select from holds where id = ${id}`).length > 0;
  await eventually("the session is paid for", isPaid);
  return {
    end: async () => {
      isOver = true;
      return await run;
    },
  };
}

async function countRunning(sql: Sql): Promise<number> {
  return (await sql`select from idempotency_keys where state = 'running'`).length;
}

async function countInWork(sql: Sql): Promise<number> {
  return (await sql`select from holds where state in ('open', 'posted')`).length;
}
