// Tests the monthly caps of keys on a real PostgreSQL.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import { holdIdOf } from "../../../core/domain/jobs/job.js";
import { NO_KEY_LIMITS } from "../../../core/domain/key-limits.js";
import { DEFAULT_TARIFFS } from "../../../core/domain/usage/tariff.js";
import { systemClock } from "../../../core/ports/clock.js";
import type { JobRun } from "../../../core/ports/jobs.js";
import type { LiveFunds, UsageReference } from "../../../core/ports/usage-meter.js";
import { ApiKeys } from "../../../src/store/accounts/api-keys.js";
import { AudioReader } from "../../../src/store/jobs/audio-reader.js";
import { openJobs } from "../../../src/store/jobs/open-jobs.js";
import { HoldChanges } from "../../../src/store/ledger/hold-changes.js";
import { HoldJournal } from "../../../src/store/ledger/hold-journal.js";
import { nextMonth } from "../../../src/store/ledger/metering-errors.js";
import { sweep } from "../../../src/store/ledger/sweep.js";
import { newServiceId, PostgresUsageMeter } from "../../../src/store/ledger/usage-meter.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { queueSchemaOf } from "../../../src/store/postgres/queue-schema.js";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { preparedFolder } from "../../support/prepared-database.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";
import { brokenRules, type LedgerTables, liveHold, newLedger } from "./ledger-support.js";

const RATE_HZ = 16_000;
const REQUESTS = 100;

let server: EmbeddedPostgres;
let ledger: LedgerTables;
let keys: ApiKeys;

before(async () => {
  server = await EmbeddedPostgres.start({ dataDir: await preparedFolder(), purpose: "service", log: SILENT });
  ledger = await newLedger(server);
  keys = new ApiKeys(ledger.sql, "pepper");
});
after(async () => {
  await ledger.sql.end({ timeout: 5 });
  await server.stop();
});

async function startMeter(t: TestContext): Promise<PostgresUsageMeter> {
  const { journal } = HoldJournal.open(join(await temporaryFolder(), "usage-journal"), SILENT);
  const changes = new HoldChanges(ledger.sql);
  const parts = { ...ledger, changes, journal, tariffs: DEFAULT_TARIFFS, clock: systemClock, log: SILENT };
  const meter = new PostgresUsageMeter(parts, newServiceId());
  await meter.start(null);
  t.after(() => meter.close());
  return meter;
}

async function newKey(monthlyCredits: number | null, credits = 1_000_000) {
  const { id: organizationId } = await ledger.organizations.create("test");
  await ledger.transfers.topUp(organizationId, credits, `pay:${organizationId}`);
  const { id: keyId } = await keys.create({
    organizationId,
    name: "capped",
    limits: { ...NO_KEY_LIMITS, monthlyCredits },
  });
  let count = 0;
  const reference = (): UsageReference => {
    const id = `${keyId}:${++count}`;
    return { id, organizationId, origin: { keyId, endpoint: "/v1/tts" } };
  };
  const month = async () => (await keys.list(organizationId))[0]!.usage[0]!;
  return { organizationId, keyId, reference, month };
}

function isOverBudget(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "KEY_BUDGET_EXCEEDED";
}

/** Runs one piece of work of a kind. Resolves with whether the cap covered it. */
function attempt(meter: PostgresUsageMeter, reference: UsageReference, nth: number): Promise<boolean> {
  const covered = async (work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      assert.ok(isOverBudget(error), String(error));
      return false;
    }
  };
  switch (nth % 4) {
    case 0:
      return covered(async () => {
        const hold = await meter.hold(reference, "synthesis", { units: 250, unitsPerSecond: 1 });
        await hold.charge();
        await hold.complete();
      });
    case 1:
      return covered(async () => {
        const hold = await meter.hold(reference, "file", { units: 40 * RATE_HZ, unitsPerSecond: RATE_HZ });
        await hold.charge();
        await (nth % 8 === 1 ? hold.refund(0) : hold.complete());
      });
    case 2:
      return covered(async () => {
        const speech = meter.openSpeech(reference);
        try {
          await speech.cover(100);
          await speech.cover(250);
        } catch (error) {
          speech.settle(0);
          throw error;
        }
        speech.settle(250);
      });
    default:
      return live(meter, reference, 20);
  }
}

/** Streams seconds of audio as far as the funds allow. Resolves with whether they covered all of it. */
async function live(meter: PostgresUsageMeter, reference: UsageReference, seconds: number): Promise<boolean> {
  const funds = deferred<LiveFunds>();
  const meterOfSession = meter.openLive(reference, RATE_HZ, funds.resolve);
  const { limitSamples, beyond } = await funds.promise;
  const accepted = Math.min(seconds * RATE_HZ, limitSamples);
  meterOfSession.accepted(accepted);
  const charged = deferred<number>();
  meterOfSession.settle(accepted, charged.resolve);
  await charged.promise;
  if (accepted < seconds * RATE_HZ) assert.ok(isOverBudget(beyond), String(beyond));
  return accepted === seconds * RATE_HZ;
}

