import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { SYNTHESIS_TARIFF } from "../../../core/domain/usage/tariff.js";
import type { KeptAnswer } from "../../../core/ports/idempotency.js";
import type { NewHold } from "../../../src/store/ledger/holds.js";
import { IdempotencyKeys } from "../../../src/store/ledger/idempotency-keys.js";
import { PostgresIdempotency } from "../../../src/store/ledger/postgres-idempotency.js";
import { sweep } from "../../../src/store/ledger/sweep.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { eventually } from "../../support/eventually.js";
import { momentOfFault } from "../../support/pace.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";
import { brokenRules, type LedgerTables, newLedger } from "./ledger-support.js";

const KEY = "a key, with \"quotes\" and 'more'";
const REQUEST = fingerprint("one");
const CHARACTERS = 12;
/** 12 characters at 2 for 5. */
const CREDITS = 5;
const FREE = 25_000;
const ANSWER = {
  status: 200,
  headers: { "content-type": "audio/wav", "x-svc-chars": "12" },
  bytes: 3,
  body: Buffer.from([1, 0, 255]),
} satisfies Partial<KeptAnswer>;

let server: EmbeddedPostgres;
let ledger: LedgerTables;
let organizationId: string;
let requestCount = 0;

before(async () => {
  server = await EmbeddedPostgres.start({
    dataDir: await preparedFolder(),
    purpose: "service",
    log: SILENT,
  });
  ledger = await newLedger(server);
  await ledger.instances.heartbeat("svc_a");
});
after(async () => {
  await ledger.sql.end();
  await server.stop();
});
beforeEach(async () => {
  organizationId = (await ledger.organizations.create("test")).id;
});

function fingerprint(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/** A running service, or one that never existed. */
function service(serviceId = "svc_a") {
  const idempotency = new PostgresIdempotency(ledger.idempotencyKeys, serviceId, SILENT);
  const claim = async (changes: { key?: string; fingerprint?: Uint8Array; lostAnswerOf?: string } = {}) => {
    const requestId = `req_${++requestCount}`;
    const request = {
      organizationId,
      key: KEY,
      fingerprint: REQUEST,
      kind: "synthesis",
      requestId,
      ...changes,
    } as const;
    return { requestId, claim: await idempotency.claim(request) };
  };
  /** Claims a key, and fails the test unless the work may start. */
  const begin = async (changes: Parameters<typeof claim>[0] = {}) => {
    const claimed = await claim(changes);
    assert.ok(claimed.claim.type === "begun", claimed.claim.type);
    return { ...claimed.claim, requestId: claimed.requestId, hold: holdOf(claimed.requestId, serviceId) };
  };
  return { idempotency, claim, begin };
}

function holdOf(id: string, serviceId: string): NewHold {
  const quantity = { units: CHARACTERS, unitsPerSecond: 1 };
  return { id, organizationId, serviceId, kind: "synthesis", quantity, tariff: SYNTHESIS_TARIFF };
}

async function charge(hold: NewHold, state: "posted" | "settled" = "settled"): Promise<void> {
  assert.ok(await ledger.changes.open(hold));
  await ledger.holds.post(hold.id, CHARACTERS, state);
}

async function balance(): Promise<number> {
  return (await ledger.accounts.find(organizationId))!.balance;
}

async function age(hours: number): Promise<void> {
  await ledger.sql`update idempotency_keys set created_at = now() - ${hours}::float8 * interval '1 hour'
    where organization_id = ${organizationId}`;
}

test("a charged answer is replayed unchanged, any number of times", async () => {
  const { claim, begin } = service();
  const { attempt, paid, requestId, hold } = await begin();
  assert.equal(paid, null);
  await charge(hold);
  assert.equal(await attempt.answered(ANSWER), true);
  for (let i = 0; i < 2; i++) {
    const again = (await claim()).claim;
    assert.deepEqual(again, {
      type: "answered",
      answer: { requestId, chargedRequestId: requestId, ...ANSWER },
    });
  }
  const elsewhere = await service("svc_elsewhere").claim();
  assert.equal(elsewhere.claim.type, "answered", "other services find it as well");
  assert.equal((await claim({ fingerprint: fingerprint("two") })).claim.type, "reused");
  assert.equal((await claim({ key: "another" })).claim.type, "begun");
  assert.equal(await balance(), FREE - CREDITS);
});

test("keys belong to their organization", async () => {
  const { begin, idempotency } = service();
  await begin();
  assert.equal(await idempotency.isKnown(organizationId, KEY), true);
  organizationId = (await ledger.organizations.create("other")).id;
  assert.equal(await idempotency.isKnown(organizationId, KEY), false);
  await begin({ fingerprint: fingerprint("two") });
});

test("of twenty concurrent attempts on two services exactly one starts", async () => {
  await ledger.instances.heartbeat("svc_b");
  const [a, b] = [service(), service("svc_b")];
  const claims = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).claim()));
  const types = claims.map(({ claim }) => claim.type);
  assert.deepEqual(
    [types.filter((type) => type === "begun").length, types.filter((type) => type === "in-use").length],
    [1, 19],
  );
});

