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

test("work begins only when nobody else works and no hold is in work", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      if (!isInWork(last)) return;
      assert.deepEqual(decideClaim(last), { type: last.isSameRequest ? "in-use" : "reused" });
    }),
  );
});

test("what was paid within the time of the key is never charged again", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      const decision = decideClaim(last);
      if (decision.type === "take-over" && !last.isExpired)
        assert.equal(decision.isPaidKept, last.paidUnits > 0);
    }),
  );
});

test("only an answer that was wholly paid, is there, and is not too old is sent again", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      const isOurs = last.isSameRequest && !isInWork(last);
      const isWhole = last.state === "answered" && last.isWhollyPaid;
      const expected = isOurs && isWhole && !last.isAnswerLost && !last.isExpired;
      assert.equal(decideClaim(last).type === "replay", expected);
    }),
  );
});

test("another request gets a key only when its time is over, and then as if it were new", () => {
  fc.assert(
    fc.property(ANY_ATTEMPT, (last) => {
      const decision = decideClaim({ ...last, isSameRequest: false });
      if (!last.isExpired || isInWork(last)) assert.deepEqual(decision, { type: "reused" });
      else assert.ok(decision.type === "take-over" && !decision.isPaidKept);
    }),
  );
});

test("an attempt that was cut off before its hold may not open one any more", () => {
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