test("100 parallel pieces of work of every kind never pass a key's cap by a credit", async (t) => {
  const services = [await startMeter(t), await startMeter(t)];
  const cap = 2_950;
  const { reference, month, keyId, organizationId } = await newKey(cap);
  const outcomes = await Promise.all(
    Array.from({ length: REQUESTS }, (_, nth) => attempt(services[nth % 2]!, reference(), nth)),
  );
  assert.ok(outcomes.includes(true) && outcomes.includes(false));
  const held = async () => (await month()).held;
  await eventually("all work is settled", async () => (await held()) === 0);
  assert.ok((await month()).credits <= cap, String((await month()).credits));
  // The remaining credits still pay for smaller work, down to the last credit.
  const left = cap - (await month()).credits;
  const characters = Math.floor((left * 5) / 2);
  if (characters > 0) {
    const hold = await services[0]!.hold(reference(), "synthesis", { units: characters, unitsPerSecond: 1 });
    await hold.charge();
    await hold.complete();
  }
  assert.equal((await month()).credits, cap);
  const more = services[0]!.hold(reference(), "synthesis", { units: 1, unitsPerSecond: 1 });
  await assert.rejects(more, (error) => {
    assert.ok(isOverBudget(error));
    const { message } = error as ServiceError;
    assert.match(message, /cap of this key is 2950 credits: needs 1 credits, 0 left until \d{4}-\d\d-01/);
    return message.includes(nextMonth(Date.now()));
  });
  await assert.rejects(services[0]!.requireCredit(organizationId, "file", undefined, keyId), isOverBudget);
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a key without a cap can still spend, and so can other keys of the organization", async (t) => {
  const meter = await startMeter(t);
  const capped = await newKey(100);
  const { id: otherId } = await keys.create({ organizationId: capped.organizationId, name: "other" });
  const other = { ...capped.reference(), origin: { keyId: otherId, endpoint: "/v1/tts" } };
  const quantity = { units: 1_000, unitsPerSecond: 1 };
  await assert.rejects(meter.hold(capped.reference(), "synthesis", quantity), isOverBudget);
  await (await meter.hold(other, "synthesis", quantity)).charge();
  // A raised or removed cap applies from the next hold on.
  await keys.setLimits(capped.keyId, { monthlyCredits: 400 });
  const hold = await meter.hold(capped.reference(), "synthesis", quantity);
  await hold.charge();
  await hold.complete();
  assert.deepEqual((await capped.month()).credits, 400);
  await assert.rejects(meter.hold(capped.reference(), "synthesis", quantity), isOverBudget);
  await keys.setLimits(capped.keyId, { monthlyCredits: null });
  await (await meter.hold(capped.reference(), "synthesis", quantity)).release();
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a request without credits gets the error about credits, whatever the cap leaves", async (t) => {
  const meter = await startMeter(t);
  const { reference } = await newKey(2_000_000, 1);
  const hold = meter.hold(reference(), "synthesis", { units: 2_000_000, unitsPerSecond: 1 });
  await assert.rejects(hold, (error) => error instanceof ServiceError && error.code === "OUT_OF_CREDITS");
});

