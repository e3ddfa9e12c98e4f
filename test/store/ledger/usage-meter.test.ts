import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import { DEFAULT_TARIFFS } from "../../../core/domain/usage/tariff.js";
import { systemClock } from "../../../core/ports/clock.js";
import type { Hold, LiveFunds } from "../../../core/ports/usage-meter.js";
import { Organizations } from "../../../src/store/accounts/organizations.js";
import { Accounts } from "../../../src/store/ledger/accounts.js";
import { HoldChanges } from "../../../src/store/ledger/hold-changes.js";
import { HoldJournal } from "../../../src/store/ledger/hold-journal.js";
import { Holds } from "../../../src/store/ledger/holds.js";
import { ServiceInstances } from "../../../src/store/ledger/service-instances.js";
import { sweep, sweepOwn } from "../../../src/store/ledger/sweep.js";
import { newServiceId, PostgresUsageMeter } from "../../../src/store/ledger/usage-meter.js";
import { MIGRATIONS } from "../../../src/store/migrations/all.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { migrate } from "../../../src/store/postgres/migrate.js";
import { openStore } from "../../../src/store/store.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { momentOfFault, pace, stays } from "../../support/pace.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";
import { databaseUrlOf, privateStore } from "../support.js";
import { brokenRules, journalInHolds, type LedgerTables, liveHold, newLedger } from "./ledger-support.js";

const RATE_HZ = 16_000;
const CREDITS = 25_000;
/** Longer than any running service is silent on a busy machine. */
const RULES = { answerMs: 3_000, heartbeatMs: 50, silentMs: 30_000, journalMs: 20, closeMs: 5_000 };
/** For services that must find another one silent. */
const IMPATIENT = { silentMs: 400 };

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

/** Starts the meter of one service, which closes with the test. */
async function startMeter(t: TestContext, rules: Partial<typeof RULES> = {}) {
  const { journal } = HoldJournal.open(join(await temporaryFolder(), "usage-journal"), SILENT);
  const meter = new PostgresUsageMeter(
    {
      ...ledger,
      changes: new HoldChanges(ledger.sql),
      journal,
      tariffs: DEFAULT_TARIFFS,
      clock: systemClock,
      log: SILENT,
      rules: { ...RULES, ...rules },
    },
    newServiceId(),
  );
  await meter.start(null);
  t.after(() => meter.close());
  return meter;
}

async function newOrganization(): Promise<string> {
  return (await ledger.organizations.create("test")).id;
}

