// Changes of holds that run in batches. Each has the effect that it would have alone.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DEFAULT_TARIFFS } from "../../../core/domain/usage/tariff.js";
import { HoldChanges, HoldIsOver, TooManyAtOnce } from "../../../src/store/ledger/hold-changes.js";
import type { NewHold } from "../../../src/store/ledger/holds.js";
import { sweep } from "../../../src/store/ledger/sweep.js";
import { newServiceId } from "../../../src/store/ledger/usage-meter.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { eventually } from "../../support/eventually.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SEED, uniform } from "../../support/seed.js";
import { SILENT } from "../../support/silent-log.js";
import { brokenRules, journalInHolds, type LedgerTables, newLedger } from "./ledger-support.js";

const CREDITS = 25_000;

let server: EmbeddedPostgres;
let ledger: LedgerTables;

before(async () => {
  server = await EmbeddedPostgres.start({
    dataDir: await preparedFolder(),
    purpose: "service",
    log: SILENT,
  });
  ledger = await newLedger(server);
});
after(async () => {
  await ledger.sql.end({ timeout: 5 });
  await server.stop();
});

async function newOrganizations(count: number): Promise<string[]> {
  const made = Array.from({ length: count }, () => ledger.organizations.create("test"));
  return (await Promise.all(made)).map(({ id }) => id);
}

/** A number of characters of speech, at 0.4 credits each. */
function speech(organizationId: string, name: string | number, characters = 1_000): NewHold {
  const quantity = { units: characters, unitsPerSecond: 1 };
  const tariff = DEFAULT_TARIFFS.synthesis;
  return {
    ...{ id: `${organizationId}:${name}`, organizationId, serviceId: "svc_a" },
    ...{ kind: "synthesis", quantity, tariff },
  };
}

async function balanceOf(organizationId: string): Promise<{ balance: number; held: number }> {
  const { balance, held } = (await ledger.accounts.find(organizationId))!;
  return { balance, held };
}

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.catch((error: Error) => error);
}

