import assert from "node:assert/strict";
import { test } from "node:test";
import { LaneWindow, SequenceCheck } from "../../../actors/fleet/lane-window.js";
import * as fc from "../../support/properties.js";

test("bytes in flight are those sent and not acknowledged, in any order of acknowledgements", () => {
  const sent = fc.record({ type: fc.constant("sent" as const), value: fc.integer({ min: 1, max: 70_000 }) });
  const heard = fc.record({ type: fc.constant("heard" as const), value: fc.nat({ max: 40 }) });
  fc.assert(
    fc.property(fc.array(fc.oneof(sent, heard), { maxLength: 60 }), (steps) => {
      const limit = 100_000;
      const window = new LaneWindow(limit);
      const bundles: number[] = [];
      let known = 0;
      for (const { type, value } of steps) {
        if (type === "sent") {
          assert.equal(window.nextBundle, bundles.length);
          window.sent(value);
          bundles.push(value);
        } else {
          window.acknowledge(value);
          known = Math.max(known, Math.min(value, bundles.length));
        }
        const inFlight = bundles.slice(known).reduce((sum, bytes) => sum + bytes, 0);
        assert.equal(window.inFlightBytes, inFlight);
        assert.equal(window.roomBytes, Math.max(0, limit - inFlight));
      }
    }),
  );
});

test("acknowledges numbers up to the first gap", () => {
  fc.assert(
    fc.property(fc.nat({ max: 30 }), fc.nat({ max: 30 }), (length, missing) => {
      const order = new SequenceCheck();
      const taken = Array.from({ length }, (_, nth) => nth)
        .filter((nth) => nth !== missing)
        .filter((nth) => order.take(nth));
      assert.equal(taken.length, Math.min(length, missing));
      assert.equal(order.count, taken.length);
    }),
  );
});
