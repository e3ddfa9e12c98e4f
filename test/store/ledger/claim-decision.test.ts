import assert from "node:assert/strict";
import { test } from "node:test";
import { decideClaim, type LastAttempt } from "../../../src/store/ledger/claim-decision.js";
import * as fc from "../../support/properties.js";

const ANY_ATTEMPT: fc.Arbitrary<LastAttempt> = fc.record({
  state: fc.constantFrom("running", "over", "answered"),
  isSameRequest: fc.boolean(),
  isServiceAlive: fc.boolean(),
  isExpired: fc.boolean(),
  holdState: fc.constantFrom("open", "posted", "settled", "voided", null),
  paidUnits: fc.constantFrom(0, 7),
  isWhollyPaid: fc.boolean(),
  isAnswerLost: fc.boolean(),
});

const isInWork = ({ state, isServiceAlive, holdState }: LastAttempt) =>
  (state === "running" && isServiceAlive) || holdState === "open" || holdState === "posted";

test("work starts only if there is no other attempt or active hold", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      if (!isInWork(last)) return;
      assert.deepEqual(decideClaim(last), { type: last.isSameRequest ? "in-use" : "reused" });
    }),
  );
});

test("work that was paid for while the key was valid is never charged again", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      const decision = decideClaim(last);
      if (decision.type === "take-over" && !last.isExpired)
        assert.equal(decision.isPaidKept, last.paidUnits > 0);
    }),
  );
});

test("only a fully paid, stored and recent response is replayed", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      const isOurs = last.isSameRequest && !isInWork(last);
      const isWhole = last.state === "answered" && last.isWhollyPaid;
      const expected = isOurs && isWhole && !last.isAnswerLost && !last.isExpired;
      assert.equal(decideClaim(last).type === "replay", expected);
    }),
  );
});

test("a different request can reuse a key only after its expiry", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      const decision = decideClaim({ ...last, isSameRequest: false });
      if (!last.isExpired || isInWork(last)) assert.deepEqual(decision, { type: "reused" });
      else assert.ok(decision.type === "take-over" && !decision.isPaidKept);
    }),
  );
});

test("an attempt that was interrupted before its hold cannot open a hold later", () => {
  const cutOff: LastAttempt = {
    state: "running",
    isSameRequest: true,
    isServiceAlive: false,
    isExpired: false,
    holdState: null,
    paidUnits: 0,
    isWhollyPaid: false,
    isAnswerLost: false,
  };
  assert.deepEqual(decideClaim(cutOff), { type: "take-over", isPaidKept: false, mayOpenHold: true });
  assert.deepEqual(decideClaim({ ...cutOff, holdState: "voided" }), {
    type: "take-over",
    isPaidKept: false,
    mayOpenHold: false,
  });
});