test("among many concurrent changes, rejections do not affect other results", async () => {
  const { changes, holds } = ledger;
  const [poor, crowded, ...others] = (await newOrganizations(42)) as [string, string, ...string[]];
  await changes.open(speech(poor, "most", 62_000));
  const limit = { atOnce: 2, over: [`${crowded}:over`] };
  await changes.open({ ...speech(crowded, "over"), limit });
  await holds.void(speech(crowded, "closed"));
  const outcomes = await Promise.all([
    ...others.map((organizationId) => outcomeOf(changes.open(speech(organizationId, 1)))),
    outcomeOf(changes.open(speech(poor, 1))),
    outcomeOf(changes.openUpTo(speech(poor, 2), 200)),
    outcomeOf(changes.openUpTo(speech(poor, 3), 1)),
    outcomeOf(changes.open(speech("org_unknown", 1))),
    outcomeOf(changes.open(speech(crowded, "closed"))),
    // The schema rejects this change, and with it the statement of the whole batch.
    outcomeOf(changes.open({ ...speech(crowded, "wrong"), kind: "another" as "file" })),
    ...[1, 2, 3].map((nth) => outcomeOf(changes.open({ ...speech(crowded, nth), limit }))),
    outcomeOf(changes.open(speech(crowded, 1))),
    ...others.map((organizationId) => outcomeOf(changes.open(speech(organizationId, 2)))),
    outcomeOf(changes.post({ id: `${crowded}:nothing`, organizationId: crowded }, 1, "posted")),
    outcomeOf(changes.extend({ id: `${poor}:nothing`, organizationId: poor }, 1)),
  ]);
  const ofOthers = [...outcomes.splice(0, others.length), ...outcomes.splice(10, others.length)];
  assert.deepEqual(
    ofOthers,
    ofOthers.map(() => true),
  );
  const [tooMuch, rest, nothingLeft, unknown, closed, wrong, ...more] = outcomes;
  assert.equal(tooMuch, false);
  assert.deepEqual(
    [rest, nothingLeft],
    [
      { held: 200, available: 0 },
      { held: 0, available: 0 },
    ],
  );
  assert.equal(unknown, false);
  assert.ok(closed instanceof HoldIsOver);
  assert.match(String(wrong), /violates check/);
  assert.deepEqual(more.slice(0, 2), [true, true]);
  assert.ok(more[2] instanceof TooManyAtOnce);
  assert.deepEqual(more.slice(3), [true, null, null]);
  // All of them are charged in one batch, some repeatedly.
  const posted = await Promise.all(
    others.flatMap((organizationId) => [
      changes.post(speech(organizationId, 1), 500, "settled"),
      changes.post(speech(organizationId, 1), 500, "settled"),
      changes.extend(speech(organizationId, 2), 600),
      changes.post(speech(organizationId, 2), 9_999, "posted"),
    ]),
  );
  for (const [index, organizationId] of others.entries()) {
    const answers = posted.slice(4 * index, 4 * index + 4);
    assert.deepEqual(answers, [200, null, { held: 600, available: CREDITS - 800 }, 600]);
    assert.deepEqual(await balanceOf(organizationId), { balance: CREDITS - 800, held: 0 });
  }
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a locked account or hold does not delay others", async () => {
  const { changes, sql } = ledger;
  const [locked, other] = (await newOrganizations(2)) as [string, string];
  for (const organizationId of [locked, other]) await changes.open(speech(organizationId, 0));
  let later: Promise<unknown>[] = [];
  await sql.begin(async (transaction) => {
    await transaction`select from accounts where id = ${locked} for update`;
    await transaction`select from holds where id = ${`${other}:0`} for update`;
    later = [
      changes.open(speech(locked, 1)),
      changes.open(speech(locked, 2)),
      changes.post(speech(other, 0), 1_000, "settled"),
    ];
    const free = await newOrganizations(3);
    const opened = await Promise.all(free.map((organizationId) => changes.open(speech(organizationId, 1))));
    assert.deepEqual(opened, [true, true, true]);
    assert.deepEqual(await balanceOf(locked), { balance: CREDITS, held: 400 });
  });
  assert.deepEqual(await Promise.all(later), [true, true, 400]);
  assert.deepEqual(await balanceOf(locked), { balance: CREDITS, held: 1_200 });
  assert.deepEqual(await balanceOf(other), { balance: CREDITS - 400, held: 0 });
});

test("a waiting release or charge sees the hold's latest state", async () => {
  const { changes, holds, sql } = ledger;
  const [opened, extended] = (await newOrganizations(2)) as [string, string];
  await changes.open(speech(extended, 1));
  let later: Promise<unknown>[] = [];
  await sql.begin(async (transaction) => {
    await transaction`
      select from change_holds(${sql.json([
        { nth: 0, change: "extend", organization: extended, id: `${extended}:1`, wanted: 900 },
        {
          ...{
            nth: 1,
            change: "open",
            organization: opened,
            id: `${opened}:1`,
            service: "svc_a",
            kind: "synthesis",
          },
          ...{ units: 1, per_second: 1, credits: 1, per_units: 1, wanted: 400, least: 1, over: [] },
        },
      ])}, ${[`${extended}:1`]}::text[], ${[opened, extended]}::text[], false)`;
    later = [holds.void(speech(opened, 1)), holds.post(`${extended}:1`, 2_250, "settled")];
    await eventually("both wait", async () => {
      const waiting = await sql`select from pg_stat_activity where wait_event_type = 'Lock'`;
      return waiting.length === 2;
    });
  });
  assert.deepEqual(await Promise.all(later), [undefined, 900]);
  assert.deepEqual(await balanceOf(opened), { balance: CREDITS, held: 0 });
  assert.deepEqual(await balanceOf(extended), { balance: CREDITS - 900, held: 0 });
});

