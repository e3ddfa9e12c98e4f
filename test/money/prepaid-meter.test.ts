import assert from "node:assert/strict";
import { test } from "node:test";
import { PrepaidMeter } from "../../actors/billing/prepaid-meter.js";
import { creditsFor, DEFAULT_TARIFFS, type Quantity, type Tariff } from "../../core/domain/usage/tariff.js";
import type { Hold, UsageReference } from "../../core/ports/usage-meter.js";
import { FreeMeter } from "../support/free-meter.js";
import * as fc from "../support/properties.js";

const REFERENCE: UsageReference = { id: "req_2", organizationId: "org_1" };

/** A meter that charges holds at `tariff` and reports the total. */
class CountingMeter extends FreeMeter {
  charged = 0;
  readonly #tariff: Tariff;

  constructor(tariff: Tariff) {
    super();
    this.#tariff = tariff;
  }

  override async hold(...args: readonly unknown[]): Promise<Hold> {
    const quantity = args[2] as Quantity;
    const price = (units: number) => creditsFor({ ...quantity, units }, this.#tariff);
    return {
      ...(await super.hold()),
      credits: price(quantity.units),
      charge: async () => {
        this.charged = price(quantity.units);
      },
      refund: async (units) => {
        this.charged = price(Math.min(units, quantity.units));
      },
    };
  }
}

/** Returns the cost of a synthesis of `units` characters beyond the `paidUnits` already paid. */
async function restCharged(options: {
  tariff: Tariff;
  units: number;
  paidUnits: number;
  delivered?: number;
}) {
  const { tariff, units, paidUnits, delivered } = options;
  const credits = creditsFor({ units: paidUnits, unitsPerSecond: 1 }, tariff);
  const meter = new CountingMeter(tariff);
  const prepaid = new PrepaidMeter(
    meter,
    { ...DEFAULT_TARIFFS, synthesis: tariff },
    { requestId: "req_1", units: paidUnits, credits },
  );
  const hold = await prepaid.hold(REFERENCE, "synthesis", { units, unitsPerSecond: 1 });
  await hold.charge();
  if (delivered !== undefined) await hold.refund(delivered);
  return { all: credits + meter.charged, told: hold.credits };
}

const UNITS = fc
  .tuple(fc.nat(5_000), fc.nat(5_000))
  .map(([a, b]) => [Math.max(a, b), Math.min(a, b)] as const);
const TARIFF = fc.record({
  credits: fc.integer({ min: 1, max: 50 }),
  perUnits: fc.integer({ min: 1, max: 50 }),
});

test("the charges of both attempts add up to the price of the work", async () => {
  await fc.assert(
    fc.asyncProperty(UNITS, async ([units, paidUnits]) => {
      const tariff = DEFAULT_TARIFFS.synthesis;
      const { all, told } = await restCharged({ tariff, units, paidUnits });
      assert.equal(all, creditsFor({ units, unitsPerSecond: 1 }, tariff));
      assert.equal(told, all);
    }),
  );
});

test("at any price nothing is paid twice, regardless of the second delivery", async () => {
  await fc.assert(
    fc.asyncProperty(UNITS, TARIFF, fc.nat(5_000), async ([units, paidUnits], tariff, sent) => {
      const delivered = Math.min(sent, units);
      const { all } = await restCharged({ tariff, units, paidUnits, delivered });
      const price = creditsFor({ units: Math.max(delivered, paidUnits), unitsPerSecond: 1 }, tariff);
      assert.ok(all <= price && price - all <= tariff.credits / tariff.perUnits, `${all} of ${price}`);
    }),
  );
});

test("holds nothing for fully paid work; a file is paid as a whole", async () => {
  const meter = new FreeMeter();
  const paid = { requestId: "req_1", units: 10, credits: 4 };
  const prepaid = new PrepaidMeter(meter, DEFAULT_TARIFFS, paid);
  const speech = await prepaid.hold(REFERENCE, "synthesis", { units: 10, unitsPerSecond: 1 });
  const file = await prepaid.hold(REFERENCE, "file", { units: 99_999, unitsPerSecond: 8_000 });
  for (const hold of [speech, file]) {
    assert.equal(hold.credits, 4);
    await hold.charge();
    await hold.release();
  }
  assert.deepEqual(meter.calls, []);
});
