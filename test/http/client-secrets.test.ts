import assert from "node:assert/strict";
import { test } from "node:test";
import type { RealtimeConfig } from "../../core/protocol/realtime-session.js";
import { isClientSecret } from "../../src/http/client-secrets.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { isToken } from "../../src/http/signed-credentials.js";
import { ManualClock } from "../support/manual-clock.js";
import { clientSecrets, usesInMemory } from "../support/stream-tokens.js";

const IDENTITY = { keyId: "key_1", organizationId: "org_1", tier: "paid" } as const;
const CONFIG: RealtimeConfig = {
  model: "svc-kk-ru-v2",
  format: "pcm16",
  language: "kk",
  noiseReduction: null,
  turnDetection: null,
  keywords: [],
  logprobs: false,
};
const GRANT = { identity: IDENTITY, config: CONFIG };

test("a client secret grants its configuration any number of times until it expires", async () => {
  const clock = new ManualClock();
  const secrets = clientSecrets(clock);
  const { value, untilMs } = secrets.issue(GRANT, 10_000)!;
  assert.equal(untilMs, clock.nowMs() + 10_000);
  assert.ok(isClientSecret(value) && !isToken(value));
  assert.match(value, /^[\w.-]+$/, "it fits a subprotocol");
  clock.advance(9_999);
  assert.deepEqual(await secrets.read(value), GRANT);
  assert.deepEqual(await secrets.read(value), GRANT);
  clock.advance(1);
  assert.equal(await secrets.read(value), null);
});

test("setting the clock back does not extend a client secret", async () => {
  const clock = new ManualClock();
  const secrets = clientSecrets(clock);
  const { value } = secrets.issue(GRANT, 10_000)!;
  clock.advance(-3_600_000);
  assert.equal(await secrets.read(value), null);
});

test("a client secret ends with its key, on this service and on the one where the key was revoked", async () => {
  const endings = new KeyEndings();
  const here = clientSecrets(new ManualClock(), usesInMemory(), endings);
  const { value } = here.issue(GRANT, 10_000)!;
  endings.endKey("key_1");
  assert.equal(await here.read(value), null);
  const revoked = clientSecrets(new ManualClock(), { use: async () => false });
  assert.equal(await revoked.read(value), null);
});

test("a changed secret grants nothing, nor does one of another service", async () => {
  const secrets = clientSecrets();
  const { value } = secrets.issue(GRANT, 10_000)!;
  for (let at = 0; at < value.length; at++) {
    const changed = value.slice(0, at) + (value[at] === "x" ? "y" : "x") + value.slice(at + 1);
    assert.equal(await secrets.read(changed), null, changed);
  }
});

test("a configuration that is too large is not signed", () => {
  const keywords = Array.from({ length: 100 }, () => "а".repeat(60));
  assert.equal(clientSecrets().issue({ identity: IDENTITY, config: { ...CONFIG, keywords } }, 10_000), null);
});