test("holds of jobs occupy none of the slots of requests, and obey their key's cap", async (t) => {
  const meter = await startMeter(t);
  const { organizationId, keyId, reference, month } = await newKey(400);
  const quantity = { units: 40 * RATE_HZ, unitsPerSecond: RATE_HZ };
  const hold = (id: string) =>
    meter.hold(
      { id, organizationId, origin: { keyId, endpoint: "/v1/jobs/transcriptions" } },
      "file",
      quantity,
    );
  const first = await hold(`job_${keyId}-1`);
  const { credits } = first;
  assert.equal(credits * 4, 400, "the cap covers four of them");
  const request = await meter.hold({ ...reference(), mostAtOnce: 1 }, "file", quantity);
  await assert.rejects(
    meter.hold({ ...reference(), mostAtOnce: 1 }, "file", quantity),
    (error) => error instanceof ServiceError && error.code === "TOO_MANY_REQUESTS",
  );
  const others = [await hold(`job_${keyId}-2`), await hold(`job_${keyId}-3`)];
  await assert.rejects(hold(`job_${keyId}-4`), isOverBudget);
  assert.equal((await month()).held, 400);
  await Promise.all([...others, first].map((one) => one.release()));
  await request.charge();
  await request.complete();
  await eventually("only the request is charged", async () => (await month()).held === 0);
  assert.equal((await month()).credits, credits);
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a lost run of a job leaves the credits of its key's cap to the next run", async (t) => {
  const meter = await startMeter(t);
  const { organizationId, keyId, month } = await newKey(100);
  const { jobs, queue } = openJobs({
    sql: ledger.sql,
    queueSchema: await queueSchemaOf(ledger.sql),
    serviceId: meter.serviceId,
    limits: { waitingMost: 10, storageBytes: 2 ** 20, keptMs: 3_600_000 },
    audio: new AudioReader(""),
    derive: () => new Uint8Array(32),
    log: SILENT,
    onQueued: () => {},
  });
  const options = { model: "svc-kk-ru-v2", timestamps: false, hotWords: [], reading: null };
  const rest = { fileName: null, webhookUrl: null, idempotencyKey: null, fingerprint: null };
  await jobs.submit({ organizationId, keyId, options, url: "https://recordings.test/a.wav", ...rest }, null);
  const origin = { keyId, endpoint: "/v1/jobs/transcriptions" };
  const quantity = { units: 40 * RATE_HZ, unitsPerSecond: RATE_HZ };
  const hold = (run: JobRun) => meter.hold({ id: holdIdOf(run), organizationId, origin }, "file", quantity);
  const lost = (await queue.take())!;
  const left = await hold(lost);
  assert.equal((await month()).held, 100);
  await queue.putBack(lost, true);
  const taken: JobRun[] = [];
  await eventually("it runs again", async () => {
    const again = await queue.take();
    if (again !== null) taken.push(again);
    return again !== null;
  });
  const run = taken[0]!;
  const { credits } = await hold(run);
  const result = { holdId: holdIdOf(run), units: quantity.units, audioSeconds: 40, credits, result: "{}" };
  assert.equal(await queue.finish(lost, { ...result, holdId: holdIdOf(lost) }), "not-ours");
  assert.equal(await queue.finish(run, result), "done");
  await left.release();
  assert.deepEqual(await month(), { month: new Date().toISOString().slice(0, 7), credits: 100, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a live session stops at its key's cap, as it does at a balance of zero", async (t) => {
  const meter = await startMeter(t);
  // The cap pays for 100 seconds.
  const { reference, month } = await newKey(600);
  const funds: LiveFunds[] = [];
  const session = meter.openLive(reference(), RATE_HZ, (more) => funds.push(more));
  await eventually("the session has funds", () => funds.length > 0);
  assert.equal(funds.at(-1)!.limitSamples, 100 * RATE_HZ);
  assert.ok(isOverBudget(funds.at(-1)!.beyond));
  session.accepted(100 * RATE_HZ);
  const charged = deferred<number>();
  session.settle(100 * RATE_HZ, charged.resolve);
  assert.equal(await charged.promise, 600);
  assert.deepEqual(await month(), { month: new Date().toISOString().slice(0, 7), credits: 600, held: 0 });
});

test("the sweep after a crash charges no more than the cap leaves", async () => {
  const { keyId, organizationId, month } = await newKey(120);
  const origin = { keyId, endpoint: "/v1/stream" };
  const service = newServiceId();
  for (const nth of [1, 2]) {
    const hold = { ...liveHold(`${keyId}:${nth}`, organizationId, 10, service), origin };
    await ledger.changes.openUpTo(hold, 6);
  }
  // Both sessions ran ahead of their holds while an extension was lost.
  const journaled = new Map([1, 2].map((nth) => [`${keyId}:${nth}`, 15 * RATE_HZ]));
  await sweep(ledger.holds, journaled);
  assert.deepEqual(await month(), { month: (await month()).month, credits: 120, held: 0 });
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a hold counts in the month in which it was opened", async () => {
  const { keyId, organizationId, reference, month } = await newKey(100);
  const hold = { ...liveHold(reference().id, organizationId, 10), origin: { keyId, endpoint: "/v1/stream" } };
  await ledger.changes.openUpTo(hold, 6);
  await ledger.sql`delete from key_months where key_id = ${keyId}`;
  await ledger.sql`update holds set opened_at = '2026-01-31T23:59:59Z' where id = ${hold.id}`;
  await ledger.sql`insert into key_months values (${keyId}, '2026-01-01', 60, 0)`;
  // January leaves the hold 40 credits, whatever this month has used.
  assert.deepEqual(await ledger.changes.extend(hold, 200), { held: 100, available: 0, cap: 100 });
  assert.equal(await ledger.changes.post(hold, 12 * RATE_HZ, "settled"), 72);
  const [january] = await ledger.sql`select held, charged from key_months where key_id = ${keyId}`;
  assert.deepEqual({ ...january }, { held: 0, charged: 72 });
  assert.deepEqual([(await month()).credits, (await month()).held], [0, 0]);
});

test("any concurrent work of a key stays within any cap", async (t) => {
  const services = [await startMeter(t), await startMeter(t)];
  const anyWork = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 2, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 600 }), anyWork, async (cap, works) => {
      const { reference, month } = await newKey(cap);
      await Promise.all(
        works.map(async (work, nth) => {
          const meter = services[nth % 2]!;
          if (nth % 3 === 0) return await live(meter, reference(), Math.ceil(work / 6));
          return await attempt(meter, reference(), work % 3);
        }),
      );
      await eventually("all work is settled", async () => (await month()).held === 0);
      assert.ok((await month()).credits <= cap);
    }),
    { numRuns: 25 },
  );
  assert.deepEqual(await brokenRules(ledger.sql), []);
});