test("exactly one of twenty concurrent retries of a failed request starts", async () => {
  const { claim, begin } = service();
  await (await begin()).attempt.over();
  const claims = await Promise.all(Array.from({ length: 20 }, () => claim()));
  assert.equal(claims.filter(({ claim }) => claim.type === "begun").length, 1);
});

test("a failed attempt leaves its key only to the same request", async () => {
  const { claim, begin } = service();
  const first = await begin();
  assert.ok(await ledger.changes.open(first.hold));
  await first.attempt.over();
  assert.equal((await claim()).claim.type, "in-use", "until it is known what it cost");
  await ledger.holds.void(first.hold);
  assert.equal((await claim({ fingerprint: fingerprint("two") })).claim.type, "reused");
  const second = await begin();
  assert.equal(second.paid, null);
  await charge(second.hold);
  await second.attempt.answered(ANSWER);
  assert.equal((await claim()).claim.type, "answered");
  assert.equal(await balance(), FREE - CREDITS);
});

test("a client that paid without an answer pays only the rest when the work is repeated", async () => {
  const { claim, begin } = service();
  const first = await begin();
  await charge(first.hold, "posted");
  // Two of twelve characters were delivered, then the service failed.
  await ledger.holds.refund(first.hold.id, 2);
  await first.attempt.over();
  const second = await begin();
  assert.deepEqual(second.paid, { requestId: first.requestId, units: 2, credits: 1 });
  await charge({ ...second.hold, quantity: { units: 10, unitsPerSecond: 1 } });
  await second.attempt.over();
  const third = await begin();
  assert.deepEqual(third.paid, { requestId: first.requestId, units: 12, credits: 5 });
  assert.equal(await third.attempt.answered(ANSWER), true);
  const fourth = (await claim()).claim;
  assert.ok(fourth.type === "answered");
  assert.equal(fourth.answer.chargedRequestId, first.requestId);
  assert.equal(fourth.answer.requestId, third.requestId);
});

test("a lost answer is produced again by one of the concurrent requests, without a charge", async () => {
  const { claim, begin } = service();
  const { attempt, requestId, hold } = await begin();
  await charge(hold);
  await attempt.answered({ ...ANSWER, body: null });
  const claims = await Promise.all(Array.from({ length: 5 }, () => claim({ lostAnswerOf: requestId })));
  const begun = claims.flatMap(({ claim }) => (claim.type === "begun" ? [claim.paid] : []));
  assert.deepEqual(begun, [{ requestId, units: CHARACTERS, credits: CREDITS }]);
});

test("an answer whose charge was refunded is not replayed", async () => {
  const { begin } = service();
  const { attempt, hold } = await begin();
  await charge(hold, "posted");
  await attempt.answered(ANSWER);
  await ledger.holds.refund(hold.id, 0);
  assert.equal((await begin()).paid, null);
});

