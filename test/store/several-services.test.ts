// State that services on one database share. The tests open two stores, as two services would.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { AttemptLimiter } from "../../src/console/server/attempt-limiter.js";
import { connect } from "../../src/store/postgres/connect.js";
import { openStore, type Store } from "../../src/store/store.js";
import { temporaryFolder } from "../support/folders.js";
import { ManualClock } from "../support/manual-clock.js";
import { preparedFolder } from "../support/prepared-database.js";
import { SILENT } from "../support/silent-log.js";
import { databaseUrlOf, privateStore } from "./support.js";

describe("two stores on one database", { concurrency: 1 }, () => {
  let one: Store;
  let other: Store;
  let databaseUrl: string;
  let keyPepper: string;

  before(async () => {
    const dataDir = await preparedFolder();
    one = await openStore(privateStore(dataDir), SILENT);
    databaseUrl = await databaseUrlOf(dataDir);
    keyPepper = (await readFile(join(dataDir, "key-pepper"), "utf8")).trim();
    other = await openStore(privateStore(await temporaryFolder(), { databaseUrl, keyPepper }), SILENT);
  });
  after(async () => {
    await other?.close();
    await one?.close();
  });

  test("they derive the same secrets and have the same time", () => {
    assert.deepEqual(one.secretFor("a"), other.secretFor("a"));
    assert.notDeepEqual(one.secretFor("a"), one.secretFor("b"));
    assert.ok(Math.abs(one.sharedClock.nowMs() - other.sharedClock.nowMs()) < 5_000);
  });

  test("a token works once across all services, until its key is revoked", async () => {
    const identity = { keyId: "key_unknown", organizationId: "org_development", tier: "free" } as const;
    const token = { id: randomBytes(16), untilMs: one.sharedClock.nowMs() + 60_000, identity };
    const tries = [one, other, one, other].map((store) => store.tokenUses.use(token));
    assert.equal((await Promise.all(tries)).filter((isFirst) => isFirst).length, 1);
    const organizationId = "org_development";
    await one.organizations.ensure(organizationId, "development");
    const key = await one.apiKeys.create({ organizationId, name: "ends" });
    const another = { ...token, id: randomBytes(16), identity: { ...identity, keyId: key.id } };
    await other.apiKeys.revoke(key.id);
    assert.equal(await one.tokenUses.use(another), false);
  });

  test("ending a session on one ends the playground's keys and tokens on the other", async () => {
    const session = randomBytes(32);
    const { users } = one.console;
    const person = { email: "a@example.org", passwordHash: "none", organizationName: "Acme" };
    const { id: userId } = (await users.signUp(person))!;
    const [{ organizationId } = { organizationId: "" }] = await users.memberships(userId);
    await users.openSession(userId, session, 60, { address: null, agent: null });
    const place = { session, organizationId };
    const grant = { session: session.toString("base64url"), userId, knownSince: 0 };
    const identity = { keyId: "playground", organizationId, tier: "free", grant } as const;
    const token = () => ({ id: randomBytes(16), untilMs: one.sharedClock.nowMs() + 60_000, identity });
    assert.equal(await other.places.isGood(place), true);
    assert.equal(await other.tokenUses.use(token()), true);
    await users.closeSession(session);
    assert.equal(await other.places.isGood(place), false);
    assert.equal(await other.tokenUses.use(token()), false);
  });

  test("concurrent attempts on both services do not exceed the limit", async () => {
    const rules = { kind: "guesses", attempts: 5, windowMs: 900_000 };
    const clock = new ManualClock();
    const limiters = [one, other].map((store) => new AttemptLimiter(rules, store.console.attempts, clock));
    const take = (nth: number) => limiters[nth % 2]!.take("a name").then(() => "taken", String);
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, nth) => take(nth)));
    assert.equal(outcomes.filter((outcome) => outcome === "taken").length, 5);
    assert.match(
      outcomes.find((outcome) => outcome !== "taken")!,
      /too many attempts; try again in (900|89\d) s/,
    );
    assert.equal(await limiters[0]!.take("another").then(() => "taken"), "taken");
    await limiters[0]!.giveBack("a name");
    assert.equal(await take(0), "taken");
    assert.notEqual(await take(1), "taken");
    await limiters[0]!.clear("a name");
    assert.notEqual(await take(1), "taken", "a closed name is asked about once in a second");
    clock.advance(1_000);
    assert.equal(await take(1), "taken");
  });

  test("a window ends on time, or when the clock is set back before its start", async () => {
    const rules = { attempts: 1, windowMs: 900_000 };
    const sql = connect(databaseUrl, SILENT);
    try {
      for (const until of ["-1 second", "20 hours"]) {
        assert.equal(await one.console.attempts.take("late", rules), null);
        assert.notEqual(await other.console.attempts.take("late", rules), null);
        await sql`update attempts set until = now() + ${until}::interval`;
        assert.equal(await other.console.attempts.take("late", rules), null, until);
        await one.console.attempts.clear("late");
      }
      // The window was started by a service whose clock is ahead.
      assert.equal(await one.console.attempts.take("late", rules), null);
      await sql`update attempts set until = now() + interval '905 seconds'`;
      assert.equal(await other.console.attempts.take("late", rules), 900);
    } finally {
      await sql.end();
    }
  });
});
