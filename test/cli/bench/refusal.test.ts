import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, refusalReason } from "../../../src/cli/bench/refusal.js";

const reason = (body: string) => refusalReason(429, Buffer.from(body));

test("a refusal is explained in the service's words, in each protocol", () => {
  assert.equal(reason('{"detail":"too many sessions"}'), "HTTP 429: too many sessions");
  assert.equal(
    reason('{"error":{"message":"too many sessions","code":null}}'),
    "HTTP 429: too many sessions",
  );
  assert.equal(
    reason('{"err_code":"X","err_msg":"too many\\n sessions","request_id":"1"}'),
    "HTTP 429: too many sessions",
  );
});

test("a body that explains nothing leaves the status", () => {
  for (const body of [
    "",
    "<html>",
    "null",
    "[]",
    "{}",
    '{"detail":{"a":1}}',
    '{"error":"x"}',
    '{"detail":""}',
  ])
    assert.equal(reason(body), "HTTP 429", body);
  assert.equal(reason(JSON.stringify({ detail: "a".repeat(5_000) })), "HTTP 429");
});

test("an explanation is cut, and does not change the kind of a failure", () => {
  const long = reason(JSON.stringify({ detail: `quota: ${"a".repeat(1_000)}` }));
  assert.equal(long.length, "HTTP 429: ".length + 200);
  assert.equal(kindOf(long), "HTTP 429");
  assert.equal(kindOf("ECONNRESET"), "ECONNRESET");
});