test("an answer charged in part by a crash is paid for before it is replayed", async () => {
  const { begin } = service();
  const { attempt, hold, requestId } = await begin();
  await charge(hold, "posted");
  await attempt.answered(ANSWER);
  await ledger.holds.refund(hold.id, 2);
  assert.deepEqual((await begin()).paid, { requestId, units: 2, credits: 1 });
});

test("a repeated request waits while a hold is being settled", async () => {
  const { claim, begin } = service();
  const { attempt, hold } = await begin();
  await charge(hold, "posted");
  await attempt.answered(ANSWER);
  const asked = claim();
  void momentOfFault(120).then(() => ledger.holds.complete(hold.id));
  assert.equal((await asked).claim.type, "answered");
});

test("a stopped service's attempt is settled before it is repeated", async () => {
  const { claim, begin } = service();
  const gone = service("svc_gone");
  const first = await gone.begin();
  await charge(first.hold, "posted");
  assert.equal((await claim()).claim.type, "in-use");
  await sweep(ledger.holds);
  const second = await begin();
  assert.equal(second.paid, null);
  await charge(second.hold);
  await second.attempt.answered(ANSWER);
  assert.equal(await first.attempt.answered(ANSWER), false, "too late");
  assert.equal(await balance(), FREE - CREDITS);
});

test("a service wrongly presumed stopped cannot charge in addition to its successor", async () => {
  const gone = service("svc_gone");
  const first = await gone.begin();
  const second = await service().begin();
  await assert.rejects(ledger.changes.open(first.hold), "its hold is refused");
  await ledger.holds.post(first.hold.id, CHARACTERS, "settled");
  await charge(second.hold);
  await first.attempt.over();
  assert.equal((await service().claim()).claim.type, "in-use", "its end does not end the other's");
  assert.equal(await balance(), FREE - CREDITS);
  assert.deepEqual(await brokenRules(ledger.sql), []);
});

test("a key is new after 24 hours, not before", async () => {
  const { claim, begin } = service();
  const { attempt, hold } = await begin();
  await charge(hold);
  await attempt.answered(ANSWER);
  await age(23.9);
  assert.equal((await claim()).claim.type, "answered");
  await age(24.1);
  const next = await begin({ fingerprint: fingerprint("two") });
  assert.equal(next.paid, null, "another request, charged anew");
});

test("the sweep removes keys after 24 hours, except running ones", async () => {
  const { idempotency, begin } = service();
  await begin();
  await age(25);
  await ledger.idempotencyKeys.removeExpired();
  assert.equal(await idempotency.isKnown(organizationId, KEY), true);
  await ledger.sql`update idempotency_keys set state = 'over' where organization_id = ${organizationId}`;
  await age(23.9);
  await ledger.idempotencyKeys.removeExpired();
  assert.equal(await idempotency.isKnown(organizationId, KEY), true);
  await age(24.1);
  assert.equal(await ledger.idempotencyKeys.removeExpired(), 1);
  assert.equal(await idempotency.isKnown(organizationId, KEY), false);
});

test("one sweep removes at most a thousand keys", async () => {
  await ledger.sql`
    insert into idempotency_keys (organization_id, key, fingerprint, kind, request_id, service_id, state, created_at)
    select ${organizationId}, 'key ' || n, ${Buffer.from(REQUEST)}, 'file', 'many ' || n, 'svc_a', 'over',
      now() - interval '2 days' from generate_series(1, 1500) as n`;
  assert.equal(await ledger.idempotencyKeys.removeExpired(), 1_000);
  assert.equal(await ledger.idempotencyKeys.removeExpired(), 500);
});

