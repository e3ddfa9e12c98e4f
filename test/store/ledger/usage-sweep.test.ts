import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DEFAULT_TARIFFS } from "../../../core/domain/usage/tariff.js";
import type { LiveFunds } from "../../../core/ports/usage-meter.js";
import { Holds } from "../../../src/store/ledger/holds.js";
import { ServiceInstances } from "../../../src/store/ledger/service-instances.js";
import { sweep, sweepOwn } from "../../../src/store/ledger/sweep.js";
import { newServiceId, type PostgresUsageMeter } from "../../../src/store/ledger/usage-meter.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { openStore } from "../../../src/store/store.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { momentOfFault, pace, stays } from "../../support/pace.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";
import { databaseUrlOf, privateStore } from "../support.js";
import { brokenRules, journalInHolds, type LedgerTables, liveHold, newLedger } from "./ledger-support.js";
import {
  balanceOf,
  CREDITS,
  hasCode,
  IMPATIENT,
  newOrganization,
  RATE_HZ,
  RULES,
  startMeter,
} from "./meter-support.js";

let dataDir: string;
let server: EmbeddedPostgres;
let ledger: LedgerTables;

before(async () => {
  dataDir = await preparedFolder();
  server = await EmbeddedPostgres.start({ dataDir, purpose: "service", log: SILENT });
  ledger = await newLedger(server);
});
after(async () => {
  // A query that the driver has lost would be waited for forever.
  await ledger.sql.end({ timeout: 5 });
  await server.stop();
});

test("a silent service's holds are settled once, by another service", async (t) => {
  const organizationId = await newOrganization(ledger);
  const { changes, holds, instances } = ledger;
  const gone = newServiceId();
  await instances.heartbeat(gone);
  const left = (id: string, seconds: number) => ({
    ...liveHold(`${organizationId}:${id}`, organizationId, seconds, gone),
  });
  await changes.openUpTo(left("live", 120), 6);
  // Its audio ran ahead of its hold.
  await changes.openUpTo(left("ahead", 1), 6);
  const acceptedById = new Map([
    [`${organizationId}:live`, 90_001],
    [`${organizationId}:ahead`, 2 * RATE_HZ],
  ]);
  await instances.journal({ serviceId: gone, nth: 1, acceptedById });
  await changes.openUpTo(left("quiet", 120), 6);
  await changes.open({ ...left("file", 10), kind: "file" });
  await changes.open({ ...left("half", 10), kind: "synthesis" });
  await holds.post(`${organizationId}:half`, 10 * RATE_HZ, "posted");
  await changes.open({ ...left("done", 10), kind: "synthesis" });
  await holds.post(`${organizationId}:done`, 10 * RATE_HZ, "settled");
  // Started only now, so that it does not sweep before all of this exists.
  const alive = await startMeter(ledger, t, IMPATIENT);
  const mine = await alive.hold({ id: `${organizationId}:mine`, organizationId }, "synthesis", {
    units: 5,
    unitsPerSecond: 1,
  });
  const spent = Math.ceil((90_001 * 6) / RATE_HZ) + 12 + 60;
  // Every hold is settled, also those without a charge; a posted one no longer holds credits.
  const openOfGone = async () => {
    const [row] = await ledger.sql<{ count: number }[]>`
      select count(*)::int as count from holds where service_id = ${gone} and state in ('open', 'posted')`;
    return row!.count;
  };
  await eventually("the sweep", async () => (await openOfGone()) === 0);
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - spent, held: 2 });
  await Promise.all([sweep(holds), sweep(holds), sweep(holds)]);
  await mine.release();
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - spent, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a service settles holds reopened by a promoted standby, but not active ones", async (t) => {
  const organizationId = await newOrganization(ledger);
  const { changes, holds, instances, sql } = ledger;
  const meter = await startMeter(ledger, t);
  const mine = await meter.hold({ id: `${organizationId}:mine`, organizationId }, "synthesis", {
    units: 5,
    unitsPerSecond: 1,
  });
  const funds: LiveFunds[] = [];
  const session = meter.openLive({ id: `${organizationId}:session`, organizationId }, RATE_HZ, (told) =>
    funds.push(told),
  );
  await eventually("the session is paid for", () => funds.length > 0);
  session.accepted(RATE_HZ);
  // Unknown to the meter: they had ended on the lost server. Another service prepares them, so that no
  // heartbeat finds one of them half prepared.
  const preparing = newServiceId();
  await instances.heartbeat(preparing);
  const again = (id: string, seconds: number) =>
    liveHold(`${organizationId}:${id}`, organizationId, seconds, preparing);
  await changes.openUpTo(again("heard", 120), 6);
  await journalInHolds(sql, new Map([[`${organizationId}:heard`, 10 * RATE_HZ]]));
  await changes.open({ ...again("spoken", 10), kind: "synthesis" });
  await changes.open({ ...again("answered", 10), kind: "synthesis" });
  await holds.post(`${organizationId}:answered`, 10 * RATE_HZ, "posted");
  await sql`update holds set service_id = ${meter.serviceId} where service_id = ${preparing}`;
  await instances.remove(preparing);
  const inWork = async () => (await holds.listOf(meter.serviceId)).map(({ id }) => id.split(":")[1]).sort();
  await eventually("those in work are left", async () => (await inWork()).length === 2);
  await stays(
    "those in work stay",
    async () => (await inWork()).join() === "mine,session",
    4 * RULES.heartbeatMs,
  );
  await mine.release();
  let charged = 0;
  session.settle(2 * RATE_HZ, (credits) => {
    charged = credits;
  });
  await eventually("the session is charged", () => charged > 0);
  assert.equal(charged, 12);
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - 60 - charged, held: 0 });
  assert.deepEqual(await brokenRules(sql), []);
});