async function balanceOf(organizationId: string): Promise<{ balance: number; held: number }> {
  const { balance, held } = (await ledger.accounts.find(organizationId))!;
  return { balance, held };
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("of 100 concurrent requests for the last credits, exactly those that fit get a hold", async (t) => {
  const meter = await startMeter(t);
  const organizationId = await newOrganization();
  // 400 credits each: 62 fit into 25,000, and 200 credits stay.
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      meter
        .hold({ id: `${organizationId}:${index}`, organizationId }, "synthesis", {
          units: 1_000,
          unitsPerSecond: 1,
        })
        .catch((error: ServiceError) => error),
    ),
  );
  const refused = answers.filter((answer) => answer instanceof ServiceError);
  assert.equal(refused.length, 38);
  for (const error of refused) assert.match(error.message, /needs 400 credits, 200 left/);
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS, held: 24_800 });
  const rest = await meter.hold({ id: `${organizationId}:rest`, organizationId }, "synthesis", {
    units: 500,
    unitsPerSecond: 1,
  });
  assert.equal(rest.credits, 200);
  await assert.rejects(
    meter.hold({ id: `${organizationId}:more`, organizationId }, "synthesis", {
      units: 1,
      unitsPerSecond: 1,
    }),
    hasCode("OUT_OF_CREDITS"),
  );
  await assert.rejects(meter.requireCredit(organizationId, "file"), hasCode("OUT_OF_CREDITS"));
  for (const answer of answers) if (!(answer instanceof ServiceError)) await answer.charge();
  await rest.release();
  assert.deepEqual(await balanceOf(organizationId), { balance: 200, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("concurrent requests on two services get as many holds as the organization may have", async (t) => {
  const meters = [await startMeter(t), await startMeter(t)];
  const organizationId = await newOrganization();
  const hold = (nth: number, kind: "synthesis" | "file" = "synthesis") => {
    const reference = { id: `${organizationId}:${nth}`, organizationId, mostAtOnce: 3 };
    const quantity = { units: 1, unitsPerSecond: 1 };
    return meters[nth % 2]!.hold(reference, kind, quantity).catch((error: ServiceError) => error);
  };
  const answers = await Promise.all(Array.from({ length: 20 }, (_, nth) => hold(nth)));
  const held = answers.filter((answer): answer is Hold => !(answer instanceof ServiceError));
  assert.equal(held.length, 3);
  for (const refused of answers) {
    if (refused instanceof ServiceError)
      assert.match(refused.message, /at most 3 synthesis requests at once/);
  }
  assert.ok(!((await hold(20, "file")) instanceof ServiceError), "kinds are counted apart");
  await held[0]!.charge();
  assert.ok((await hold(21)) instanceof ServiceError, "an answer on its way takes its place");
  await held[0]!.complete();
  for (const nth of [22, 23]) {
    const next = await hold(nth);
    assert.ok(!(next instanceof ServiceError), "a place is given again, on each of them");
    await next.release();
  }
});

test("a slot is free for its service before the database records it", async (t) => {
  const [here, there] = [await startMeter(t), await startMeter(t)];
  const organizationId = await newOrganization();
  const quantity = { units: 1, unitsPerSecond: 1 };
  const reference = (name: string) => ({ id: `${organizationId}:${name}`, organizationId, mostAtOnce: 1 });
  const first = await here.hold(reference("first"), "synthesis", quantity);
  await ledger.sql.begin(async (transaction) => {
    // No service can settle it meanwhile.
    await transaction`select from holds where id = ${`${organizationId}:first`} for update`;
    const released = first.release();
    const second = await here.hold(reference("second"), "synthesis", quantity);
    await assert.rejects(there.hold(reference("third"), "synthesis", quantity), hasCode("TOO_MANY_REQUESTS"));
    await assert.rejects(there.requireCredit(organizationId, "synthesis", 1), hasCode("TOO_MANY_REQUESTS"));
    await second.release();
    void released;
  });
  await eventually("the first is settled", async () => (await balanceOf(organizationId)).held === 0);
  await there.requireCredit(organizationId, "synthesis", 1);
});

test("a live session beyond the limit on another service ends before it accepts audio", async (t) => {
  const [here, there] = [await startMeter(t), await startMeter(t)];
  const organizationId = await newOrganization();
  const open = (meter: PostgresUsageMeter, id: string, told: LiveFunds[]) =>
    meter.openLive({ id: `${organizationId}:${id}`, organizationId, mostAtOnce: 1 }, RATE_HZ, (funds) =>
      told.push(funds),
    );
  const [first, second, third]: LiveFunds[][] = [[], [], []];
  const live = open(here, "first", first!);
  await eventually("the first is held", () => first!.length > 0);
  const refused = open(there, "second", second!);
  await eventually("the second is refused", () => second!.length > 0);
  assert.deepEqual([second![0]!.limitSamples, second![0]!.beyond.code], [0, "TOO_MANY_REQUESTS"]);
  refused.settle(0, () => {});
  live.settle(0, () => {});
  await eventually("the first is settled", async () => (await balanceOf(organizationId)).held === 0);
  const next = open(there, "third", third!);
  await eventually("the third is held", () => (third![0]?.limitSamples ?? 0) > 0);
  next.settle(0, () => {});
});

test("the schema rejects changed transfers and overdrawn accounts", async () => {
  const organizationId = await newOrganization();
  await assert.rejects(ledger.sql`update transfers set amount = 1`, /immutable/);
  await assert.rejects(ledger.sql`delete from transfers`, /immutable/);
  await assert.rejects(ledger.sql`truncate transfers`, /immutable/);
  await assert.rejects(
    ledger.sql`update accounts set balance = -1 where id = ${organizationId}`,
    /violates check/,
  );
  await assert.rejects(
    ledger.sql`update accounts set held = balance + 1 where id = ${organizationId}`,
    /violates check/,
  );
});

test("organizations older than the ledger get their account and grant once", async () => {
  const admin = connect(server.connection, SILENT);
  await admin`create database before_ledger`;
  await admin.end();
  const sql = connect({ ...server.connection, database: "before_ledger" }, SILENT);
  try {
    await migrate(sql, MIGRATIONS.slice(0, 1));
    await sql`insert into organizations (id, name) values ('org_old', 'old')`;
    await migrate(sql, MIGRATIONS);
    await new Organizations(sql).ensure("org_old", "old");
    assert.equal((await new Accounts(sql).find("org_old"))!.balance, CREDITS);
    assert.deepEqual(await brokenRules(sql), []);
  } finally {
    await sql.end();
  }
});

test("a refund returns the undelivered part once", async (t) => {
  const meter = await startMeter(t);
  const organizationId = await newOrganization();
  const hold = await meter.hold({ id: `${organizationId}:r`, organizationId }, "synthesis", {
    units: 100,
    unitsPerSecond: 1,
  });
  await hold.charge();
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 40, held: 0 });
  await hold.refund(31);
  await hold.refund(0);
  await hold.complete();
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 13, held: 0 });
});

test("a live session is charged once for its audio, regardless of its hold", async (t) => {
  const meter = await startMeter(t);
  const organizationId = await newOrganization();
  const funds: LiveFunds[] = [];
  const live = meter.openLive({ id: "ses_long", organizationId }, RATE_HZ, (told) => funds.push(told));
  await eventually("a hold over 120 s", () => funds.at(-1)?.limitSamples === 120 * RATE_HZ);
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS, held: 720 });
  live.accepted(70 * RATE_HZ);
  await eventually("a hold over 190 s", () => funds.at(-1)?.limitSamples === 190 * RATE_HZ);
  await eventually("journal", async () => {
    const [row] = await ledger.sql`
      select from service_instances where id = ${meter.serviceId}
        and journal_holds = '{ses_long}' and journal_units = array[${70 * RATE_HZ}]::bigint[]`;
    return row !== undefined;
  });
  const charged: number[] = [];
  live.settle(70 * RATE_HZ + 1, (credits) => charged.push(credits));
  live.settle(99 * RATE_HZ, (credits) => charged.push(credits));
  await eventually("the charge", () => charged.length > 0);
  assert.deepEqual(charged, [421]);
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 421, held: 0 });
});