test("an organization beyond its limit loses only its own oldest bodies", async () => {
  const other = (await ledger.organizations.create("other")).id;
  await ledger.sql`
    insert into idempotency_keys (organization_id, key, fingerprint, kind, request_id, service_id, state, created_at,
      answer_status, answer_headers, answer_bytes, answer_body)
    select case when n = 0 then ${other} else ${organizationId} end, 'key ' || n, ${Buffer.from(REQUEST)}, 'file',
      'body ' || n, 'svc_a', 'answered', now() - n * interval '1 minute', 200, '{}', 1000, ${Buffer.alloc(1_000)}
    from generate_series(0, 9) as n`;
  assert.equal(await ledger.idempotencyKeys.dropBodiesBeyond(3_500), 6);
  const kept = await ledger.sql<{ key: string }[]>`
    select key from idempotency_keys where answer_body is not null and key like 'key _' order by key`;
  assert.deepEqual(
    kept.map(({ key }) => key),
    ["key 0", "key 1", "key 2", "key 3"],
  );
});

test("the next attempt knows which audio has been paid", async () => {
  const { begin } = service();
  const first = await begin();
  const heard = fingerprint("audio");
  await first.attempt.hears(heard);
  await charge(first.hold);
  await first.attempt.over();
  const second = await begin();
  assert.deepEqual(new Uint8Array(second.paid!.audioSha256!), new Uint8Array(heard));
  await second.attempt.over();
  await age(25);
  const third = await begin();
  assert.equal(third.paid, null);
  await third.attempt.over();
  assert.equal((await begin()).paid, null, "nothing was paid, whatever was heard");
});

test("the end of an attempt is written when the database returns", async () => {
  const { claim, begin } = service();
  const { attempt } = await begin();
  // A lock stands in for a database that does not answer.
  let release = () => {};
  const locked = new Promise<void>((resolve) => {
    void ledger.sql.begin(async (transaction) => {
      await transaction`select from idempotency_keys where organization_id = ${organizationId} for update`;
      resolve();
      await new Promise<void>((done) => {
        release = done;
      });
    });
  });
  await locked;
  await attempt.over();
  const waiting = claim();
  await assert.rejects(waiting, /not available at the moment/);
  release();
  await eventually("the key is free", async () => (await claim()).claim.type === "begun");
});

test("attempts reopened by a promoted standby are ended; running ones keep their keys", async () => {
  const serviceId = "svc_promoted";
  await ledger.instances.heartbeat(serviceId);
  const own = service(serviceId);
  const { attempt } = await own.begin({ key: "runs" });
  // The service does not know this attempt: it ended on the lost server.
  await service(serviceId).begin({ key: "over" });
  assert.equal((await own.claim({ key: "over" })).claim.type, "in-use");
  assert.equal(await own.idempotency.endForgotten(), 1);
  const again = await own.begin({ key: "over" });
  assert.equal((await own.claim({ key: "runs" })).claim.type, "in-use");
  assert.equal(await own.idempotency.endForgotten(), 0);
  await Promise.all([attempt.over(), again.attempt.over()]);
  const paid = await own.begin({ key: "runs" });
  await charge(paid.hold);
  assert.ok(await paid.attempt.answered(ANSWER));
  assert.equal((await own.claim({ key: "runs" })).claim.type, "answered");
  assert.deepEqual(await ledger.idempotencyKeys.listRunning(serviceId), []);
});

test("an attempt that ends during the search does not count as forgotten", async () => {
  const serviceId = "svc_ending";
  await ledger.instances.heartbeat(serviceId);
  let endIt: (() => Promise<void>) | null = null;
  class LateAnswers extends IdempotencyKeys {
    override async listRunning(service: string): Promise<string[]> {
      const listed = await super.listRunning(service);
      await endIt?.();
      return listed;
    }
  }
  const idempotency = new PostgresIdempotency(new LateAnswers(ledger.sql), serviceId, SILENT);
  const claim = await idempotency.claim({
    organizationId,
    key: KEY,
    fingerprint: REQUEST,
    kind: "synthesis",
    requestId: `req_${++requestCount}`,
  });
  assert.ok(claim.type === "begun");
  const { attempt } = claim;
  endIt = async () => {
    endIt = null;
    await attempt.over();
  };
  assert.equal(await idempotency.endForgotten(), 0);
  assert.equal(endIt, null);
});
