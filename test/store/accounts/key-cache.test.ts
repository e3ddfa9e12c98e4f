import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import type { KeyIdentity } from "../../../core/ports/key-store.js";
import { KeyCache, type KeyCacheRules } from "../../../src/store/accounts/key-cache.js";
import { hashKey, newRawKey } from "../../../src/store/accounts/key-secret.js";
import { ManualClock } from "../../support/manual-clock.js";
import { SILENT } from "../../support/silent-log.js";

const PEPPER = "a pepper for tests";
const IDENTITY: KeyIdentity = { keyId: "key_1", organizationId: "org_1", tier: "paid" };

/** A cache over a table with a single key, which counts look-ups. */
function cacheOver(rules: Partial<KeyCacheRules> = {}) {
  const rawKey = newRawKey();
  const clock = new ManualClock();
  const table = { isActive: true, isAway: false, asked: 0, touched: 0, answer: Promise.resolve() };
  const cache = new KeyCache({
    findActive: async (hash) => {
      table.asked++;
      await table.answer;
      if (table.isAway) throw new Error("connection refused");
      return table.isActive && hash.equals(hashKey(rawKey, PEPPER)) ? IDENTITY : null;
    },
    touch: async () => {
      table.touched++;
      if (table.isAway) throw new Error("connection refused");
    },
    pepper: PEPPER,
    clock,
    log: SILENT,
    rules,
  });
  return { cache, clock, table, rawKey };
}

test("malformed keys cause no look-up", async () => {
  const { cache, table, rawKey } = cacheOver();
  const digits = rawKey.slice("sk-svc-".length);
  for (const malformed of [
    "",
    digits,
    `sk-svc-${digits.toUpperCase()}G`,
    `${rawKey}0`,
    ` ${rawKey}`,
    `sk-live-${digits}`,
  ]) {
    assert.equal(await cache.find(malformed), null, JSON.stringify(malformed));
  }
  assert.equal(table.asked, 0);
});

test("an active key is looked up once in 30 s", async () => {
  const { cache, clock, table, rawKey } = cacheOver();
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
  clock.advance(29_999);
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
  assert.equal(table.asked, 1);
  clock.advance(1);
  await cache.find(rawKey);
  assert.equal(table.asked, 2);
});

test("a revoked key ends 30 s after its last look-up", async () => {
  const { cache, clock, table, rawKey } = cacheOver();
  await cache.find(rawKey);
  table.isActive = false;
  clock.advance(29_999);
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
  clock.advance(1);
  assert.equal(await cache.find(rawKey), null);
});

test("the age of a result counts from the start of its query", async () => {
  const { cache, clock, table, rawKey } = cacheOver();
  let answer = () => {};
  table.answer = new Promise((resolve) => {
    answer = resolve;
  });
  const found = cache.find(rawKey);
  clock.advance(20_000);
  answer();
  assert.deepEqual(await found, IDENTITY);
  clock.advance(10_000);
  await cache.find(rawKey);
  assert.equal(table.asked, 2);
});

test("an unknown key is cached as unknown for 5 s", async () => {
  const { cache, clock, table, rawKey } = cacheOver();
  table.isActive = false;
  assert.equal(await cache.find(rawKey), null);
  table.isActive = true;
  clock.advance(4_999);
  assert.equal(await cache.find(rawKey), null);
  assert.equal(table.asked, 1);
  clock.advance(1);
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
});

test("concurrent requests share one look-up", async () => {
  const { cache, table, rawKey } = cacheOver();
  const found = await Promise.all(Array.from({ length: 50 }, () => cache.find(rawKey)));
  assert.ok(found.every((identity) => identity?.keyId === IDENTITY.keyId));
  assert.equal(table.asked, 1);
});

test("a failed look-up rejects all waiting requests and is not cached", async () => {
  const { cache, table, rawKey } = cacheOver();
  table.isAway = true;
  const outcomes = await Promise.allSettled([cache.find(rawKey), cache.find(rawKey)]);
  for (const outcome of outcomes) assert.ok(outcome.status === "rejected" && isUnavailable(outcome.reason));
  assert.equal(table.asked, 1);
  table.isAway = false;
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
});

test("without the database, cached keys work and others are unavailable", async () => {
  const { cache, clock, table, rawKey } = cacheOver();
  await cache.find(rawKey);
  table.isAway = true;
  clock.advance(29_999);
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
  await assert.rejects(cache.find(newRawKey()), isUnavailable);
  clock.advance(1);
  await assert.rejects(cache.find(rawKey), isUnavailable);
});

test("a database that does not answer counts as unavailable", async () => {
  const { cache, table, rawKey } = cacheOver({ lookUpTimeoutMs: 20 });
  table.answer = new Promise(() => {});
  await assert.rejects(cache.find(rawKey), isUnavailable);
});

test("look-ups beyond the limit are rejected immediately", async () => {
  const { cache, table } = cacheOver({ lookUpCount: 3 });
  let answer = () => {};
  table.answer = new Promise((resolve) => {
    answer = resolve;
  });
  const waiting = Array.from({ length: 3 }, () => cache.find(newRawKey()));
  await assert.rejects(cache.find(newRawKey()), isUnavailable);
  answer();
  assert.deepEqual(await Promise.all(waiting), [null, null, null]);
  assert.equal(await cache.find(newRawKey()), null);
});

test("guessed keys do not evict keys in use", async () => {
  const { cache, table, rawKey } = cacheOver({ activeCount: 2, unknownCount: 2 });
  await cache.find(rawKey);
  for (let i = 0; i < 10; i++) await cache.find(newRawKey());
  const asked = table.asked;
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
  assert.equal(table.asked, asked);
});

test("the last use is written at most once a minute; a failure is ignored", async () => {
  const { cache, clock, table, rawKey } = cacheOver();
  for (let second = 0; second < 60; second++) {
    await cache.find(rawKey);
    clock.advance(1_000);
  }
  assert.equal(table.touched, 1);
  await cache.find(rawKey);
  assert.equal(table.touched, 2);
  table.isAway = true;
  clock.advance(20_000);
  assert.deepEqual(await cache.find(rawKey), IDENTITY);
});

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "AUTH_UNAVAILABLE";
}

// Keys are found by a keyed hash, so similar keys leak nothing by timing.
test("a key that differs in one digit is looked up like any other", async () => {
  const { cache, table, rawKey } = cacheOver();
  await cache.find(rawKey);
  assert.equal(table.asked, 1);
  const digits = rawKey.length - "sk-svc-".length;
  for (let digit = 0; digit < digits; digit++) {
    const at = "sk-svc-".length + digit;
    const other = rawKey[at] === "0" ? "1" : "0";
    assert.equal(await cache.find(rawKey.slice(0, at) + other + rawKey.slice(at + 1)), null);
    assert.equal(table.asked, digit + 2, "asked once, wherever the difference is");
  }
});
