import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Hold, LiveFunds } from "../../../core/ports/usage-meter.js";
import { Organizations } from "../../../src/store/accounts/organizations.js";
import { Accounts } from "../../../src/store/ledger/accounts.js";
import type { PostgresUsageMeter } from "../../../src/store/ledger/usage-meter.js";
import { MIGRATIONS } from "../../../src/store/migrations/all.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { migrate } from "../../../src/store/postgres/migrate.js";
import { eventually } from "../../support/eventually.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";
import { brokenRules, type LedgerTables, newLedger } from "./ledger-support.js";
import { balanceOf, CREDITS, hasCode, newOrganization, RATE_HZ, startMeter } from "./meter-support.js";

let server: EmbeddedPostgres;
let ledger: LedgerTables;

before(async () => {
  server = await EmbeddedPostgres.start({ dataDir: await preparedFolder(), purpose: "service", log: SILENT });
  ledger = await newLedger(server);
});
after(async () => {
  // Without a limit this would wait forever for a query that the driver has lost.
  await ledger.sql.end({ timeout: 5 });
  await server.stop();
});

test("of 100 concurrent requests for the last credits, exactly those that fit get a hold", async (t) => {
  const meter = await startMeter(ledger, t);
  const organizationId = await newOrganization(ledger);
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
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS, held: 24_800 });
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
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: 200, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("concurrent requests on two services get as many holds as the organization may have", async (t) => {
  const meters = [await startMeter(ledger, t), await startMeter(ledger, t)];
  const organizationId = await newOrganization(ledger);
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
  const [here, there] = [await startMeter(ledger, t), await startMeter(ledger, t)];
  const organizationId = await newOrganization(ledger);
  const quantity = { units: 1, unitsPerSecond: 1 };
  const reference = (name: string) => ({ id: `${organizationId}:${name}`, organizationId, mostAtOnce: 1 });
  const first = await here.hold(reference("first"), "synthesis", quantity);
  await ledger.sql.begin(async (transaction) => {
    // No service can settle the hold meanwhile.
    await transaction`select from holds where id = ${`${organizationId}:first`} for update`;
    const released = first.release();
    const second = await here.hold(reference("second"), "synthesis", quantity);
    await assert.rejects(there.hold(reference("third"), "synthesis", quantity), hasCode("TOO_MANY_REQUESTS"));
    await assert.rejects(there.requireCredit(organizationId, "synthesis", 1), hasCode("TOO_MANY_REQUESTS"));
    await second.release();
    void released;
  });
  await eventually("the first is settled", async () => (await balanceOf(ledger, organizationId)).held === 0);
  await there.requireCredit(organizationId, "synthesis", 1);
});

test("a live session beyond the limit on another service ends before it accepts audio", async (t) => {
  const [here, there] = [await startMeter(ledger, t), await startMeter(ledger, t)];
  const organizationId = await newOrganization(ledger);
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
  await eventually("the first is settled", async () => (await balanceOf(ledger, organizationId)).held === 0);
  const next = open(there, "third", third!);
  await eventually("the third is held", () => (third![0]?.limitSamples ?? 0) > 0);
  next.settle(0, () => {});
});

test("the schema rejects changed transfers and overdrawn accounts", async () => {
  const organizationId = await newOrganization(ledger);
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
  const meter = await startMeter(ledger, t);
  const organizationId = await newOrganization(ledger);
  const hold = await meter.hold({ id: `${organizationId}:r`, organizationId }, "synthesis", {
    units: 100,
    unitsPerSecond: 1,
  });
  await hold.charge();
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - 40, held: 0 });
  await hold.refund(31);
  await hold.refund(0);
  await hold.complete();
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - 13, held: 0 });
});

test("a live session is charged once for its audio, regardless of its hold", async (t) => {
  const meter = await startMeter(ledger, t);
  const organizationId = await newOrganization(ledger);
  const funds: LiveFunds[] = [];
  const live = meter.openLive({ id: "ses_long", organizationId }, RATE_HZ, (told) => funds.push(told));
  await eventually("a hold over 120 s", () => funds.at(-1)?.limitSamples === 120 * RATE_HZ);
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS, held: 720 });
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
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: CREDITS - 421, held: 0 });
});

test("a live session ends when the credits run out", async (t) => {
  const meter = await startMeter(ledger, t);
  const organizationId = await newOrganization(ledger);
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
  assert.deepEqual(await balanceOf(ledger, organizationId), { balance: 24_395, held: 24_395 });
});
