import assert from "node:assert/strict";
import { test } from "node:test";
import { isCausedBy } from "../../src/cli/failures.js";
import { ConnectionError } from "../../src/client/errors.js";

const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });

test("a code is found in causes and in aggregated errors", () => {
  const codes = ["ECONNREFUSED"];
  assert.ok(isCausedBy(refused, codes));
  assert.ok(
    isCausedBy(new ConnectionError("away", { cause: new TypeError("fetch", { cause: refused }) }), codes),
  );
  assert.ok(
    isCausedBy(new ConnectionError("away", { cause: new AggregateError([new Error("v6"), refused]) }), codes),
  );
});

test("a message does not count as a code; circular causes end", () => {
  const round: { cause?: unknown } = new Error("ECONNREFUSED");
  round.cause = round;
  assert.ok(!isCausedBy(round, ["ECONNREFUSED"]));
  assert.ok(!isCausedBy("ECONNREFUSED", ["ECONNREFUSED"]));
});