test("a live session ends when the credits run out", async (t) => {
  const meter = await startMeter(t);
  const organizationId = await newOrganization();
  // Leaves 605 credits: 100 s and five sixths of one.
  const file = { units: 9_758, unitsPerSecond: 1 };
  assert.equal(
    (await meter.hold({ id: `${organizationId}:x`, organizationId }, "file", file)).credits,
    24_395,
  );
  const funds: LiveFunds[] = [];
  const live = meter.openLive({ id: "ses_short", organizationId }, RATE_HZ, (told) => funds.push(told));
  const limit = Math.floor((605 * RATE_HZ) / 6);
  await eventually("a hold over the rest", () => funds.at(-1)?.limitSamples === limit);
  assert.equal(funds.at(-1)!.beyond.code, "OUT_OF_CREDITS");
  const refused: LiveFunds[] = [];
  const second = meter.openLive({ id: "ses_none", organizationId }, RATE_HZ, (told) => refused.push(told));
  await eventually("a refusal", () => refused.at(-1)?.limitSamples === 0);
  assert.match(refused.at(-1)!.beyond.message, /needs 6 credits, 0 left/);
  const charged: number[] = [];
  second.settle(100, (credits) => charged.push(credits));
  live.settle(limit, (credits) => charged.push(credits));
  await eventually("both charges", () => charged.length === 2);
  assert.deepEqual(charged.sort(), [0, 605]);
  assert.deepEqual(await balanceOf(organizationId), { balance: 24_395, held: 24_395 });
});

test("a silent service's holds are settled once, by another service", async (t) => {
  const organizationId = await newOrganization();
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
  const alive = await startMeter(t, IMPATIENT);
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
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - spent, held: 2 });
  await Promise.all([sweep(holds), sweep(holds), sweep(holds)]);
  await mine.release();
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - spent, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a service settles holds reopened by a promoted standby, but not active ones", async (t) => {
  const organizationId = await newOrganization();
  const { changes, holds, instances, sql } = ledger;
  const meter = await startMeter(t);
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
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 60 - charged, held: 0 });
  assert.deepEqual(await brokenRules(sql), []);
});

test("a hold that closes during the search does not count as forgotten", async () => {
  const organizationId = await newOrganization();
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
  const organizationId = await newOrganization();
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
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - spent, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a live session ends when another service has presumed its own stopped and settled it", async (t) => {
  // Sends no heartbeats, but continues.
  const meter = await startMeter(t, { heartbeatMs: 600_000 });
  const organizationId = await newOrganization();
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
  await startMeter(t, IMPATIENT);
  const isSettled = async () => (await balanceOf(organizationId)).balance === CREDITS - 6;
  await eventually("the charge for what was journaled", isSettled);
  live.accepted(2 * RATE_HZ);
  await eventually("the end", () => told.at(-1)!.limitSamples === 0);
  assert.equal(told.at(-1)!.beyond.code, "AUTH_UNAVAILABLE");
  live.settle(2 * RATE_HZ, () => {});
  await meter.close();
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 6, held: 0 });
});

// An operator or NTP sets the clock of the database's machine forwards or back by hours.
test("a jump of the wall clock neither ends a running service's work nor keeps a stopped one alive", async (t) => {
  const organizationId = await newOrganization();
  // Longer than a busy machine delays a heartbeat, and short enough to wait for.
  const rules = { silentMs: 3_000 };
  const [working, gone] = [
    await startMeter(t, rules),
    await startMeter(t, { ...rules, heartbeatMs: 60_000 }),
  ];
  const observer = await startMeter(t, rules);
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
  const organizationId = await newOrganization();
  for (let index = 0; index < 20; index++) {
    await ledger.changes.openUpTo(liveHold(`${organizationId}:${index}`, organizationId, 10, "svc_gone"), 6);
    await journalInHolds(ledger.sql, new Map([[`${organizationId}:${index}`, RATE_HZ]]));
  }
  await Promise.all([sweep(ledger.holds), sweep(ledger.holds), sweep(ledger.holds)]);
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 120, held: 0 });
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
  const organizationId = await newOrganization();
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
  assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - spent, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a database crash under load neither charges nor loses anything", async (t) => {
  const meter = await startMeter(t, { answerMs: 1_000 });
  const organizationId = await newOrganization();
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
  await eventually("no hold left", async () => (await balanceOf(organizationId)).held === 0);
  await eventually(
    "all charges",
    async () => (await balanceOf(organizationId)).balance === CREDITS - charged,
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
