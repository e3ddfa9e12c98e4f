import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  creditsFor,
  DEFAULT_TARIFFS,
  FREE_GRANT_CREDITS,
  type UsageKind,
} from "../../../core/domain/usage/tariff.js";
import { HoldChanges, HoldIsOver } from "../../../src/store/ledger/hold-changes.js";
import type { NewHold } from "../../../src/store/ledger/holds.js";
import { sweep } from "../../../src/store/ledger/sweep.js";
import { newServiceId } from "../../../src/store/ledger/usage-meter.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { preparedFolder } from "../../support/prepared-database.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";
import { brokenRules, journalInHolds, type LedgerTables, newLedger } from "./ledger-support.js";

/** The number of histories that run concurrently: one for each connection of the store. */
const AT_ONCE = 8;
/** `LEDGER_HISTORIES=20000` searches for longer. */
const HISTORIES = Number(process.env["LEDGER_HISTORIES"] ?? 1_000);
const SLOTS = 5;

/**
 * One step on one of a history's holds or payments; `repeat` runs it twice concurrently, as a retry would.
 * Concurrent steps of all histories on a service are batched.
 */
interface Step {
  readonly type: "hold" | "post" | "void" | "complete" | "refund" | "extend" | "race" | "topUp" | "grant";
  readonly slot: number;
  readonly share: number;
  readonly isFinal: boolean;
  readonly repeat: boolean;
  /** One of the two services. */
  readonly by: number;
  /** The step runs in a separate statement, as in sweeps. */
  readonly isAlone: boolean;
}

/** The service of a history's holds stops after it has journaled this share of their amount. */
interface Loss {
  readonly share: number;
  /** True for a service of an earlier version, which journaled in each hold. */
  readonly isBefore: boolean;
}

interface Plan {
  readonly kind: UsageKind;
  readonly units: number;
}

interface History {
  readonly plans: readonly Plan[];
  readonly rounds: readonly Round[];
}

interface Round {
  /** These steps run concurrently, on different slots. */
  readonly steps: readonly Step[];
  readonly loss: Loss | null;
}

type SlotModel =
  | { readonly state: "none" | "voided" }
  | { readonly state: "open"; readonly held: number }
  | { readonly state: "posted" | "settled"; readonly units: number; readonly amount: number };

const anyStep: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom<Step["type"]>(
    ...(["hold", "hold", "hold", "post", "post", "void", "complete", "refund"] as const),
    ...(["extend", "race", "topUp", "grant"] as const),
  ),
  slot: fc.nat({ max: SLOTS - 1 }),
  share: fc.integer({ min: 0, max: 130 }),
  isFinal: fc.boolean(),
  repeat: fc.boolean(),
  by: fc.nat({ max: 1 }),
  isAlone: fc.boolean(),
});
const anyLoss: fc.Arbitrary<Loss> = fc.record({
  share: fc.integer({ min: 0, max: 100 }),
  isBefore: fc.boolean(),
});
const anyHistory: fc.Arbitrary<History> = fc.record({
  // Each hold takes around 10,000 credits, so the third or fourth no longer fits.
  plans: fc.array(
    fc.record({
      kind: fc.constantFrom<UsageKind>("synthesis", "file", "live"),
      units: fc.integer({ min: 1, max: 60_000 }),
    }),
    { minLength: SLOTS, maxLength: SLOTS },
  ),
  rounds: fc.array(
    fc.record({
      steps: fc.uniqueArray(anyStep, { selector: (step) => step.slot, minLength: 1, maxLength: 3 }),
      loss: fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: anyLoss }),
    }),
    { minLength: 3, maxLength: 8 },
  ),
});

let server: EmbeddedPostgres;
let ledger: LedgerTables;
let services: readonly HoldChanges[];

before(async () => {
  server = await EmbeddedPostgres.start({
    dataDir: await preparedFolder(),
    purpose: "service",
    log: SILENT,
  });
  ledger = await newLedger(server);
  services = [ledger.changes, new HoldChanges(ledger.sql)];
});
after(async () => {
  await ledger.sql.end();
  await server.stop();
});

/** A history takes about 6 ms on a quiet machine with two cores, and 60 ms next to four busy processes. */
const timeout = 120_000 + HISTORIES * 300;

test(`the ledger follows its model over ${HISTORIES} random histories`, { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyHistory, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (histories) => {
      await Promise.all(histories.map((history) => live(history)));
    }),
    { numRuns: Math.ceil(HISTORIES / AT_ONCE), endOnFailure: true, includeErrorInReport: true },
  );
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

