import assert from "node:assert/strict";
import { test } from "node:test";
import { isToken, SignedText } from "../../src/http/signed-credentials.js";
import { ManualClock } from "../support/manual-clock.js";
import * as fc from "../support/properties.js";
import { streamTokens, usesInMemory } from "../support/stream-tokens.js";

const IDENTITY = { keyId: "key_1", organizationId: "org_1", tier: "paid" } as const;
const HOUR_MS = 3_600_000;

test("a token is valid once, for 60 seconds", async () => {
  const clock = new ManualClock();
  const tokens = streamTokens(clock);
  const [first, second] = [tokens.issue(IDENTITY), tokens.issue(IDENTITY)];
  assert.match(first, /^st-svc-[\w-]+\.[\w-]{43}$/);
  assert.ok(isToken(first));
  clock.advance(59_999);
  assert.deepEqual(await tokens.redeem(first), IDENTITY);
  assert.equal(await tokens.redeem(first), null);
  clock.advance(1);
  assert.equal(await tokens.redeem(second), null);
  assert.equal(await tokens.redeem("st-svc-1"), null);
});

test("a token is valid once across all services with the same secret", async () => {
  const [clock, uses] = [new ManualClock(), usesInMemory()];
  const [here, there] = [streamTokens(clock, uses), streamTokens(clock, uses)];
  const token = here.issue(IDENTITY);
  assert.deepEqual(await there.redeem(token), IDENTITY);
  assert.equal(await here.redeem(token), null);
});

test("setting a shared clock back does not extend a token", async () => {
  const clock = new ManualClock();
  const tokens = streamTokens(clock);
  const token = tokens.issue(IDENTITY);
  clock.advance(-HOUR_MS);
  assert.equal(await tokens.redeem(token), null);
});

test("a token is rejected if a letter is changed, or if it was signed with another secret or for another purpose", () => {
  const texts = new SignedText("st-svc-", Buffer.alloc(32, 1));
  const others = new SignedText("st-svc-", Buffer.alloc(32, 2));
  const text = texts.sign(["a", 1]);
  assert.deepEqual(texts.read(text), ["a", 1]);
  assert.equal(others.read(text), null);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(..."Aa0-_.\u0000ә"), (at, letter) => {
      const changed = text.slice(0, at) + letter + text.slice(at + 1);
      assert.equal(texts.read(changed) === null, changed !== text, changed);
    }),
  );
  fc.assert(
    fc.property(fc.string(), (rest) => {
      assert.equal(texts.read(`st-svc-${rest}`), null);
    }),
  );
  assert.equal(texts.read(`${text.slice(0, 8)}${"A".repeat(2_000)}${text.slice(8)}`), null);
});
