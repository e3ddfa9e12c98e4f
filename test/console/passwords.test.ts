import assert from "node:assert/strict";
import { test } from "node:test";
import { hashPassword, isPassword, PASSWORD_COST } from "../../src/console/server/passwords.js";

test("a password matches its hash in any Unicode normalization", async () => {
  const kept = await hashPassword("Әлем é 2026", PASSWORD_COST);
  assert.match(kept, /^scrypt\$32768\$8\$3\$/);
  assert.ok(!kept.includes("2026"), "the password is not stored");
  assert.equal(await isPassword("Әлем e\u0301 2026", kept, PASSWORD_COST), true, "é as two letters");
  assert.equal(await isPassword("әлем é 2026", kept, PASSWORD_COST), false);
  assert.equal(await isPassword("", null, PASSWORD_COST), false, "an unknown user has no password");
  assert.notEqual(await hashPassword("Әлем é 2026", PASSWORD_COST), kept, "each hash has its own salt");
});

test("sign-ins beyond the queue are rejected as busy", async () => {
  // A stored hash includes its cost. The cost that the service uses would take a third of a second.
  const cheap = `scrypt$2$1$1$AAAA$${Buffer.alloc(32).toString("base64")}`;
  const all = await Promise.allSettled(
    Array.from({ length: 60 }, () => isPassword("x", cheap, PASSWORD_COST)),
  );
  const refused = all.filter((one) => one.status === "rejected").map((one) => one.reason.code);
  assert.equal(refused.length, 60 - 52);
  assert.deepEqual([...new Set(refused)], ["busy"]);
});
