import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import { creditsFor, DEFAULT_TARIFFS, SYNTHESIS_TARIFF } from "../../../core/domain/usage/tariff.js";
import { systemClock } from "../../../core/ports/clock.js";
import { HoldChanges } from "../../../src/store/ledger/hold-changes.js";
import { HoldJournal } from "../../../src/store/ledger/hold-journal.js";
import { sweep } from "../../../src/store/ledger/sweep.js";
import { newServiceId, PostgresUsageMeter } from "../../../src/store/ledger/usage-meter.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { preparedFolder } from "../../support/prepared-database.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";
import { brokenRules, type LedgerTables, newLedger } from "./ledger-support.js";

const CREDITS = 25_000;

let server: EmbeddedPostgres;
let ledger: LedgerTables;

before(async () => {
  server = await EmbeddedPostgres.start({ dataDir: await preparedFolder(), purpose: "service", log: SILENT });
  ledger = await newLedger(server);
});
after(async () => {
  await ledger.sql.end({ timeout: 5 });
  await server.stop();
});

async function startMeter(t: TestContext) {
  const path = join(await temporaryFolder(), "usage-journal");
  const { journal } = HoldJournal.open(path, SILENT);
  const meter = new PostgresUsageMeter(
    {
      ...{ ...ledger, changes: new HoldChanges(ledger.sql), journal, tariffs: DEFAULT_TARIFFS },
      ...{ clock: systemClock, log: SILENT },
    },
    newServiceId(),
  );
  await meter.start(null);
  t.after(() => meter.close());
  return { meter, path };
}

async function customer() {
  const { id: organizationId } = await ledger.organizations.create("test");
  let count = 0;
  return {
    organizationId,
    reference: (mostAtOnce?: number) => ({
      ...{ id: `${organizationId}:${count++}`, organizationId },
      ...(mostAtOnce !== undefined && { mostAtOnce }),
    }),
    state: async () => {
      const { balance, held } = (await ledger.accounts.find(organizationId))!;
      return { balance, held };
    },
  };
}

const priceOf = (units: number) => creditsFor({ units, unitsPerSecond: 1 }, SYNTHESIS_TARIFF);

test("the sentences of a text cost the same as the whole text", async (t) => {
  const { meter } = await startMeter(t);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
      async (lengths) => {
        const { reference, state } = await customer();
        const speech = meter.openSpeech(reference());
        let characters = 0;
        for (const length of lengths) {
          characters += length;
          await speech.cover(characters);
          assert.deepEqual(await state(), { balance: CREDITS, held: priceOf(characters) });
          speech.delivered(characters);
        }
        speech.settle(characters);
        speech.settle(1);
        const expected = { balance: CREDITS - priceOf(characters), held: 0 };
        await eventually("settled", async () => JSON.stringify(await state()) === JSON.stringify(expected));
      },
    ),
    { numRuns: 15 },
  );
  const usage = await ledger.sql`select units, amount from holds where state = 'settled'`;
  assert.ok(usage.every(({ units, amount }) => amount === priceOf(units as number)));
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("the part that was covered but not spoken is released", async (t) => {
  const { meter } = await startMeter(t);
  const { reference, state } = await customer();
  const spoken = meter.openSpeech(reference());
  await spoken.cover(100);
  spoken.settle(40);
  const silent = meter.openSpeech(reference());
  await silent.cover(100);
  silent.settle(0);
  meter.openSpeech(reference()).settle(0);
  await eventually("settled", async () => (await state()).held === 0);
  assert.deepEqual(await state(), { balance: CREDITS - priceOf(40), held: 0 });
});

test("nothing is covered beyond the last credits, and covered speech is charged", async (t) => {
  const { meter } = await startMeter(t);
  const { reference, state } = await customer();
  const speech = meter.openSpeech(reference());
  await speech.cover(62_000);
  await assert.rejects(speech.cover(63_000), isCode("OUT_OF_CREDITS"));
  speech.settle(62_000);
  await eventually("settled", async () => (await state()).held === 0);
  assert.deepEqual(await state(), { balance: CREDITS - priceOf(62_000), held: 0 });
  const second = meter.openSpeech(reference());
  await assert.rejects(second.cover(1_000), isCode("OUT_OF_CREDITS"));
  second.settle(0);
  await assert.rejects(second.cover(1), isCode("CANCELLED"));
});

test("an organization may cover as many turns at the same time as it may run syntheses", async (t) => {
  const { meter } = await startMeter(t);
  const { reference } = await customer();
  const first = meter.openSpeech(reference(1));
  await first.cover(10);
  await assert.rejects(meter.openSpeech(reference(1)).cover(10), isCode("TOO_MANY_REQUESTS"));
  first.settle(10);
  await meter.openSpeech(reference(1)).cover(10);
});

test("a turn that is settled while it is being covered leaves nothing held", async (t) => {
  const { meter } = await startMeter(t);
  const { reference, state } = await customer();
  const speech = meter.openSpeech(reference());
  const covering = speech.cover(10);
  speech.settle(0);
  await assert.rejects(covering, isCode("CANCELLED"));
  await eventually("voided", async () => (await state()).held === 0);
  assert.deepEqual(await state(), { balance: CREDITS, held: 0 });
});

test("after a crash the next start charges for the audio that was sent", async (t) => {
  const { meter, path } = await startMeter(t);
  const { organizationId, reference, state } = await customer();
  const speech = meter.openSpeech(reference());
  await speech.cover(50);
  speech.delivered(20);
  await speech.cover(90);
  speech.delivered(50);
  // Like a service that was killed: its registration is removed, but its holds and its journal remain.
  const { journal, left } = HoldJournal.open(path, SILENT);
  journal.close();
  await ledger.instances.remove(meter.serviceId);
  await sweep(ledger.holds, left);
  assert.deepEqual(await state(), { balance: CREDITS - priceOf(50), held: 0 });
  const [row] = await ledger.sql`select units, state from holds where organization_id = ${organizationId}`;
  assert.deepEqual([row!["units"], row!["state"]], [50, "settled"]);
});

function isCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}