test("a hold that closes during the search does not count as forgotten", async () => {
  const organizationId = await newOrganization(ledger);
  const { changes, instances, sql } = ledger;
  const serviceId = "svc_closing";
  await instances.heartbeat(serviceId);
  const hold = liveHold(`${organizationId}:late`, organizationId, 10, serviceId);
  await changes.open({ ...hold, kind: "synthesis" });
  const inWork = new Set([hold.id]);
  class LateAnswers extends Holds {
    override async listOf(service: string) {
      const listed = await super.listOf(service);
      await changes.post(hold, 10 * RATE_HZ, "settled");
      inWork.delete(hold.id);
      return listed;
    }
  }
  assert.equal(await sweepOwn(new LateAnswers(sql), serviceId, (id) => inWork.has(id)), 0);
  assert.equal(inWork.size, 0);
  assert.deepEqual(await brokenRules(sql), []);
});

test("journals of either version count for every sweeping service", async () => {
  const organizationId = await newOrganization(ledger);
  const { changes, holds, instances } = ledger;
  const [before, now] = [newServiceId(), newServiceId()];
  const left = (name: string, serviceId: string) => ({
    ...liveHold(`${organizationId}:${name}`, organizationId, 10, serviceId),
  });
  const accepted = (seconds: Record<string, number>) =>
    new Map(Object.entries(seconds).map(([name, s]) => [`${organizationId}:${name}`, s * RATE_HZ]));
  for (const service of [before, now]) await instances.heartbeat(service);
  await changes.openUpTo(left("before", before), 6);
  for (const name of ["long", "short", "ended"]) await changes.openUpTo(left(name, now), 6);
  await journalInHolds(ledger.sql, accepted({ before: 3 }));
  const journal = (nth: number, seconds: Record<string, number>) =>
    instances.journal({ serviceId: now, nth, acceptedById: accepted(seconds) });
  assert.deepEqual(await journal(1, { long: 2, short: 1, ended: 4 }), { isWritten: true, closed: new Set() });
  await holds.post(`${organizationId}:ended`, 5 * RATE_HZ, "settled");
  const third = await journal(3, { long: 5, short: 1, ended: 5 });
  assert.deepEqual(third, { isWritten: true, closed: new Set([`${organizationId}:ended`]) });
  // Cut off with its connection and executed after the third: the newer numbers stay.
  assert.equal((await journal(2, { long: 3, short: 1 })).isWritten, false);
  // A service cannot journal the holds of another.
  await instances.journal({ serviceId: before, nth: 1, acceptedById: accepted({ short: 9 }) });
  // As a sweep of an earlier version, which knows no journals, removes a silent service.
  await ledger.sql`delete from service_instances where id in (${before}, ${now})`;
  assert.equal((await journal(4, { long: 9 })).isWritten, false);
  await Promise.all([sweep(holds), sweep(holds)]);
  const spent = 6 * (3 + 5 + 1 + 5);
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - spent, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a live session ends when another service has presumed its own stopped and settled it", async (t) => {
  // Sends no heartbeats, but continues.
  const meter = await startMeter(ledger, t, { heartbeatMs: 600_000 });
  const organizationId = await newOrganization(ledger);
  const told: LiveFunds[] = [];
  const id = `${organizationId}:live`;
  const live = meter.openLive({ id, organizationId }, RATE_HZ, (funds) => told.push(funds));
  await eventually("a hold", () => (told.at(-1)?.limitSamples ?? 0) > 0);
  live.accepted(RATE_HZ);
  await eventually("a journal", async () => {
    const rows = await ledger.sql`
      select from service_instances where id = ${meter.serviceId} and journal_units = array[${RATE_HZ}]::bigint[]`;
    return rows.length > 0;
  });
  await startMeter(ledger, t, IMPATIENT);
  const isSettled = async () => (await balanceOf(ledger, organizationId)).balance === CREDITS - 6;
  await eventually("the charge for what was journaled", isSettled);
  live.accepted(2 * RATE_HZ);
  await eventually("the end", () => told.at(-1)!.limitSamples === 0);
  assert.equal(told.at(-1)!.beyond.code, "AUTH_UNAVAILABLE");
  live.settle(2 * RATE_HZ, () => {});
  await meter.close();
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - 6, held: 0 });
});

