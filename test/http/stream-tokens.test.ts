import assert from "node:assert/strict";
import { test } from "node:test";
import { StreamTokens } from "../../src/http/stream-tokens.js";

const IDENTITY = { keyId: "key_1", organizationId: "org_1", tier: "paid" } as const;

test("a token is good once, and only for 60 seconds", () => {
  let nowMs = 1_000;
  const tokens = new StreamTokens({ nowMs: () => nowMs });
  const [first, second] = [tokens.issue(IDENTITY), tokens.issue(IDENTITY)];
  assert.match(first, /^st-svc-[0-9a-f]{48}$/);
  nowMs += 59_999;
  assert.deepEqual(tokens.redeem(first), IDENTITY);
  assert.equal(tokens.redeem(first), null);
  nowMs += 1;
  assert.equal(tokens.redeem(second), null);
  assert.equal(tokens.redeem("st-svc-1"), null);
});