// The services lose connections, and one of them is swept while it works.
test("cut connections and a sweep leave everything charged once and nothing held", async () => {
  const { holds, instances, sql } = ledger;
  const random = uniform(SEED);
  const organizationIds = await newOrganizations(6);
  const services = [newServiceId(), newServiceId()];
  for (const serviceId of services) await instances.heartbeat(serviceId);
  const charges = new Map<string, number>();
  let isOver = false;
  let failureCount = 0;
  let sweptCount = 0;
  /** Retries until there is a result, as settlements do. */
  const persist = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        assert.ok(!(error instanceof HoldIsOver), String(error));
        failureCount++;
      }
    }
  };
  const worker = async (changes: HoldChanges, serviceId: string, name: number) => {
    for (let nth = 0; !isOver; nth++) {
      const organizationId = organizationIds[(name + nth) % organizationIds.length]!;
      const hold = { ...speech(organizationId, `${serviceId}.${name}.${nth}`, 10), serviceId };
      const live = { ...hold, kind: "live" as const };
      try {
        const isOpen = nth % 2 === 0 ? await changes.open(hold) : (await changes.openUpTo(live, 1)).held > 0;
        if (!isOpen) return;
      } catch {
        // The hold may have been opened although no result arrived.
        failureCount++;
        await persist(() => holds.void(hold));
        continue;
      }
      if (nth % 5 === 0) await persist(() => changes.extend(hold, 8));
      if (nth % 7 === 0) await persist(() => holds.void(hold));
      else {
        const charged = await persist(() => changes.post(hold, 10, "settled"));
        if (charged !== null) charges.set(hold.id, charged);
      }
    }
  };
  const workers = services.flatMap((serviceId) => {
    const changes = new HoldChanges(sql);
    return Array.from({ length: 12 }, (_, name) => worker(changes, serviceId, name));
  });
  const admin = await sql.reserve();
  for (let round = 0; round < 6; round++) {
    const before = charges.size;
    await eventually("charges", () => charges.size > before + 20, 60_000);
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and application_name = 'dauys' and random() < 0.7`;
    if (random() < 0.5) continue;
    // The second service sends no heartbeat for too long, and then returns.
    const serviceId = services[1]!;
    const open = await persist(
      () => sql<{ id: string }[]>`select id from holds where service_id = ${serviceId} and state = 'open'`,
    );
    const acceptedById = new Map(open.map(({ id }) => [id, 4]));
    if (random() < 0.5) await persist(() => journalInHolds(sql, acceptedById));
    else await persist(() => instances.journal({ serviceId, nth: round + 1, acceptedById }));
    await persist(() => instances.remove(serviceId));
    const swept = await Promise.all([persist(() => sweep(holds)), persist(() => sweep(holds))]);
    sweptCount += Math.max(...swept);
    await persist(() => instances.heartbeat(serviceId));
  }
  isOver = true;
  await Promise.all(workers);
  admin.release();
  assert.ok(failureCount > 0 && sweptCount > 0, `${failureCount} failures, ${sweptCount} swept`);
  const [left] = await sql<{ count: number }[]>`
    select count(*)::int as count from holds where state <> 'settled' and state <> 'voided'
      and organization_id = any (${organizationIds})`;
  assert.equal(left!.count, 0, "holds that are still in work");
  const rows = await sql<{ id: string; amount: string }[]>`
    select id, amount from holds where id = any (${[...charges.keys()]}::text[])`;
  assert.deepEqual(new Map(rows.map(({ id, amount }) => [id, Number(amount)])), charges);
  assert.deepEqual(await brokenRules(sql), []);
  const [database] = await sql<{ deadlocks: string }[]>`
    select sum(deadlocks) as deadlocks from pg_stat_database`;
  assert.equal(Number(database!.deadlocks), 0);
});
