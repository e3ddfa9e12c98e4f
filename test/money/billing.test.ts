import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type BillingEffect,
  type BillingEvent,
  type BillingState,
  decideBilling,
} from "../../actors/billing/billing.js";
import * as fc from "../support/properties.js";

const STATES: readonly BillingState[] = ["unpaid", "charging", "charged", "over"];
const EVENTS: readonly BillingEvent[] = [
  "held",
  "charge",
  "written",
  "completed",
  "client-left",
  "service-stops",
];
/** The effects that settle a hold. */
const SETTLING: readonly BillingEffect[] = ["complete", "release", "refund-all", "refund-rest"];

/** What a client pays for partly delivered work. */
type Payment = "nothing" | "the part" | "all";

const PAYMENT: Partial<Record<BillingEffect, Payment>> = {
  complete: "all",
  release: "nothing",
  "refund-all": "nothing",
  "refund-rest": "the part",
};

/**
 * One piece of work as its owner drives it. A charge follows a hold, and is written after it was requested.
 */
class Work {
  state: BillingState = "unpaid";
  isHeld = false;
  isCharging = false;
  isWritten = false;
  /** Null while the hold is open. */
  payment: Payment | null = null;

  /** Returns false for an event that cannot occur now. */
  tell(event: BillingEvent): boolean {
    if (!this.#mayTell(event)) return false;
    const { state, effect } = decideBilling(this.state, event);
    this.state = state;
    if (event === "held") this.isHeld = true;
    if (event === "charge" && effect === "charge") this.isCharging = true;
    if (event === "written") {
      this.isCharging = false;
      this.isWritten = effect !== "refuse";
    }
    if (!SETTLING.includes(effect) || !this.isHeld) return true;
    assert.equal(this.payment, null, `${effect} of a hold that is settled`);
    assert.equal(
      effect === "release",
      !this.isWritten && !this.wasCharged,
      "released exactly if never charged",
    );
    this.payment = PAYMENT[effect]!;
    return true;
  }

  /** Whether the charge was requested, written or not. */
  get wasCharged(): boolean {
    return this.isCharging || this.isWritten;
  }

  #mayTell(event: BillingEvent): boolean {
    if (event === "held") return !this.isHeld;
    if (event === "charge") return this.isHeld && !this.wasCharged;
    if (event === "written") return this.isCharging;
    return true;
  }
}

/**
 * What a client should pay: this depends on who ends the work, and whether the charge was written by then.
 */
function fairPayment(told: readonly BillingEvent[]): Payment | null {
  const written = told.indexOf("written");
  const end = told.findIndex((event, at) => {
    if (event === "client-left" || event === "service-stops") return true;
    // While the charge is being written, the work cannot be complete yet.
    const isCharging = told.slice(0, at).includes("charge") && !(written >= 0 && written < at);
    return event === "completed" && !isCharging;
  });
  if (end < 0) return null;
  if (written < 0 || written > end) return "nothing";
  return told[end] === "service-stops" ? "the part" : "all";
}

test("a hold is settled once, by the first ending and by whether the work was charged before it", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 12 }), (events) => {
      const work = new Work();
      const told = events.filter((event) => work.tell(event));
      assert.equal(work.payment, work.isHeld ? fairPayment(told) : null);
    }),
    { numRuns: 3_000 },
  );
});

test("finished work ignores further events", () => {
  for (const event of EVENTS) {
    const { state, effect } = decideBilling("over", event);
    assert.equal(state, "over");
    assert.ok(effect === "none" || effect === "refuse" || (event === "held" && effect === "release"), event);
  }
});

test("every ending ends the work, except a completion whose charge is pending", () => {
  for (const state of STATES) {
    for (const event of ["completed", "client-left", "service-stops"] as const) {
      const isWaiting = state === "charging" && event === "completed";
      assert.equal(decideBilling(state, event).state, isWaiting ? "charging" : "over", `${state} ${event}`);
    }
  }
});

test("work is charged once", () => {
  assert.deepEqual(
    STATES.map((state) => decideBilling(state, "charge").effect),
    ["charge", "refuse", "refuse", "refuse"],
  );
});