// An operator or NTP sets the clock of the database's machine forwards or back by hours.
test("a jump of the wall clock neither ends a running service's work nor keeps a stopped one alive", async (t) => {
  const organizationId = await newOrganization(ledger);
  // Longer than a busy machine delays a heartbeat, and short enough to wait for.
  const rules = { silentMs: 3_000 };
  const [working, gone] = [
    await startMeter(ledger, t, rules),
    await startMeter(ledger, t, { ...rules, heartbeatMs: 60_000 }),
  ];
  const observer = await startMeter(ledger, t, rules);
  const open = async (meter: PostgresUsageMeter, what: string) => {
    const id = `${organizationId}:${what}`;
    await meter.hold({ id, organizationId }, "synthesis", { units: 1_000, unitsPerSecond: 1 });
    return id;
  };
  const [kept, left] = [await open(working, "kept"), await open(gone, "left")];
  const stateOf = async (id: string) =>
    (await ledger.sql<{ state: string }[]>`select state from holds where id = ${id}`)[0]?.state;
  const signOf = async (meter: PostgresUsageMeter) =>
    (
      await ledger.sql<{ sign: string }[]>`
        select seen_at::text as sign from service_instances where id = ${meter.serviceId}`
    )[0]?.sign;
  // As after a jump forwards: heartbeats are hours in the past, until each service sends its next.
  const untilHeardAgain = async (meter: PostgresUsageMeter) => {
    const before = await signOf(meter);
    await eventually("another sign of life", async () => (await signOf(meter)) !== before);
  };
  for (let round = 0; round < 20; round++) {
    await ledger.sql`
      update service_instances set seen_at = seen_at - interval '2 hours' where id = ${working.serviceId}`;
    await untilHeardAgain(observer);
    assert.equal(await stateOf(kept), "open");
  }
  // As after a jump back: heartbeats are hours in the future, and the stopped service still counts as
  // stopped.
  await ledger.sql`
    update service_instances set seen_at = now() + interval '2 hours' where id = ${gone.serviceId}`;
  await eventually("what is left is settled", async () => (await stateOf(left)) === "voided");
  assert.equal(await stateOf(kept), "open");
});

test("concurrent sweeps settle everything once", async () => {
  const organizationId = await newOrganization(ledger);
  for (let index = 0; index < 20; index++) {
    await ledger.changes.openUpTo(liveHold(`${organizationId}:${index}`, organizationId, 10, "svc_gone"), 6);
    await journalInHolds(ledger.sql, new Map([[`${organizationId}:${index}`, RATE_HZ]]));
  }
  await Promise.all([sweep(ledger.holds), sweep(ledger.holds), sweep(ledger.holds)]);
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - 120, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a restarted service immediately settles the holds in its data folder", async () => {
  const folder = await temporaryFolder();
  const first = await openStore(privateStore(folder), SILENT);
  await first.developmentKey();
  await first.startMeter(DEFAULT_TARIFFS);
  const hold = { ...liveHold("ses_left", "org_development", 120, await serviceIdIn(folder)) };
  await first.changes.openUpTo(hold, 6);
  const id = await serviceIdIn(folder);
  const sql = connect(await databaseUrlOf(folder), SILENT);
  const acceptedById = new Map([["ses_left", 3 * RATE_HZ]]);
  await new ServiceInstances(sql).journal({ serviceId: id, nth: 1, acceptedById });
  await sql.end();
  // As if killed: its holds stay open.
  await first.close();
  const second = await openStore(privateStore(folder), SILENT);
  try {
    assert.equal((await second.accounts.find("org_development"))!.held, 720);
    await second.startMeter(DEFAULT_TARIFFS);
    assert.notEqual(await serviceIdIn(folder), id);
    const balance = (await second.accounts.find("org_development"))!;
    assert.deepEqual([balance.balance, balance.held], [CREDITS - 18, 0]);
  } finally {
    await second.close();
  }
});

