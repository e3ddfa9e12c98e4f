// What becomes of clients and of the ledger when the database does its worst (issue 12, "From the attack", 3 and 14).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { readMetrics } from "../../bench/support/operator-metrics.js";
import {
  creditDevelopment,
  type ServiceProcess,
  startServiceProcess,
} from "../../bench/support/service-process.js";
import { freeLoopbackPort } from "../../src/store/loopback-port.js";
import { eventually, temporaryFolder } from "../store/support.js";
import { SEED, uniform } from "../support/seed.js";
import { databaseOf, PayingClients } from "./support/paying-clients.js";

const BURSTS = Number(process.env["ATTACK_BURSTS"] ?? 12);

let dataDir: string;
let operatorPort: number;
let service: ServiceProcess;

before(async () => {
  dataDir = await temporaryFolder();
  operatorPort = await freeLoopbackPort();
  service = await startServiceProcess({ DATA_DIR: dataDir, OPERATOR_PORT: String(operatorPort) });
  await creditDevelopment(service, 1_000_000);
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

test("connections that the database ends under load cost no client a wrong credit, and the service lives", async () => {
  const sql = await databaseOf(dataDir);
  const clients = new PayingClients(service);
  const random = uniform(SEED);
  clients.start();
  let endedCount = 0;
  for (let burst = 0; burst < BURSTS; burst++) {
    const before = clients.answeredCount;
    // Several at once: the later ones meet connections that are just being opened.
    for (let blow = 0; blow < 5; blow++) {
      const ended = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where pid <> pg_backend_pid() and application_name = 'dauys'`;
      endedCount += ended.length;
      await sleep(30 * random());
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