/** Runs one history on its own organization, and compares it with the model after every round. */
async function live(history: History): Promise<void> {
  const { id } = await ledger.organizations.create("model");
  const run = new Run(id, history.plans);
  await run.enter();
  for (const { steps, loss } of history.rounds) {
    await run.round(steps);
    if (loss !== null) await run.lose(loss);
    const { balance, held } = (await ledger.accounts.find(id))!;
    assert.deepEqual({ balance, held }, { balance: run.balance, held: run.held });
  }
}

class Run {
  balance = FREE_GRANT_CREDITS;
  readonly #organizationId: string;
  #serviceId = newServiceId();
  readonly #holds: readonly Omit<NewHold, "serviceId">[];
  readonly #slots: SlotModel[] = Array.from({ length: SLOTS }, () => ({ state: "none" }));
  readonly #payments = new Set<number>();

  constructor(organizationId: string, plans: readonly Plan[]) {
    this.#organizationId = organizationId;
    this.#holds = plans.map(({ kind, units }, slot) => ({
      id: `${organizationId}:${slot}`,
      organizationId,
      kind,
      quantity: { units, unitsPerSecond: kind === "synthesis" ? 1 : 16 },
      tariff: DEFAULT_TARIFFS[kind],
    }));
  }

  get held(): number {
    return this.#slots.reduce((sum, slot) => sum + (slot.state === "open" ? slot.held : 0), 0);
  }

  async enter(): Promise<void> {
    await ledger.instances.heartbeat(this.#serviceId);
  }

  /** The stopped service is swept by two others, and a new service takes its place. */
  async lose({ share, isBefore }: Loss): Promise<void> {
    const { holds, instances, sql } = ledger;
    const serviceId = this.#serviceId;
    const used = (slot: number) => Math.floor((this.#holds[slot]!.quantity.units * share) / 100);
    const isLive = (slot: number) =>
      this.#slots[slot]!.state === "open" && this.#holds[slot]!.kind === "live";
    const live = [...this.#slots.keys()].filter(isLive);
    const acceptedById = new Map(live.map((slot) => [this.#holds[slot]!.id, used(slot)]));
    if (isBefore) await journalInHolds(sql, acceptedById);
    else await instances.journal({ serviceId, nth: 1, acceptedById });
    const settle = async () => {
      await instances.remove(serviceId);
      await sweep(holds);
    };
    await Promise.all([settle(), settle()]);
    this.#slots.forEach((model, slot) => {
      if (model.state === "posted") {
        this.balance += model.amount;
        this.#slots[slot] = { state: "settled", units: 0, amount: 0 };
      } else if (model.state === "open") {
        if (isLive(slot) && used(slot) > 0) this.#charge(slot, model.held, used(slot), "settled");
        else this.#slots[slot] = { state: "voided" };
      }
    });
    this.#serviceId = newServiceId();
    await this.enter();
  }

  /**
   * Runs steps concurrently; the available credits that each finds are between the extremes of the others.
   */
  async round(steps: readonly Step[]): Promise<void> {
    const before = this.balance - this.held;
    const takes = steps.map((step) => this.#mostTaken(step));
    const gives = steps.map((step) => this.#mostGiven(step));
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
    await Promise.all(
      steps.map((step, index) =>
        this.#step(step, {
          least: before - (sum(takes) - takes[index]!),
          most: before + (sum(gives) - gives[index]!),
        }),
      ),
    );
  }

  #mostTaken({ type, slot }: Step): number {
    return type === "hold" || type === "extend" ? 3 * this.#priceOf(slot) : 0;
  }

  #mostGiven({ type, slot }: Step): number {
    const model = this.#slots[slot]!;
    if (type === "topUp") return paymentOf(slot);
    if (model.state === "open") return model.held;
    return model.state === "posted" ? model.amount : 0;
  }

  #priceOf(slot: number): number {
    const { quantity, tariff } = this.#holds[slot]!;
    return creditsFor(quantity, tariff);
  }

  async #step(step: Step, available: { least: number; most: number }): Promise<void> {
    const { slot, share, isFinal, repeat, by, isAlone } = step;
    const { holds, transfers } = ledger;
    const hold = { ...this.#holds[slot]!, serviceId: this.#serviceId };
    const model = this.#slots[slot]!;
    const units = Math.floor((hold.quantity.units * share) / 100);
    // A retry reaches the same service or the other one.
    const makers = [services[by]!, services[isFinal ? by : 1 - by]!];
    const twice = async <T>(work: (changes: HoldChanges) => Promise<T>): Promise<T[]> =>
      await Promise.all(makers.slice(0, repeat ? 2 : 1).map(work));
    switch (step.type) {
      case "grant":
        assert.ok((await twice(() => transfers.grantFree(this.#organizationId))).every((isNew) => !isNew));
        return;
      case "topUp": {
        const payment = `${this.#organizationId}:${slot}`;
        const isNew = await twice(() => transfers.topUp(this.#organizationId, paymentOf(slot), payment));
        assert.equal(isNew.filter(Boolean).length, this.#payments.has(slot) ? 0 : 1);
        if (!this.#payments.has(slot)) this.balance += paymentOf(slot);
        this.#payments.add(slot);
        return;
      }
      case "hold": {
        const answers = await twice((changes) => open(changes, hold).catch(taken));
        if (model.state !== "none" && model.state !== "open") {
          assert.ok(answers.every((answer) => answer !== true));
        } else if (model.state === "open") assert.ok(answers.every((answer) => answer === true));
        else if (answers.some((answer) => answer === true)) {
          const price = this.#priceOf(slot);
          // One step may have been rejected before another step freed credits for its twin.
          const isClear = price <= available.least;
          assert.ok(!isClear || answers.every((answer) => answer === true), `answers ${answers}`);
          assert.ok(price <= available.most, "a hold that did not fit was opened");
          this.#slots[slot] = { state: "open", held: price };
        } else {
          assert.ok(this.#priceOf(slot) > available.least, "a hold that fitted was refused");
        }
        return;
      }
      case "extend": {
        const wanted = creditsFor({ ...hold.quantity, units: units * 2 }, hold.tariff);
        const covers = await twice((changes) =>
          isAlone ? holds.extend(hold.id, wanted) : changes.extend(hold, wanted),
        );
        if (model.state !== "open") return assert.ok(covers.every((cover) => cover === null));
        const held = Math.max(...covers.map((cover) => cover!.held));
        assert.ok(held >= model.held && held <= Math.max(wanted, model.held));
        if (wanted > model.held) {
          const least = Math.min(wanted, model.held + Math.max(0, available.least));
          assert.ok(held >= least && held <= model.held + available.most);
        }
        this.#slots[slot] = { state: "open", held };
        return;
      }
      case "post": {
        const state = isFinal ? "settled" : "posted";
        const answers = await twice((changes) =>
          isAlone ? holds.post(hold.id, units, state) : changes.post(hold, units, state),
        );
        const charged = answers.filter((answer) => answer !== null);
        assert.equal(charged.length, model.state === "open" ? 1 : 0);
        if (model.state === "open") assert.equal(charged[0], this.#charge(slot, model.held, units, state));
        return;
      }
      case "void":
        await twice(() => holds.void(hold));
        if (model.state === "open" || model.state === "none") this.#slots[slot] = { state: "voided" };
        return;
      case "race": {
        // A late charge and a release run at the same time, and either may win.
        const [charged] = await Promise.all([
          isAlone ? holds.post(hold.id, units, "settled") : makers[0]!.post(hold, units, "settled"),
          holds.void(hold),
        ]);
        if (model.state === "open" && charged !== null) {
          assert.equal(charged, this.#charge(slot, model.held, units, "settled"));
        } else {
          assert.equal(charged, null);
          if (model.state === "open" || model.state === "none") this.#slots[slot] = { state: "voided" };
        }
        return;
      }
      case "complete":
        await twice(() => holds.complete(hold.id));
        if (model.state === "posted") this.#slots[slot] = { ...model, state: "settled" };
        return;
      case "refund": {
        await twice(() => holds.refund(hold.id, units));
        if (model.state !== "posted") return;
        const kept = Math.min(model.units, units);
        const amount = creditsFor({ ...hold.quantity, units: kept }, hold.tariff);
        this.balance += model.amount - amount;
        this.#slots[slot] = { state: "settled", units: kept, amount };
        return;
      }
    }
  }

  /** @returns the credits that were charged */
  #charge(slot: number, held: number, units: number, state: "posted" | "settled"): number {
    const { quantity, tariff } = this.#holds[slot]!;
    const covered = Math.floor((held * quantity.unitsPerSecond * tariff.perUnits) / tariff.credits);
    const billed = Math.min(units, covered);
    const amount = creditsFor({ ...quantity, units: billed }, tariff);
    this.balance -= amount;
    this.#slots[slot] = { state, units: billed, amount };
    return amount;
  }
}

/** Opens a hold as the service does: a live hold has nothing to charge for yet. */
async function open(changes: HoldChanges, hold: NewHold): Promise<boolean> {
  if (hold.kind !== "live") return await changes.open(hold);
  return (await changes.openUpTo(hold, creditsFor(hold.quantity, hold.tariff))).held > 0;
}

/** The ID of a closed hold cannot be used for another hold. */
function taken(error: unknown): "taken" {
  if (!(error instanceof HoldIsOver)) throw error;
  return "taken";
}

function paymentOf(slot: number): number {
  return 500 * (slot + 1);
}