test("the file journal of a killed service is more complete than the database", async () => {
  const organizationId = await newOrganization(ledger);
  const { changes, holds } = ledger;
  const left = (name: string) => ({
    ...liveHold(`${organizationId}:${name}`, organizationId, 10, "svc_killed"),
  });
  const journaled = new Map<string, number>();
  const journal = (name: string, seconds: number) =>
    journaled.set(`${organizationId}:${name}`, seconds * RATE_HZ);
  // 6 credits a second. Charged and complete; charged and half delivered; charged, and nothing went out.
  for (const name of ["whole", "half", "none"]) {
    await changes.open({ ...left(name), kind: "synthesis" });
    await holds.post(`${organizationId}:${name}`, 10 * RATE_HZ, "posted");
  }
  journal("whole", 10);
  journal("half", 5);
  // Delivered before the slow database stored the charge, and not delivered at all.
  for (const name of ["uncharged", "unanswered"]) await changes.open({ ...left(name), kind: "file" });
  journal("uncharged", 10);
  // The database has one second, or none.
  for (const name of ["live", "fresh"]) await changes.openUpTo(left(name), 6);
  await journalInHolds(ledger.sql, new Map([[`${organizationId}:live`, RATE_HZ]]));
  journal("live", 3);
  journal("fresh", 2);
  // Never opened: the statement did not arrive.
  journal("unknown", 10);
  await sweep(holds, journaled);
  await sweep(holds, journaled);
  const spent = 60 + 30 + 60 + 18 + 12;
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - spent, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a database crash under load neither charges nor loses anything", async (t) => {
  const meter = await startMeter(ledger, t, { answerMs: 1_000 });
  const organizationId = await newOrganization(ledger);
  let charged = 0;
  let refusedCount = 0;
  let isOver = false;
  const worker = async (name: number) => {
    for (let index = 0; !isOver; index++) {
      const reference = { id: `${organizationId}:${name}.${index}`, organizationId };
      const quantity = { units: 1 + ((7 * index) % 20), unitsPerSecond: 1 };
      try {
        const hold = await meter.hold(reference, "synthesis", quantity);
        if (index % 3 === 0) await hold.release();
        else {
          charged += hold.credits;
          await hold.charge();
        }
      } catch (error) {
        assert.ok(hasCode("AUTH_UNAVAILABLE")(error), String(error));
        refusedCount++;
        await pace(20);
      }
    }
  };
  const workers = Array.from({ length: 12 }, (_, name) => worker(name));
  for (let round = 0; round < 2; round++) {
    await momentOfFault(400);
    const pid = await postmasterPid();
    // As `pg_ctl stop -m immediate`.
    process.kill(pid, "SIGQUIT");
    await eventually("another server", async () => ![0, pid].includes(await postmasterPid()));
    await eventually("an answer", () =>
      ledger.accounts.find(organizationId).then(
        () => true,
        () => false,
      ),
    );
  }
  await momentOfFault(300);
  isOver = true;
  await Promise.all(workers);
  assert.ok(refusedCount > 0, "somebody noticed");
  // Pending charges and releases of the outage are written by now, or soon.
  await eventually("no hold left", async () => (await balanceOf(ledger, organizationId)).held === 0);
  await eventually(
    "all charges",
    async () => (await balanceOf(ledger, organizationId)).balance === CREDITS - charged,
  );
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

/** 0 if there is none. */
async function postmasterPid(): Promise<number> {
  const text = await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8").catch(() => "0");
  return Number(text.split("\n")[0]);
}

async function serviceIdIn(folder: string): Promise<string> {
  return (await readFile(join(folder, "service-id"), "utf8")).trim();
}
