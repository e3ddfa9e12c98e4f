import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { type Clock, systemClock } from "../../core/ports/clock.js";
import type { SessionPlace } from "../../core/ports/console-store.js";
import type { KeyIdentity } from "../../core/ports/key-store.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { TEMPORARY_KEY_LIFETIME_S, TemporaryKeys } from "../../src/http/signed-credentials.js";
import { LiveAuthorization } from "../../src/live/upgrade.js";
import { ManualClock } from "../support/manual-clock.js";
import { streamTokens, usesInMemory } from "../support/stream-tokens.js";

const IDENTITY: KeyIdentity = { keyId: "key_1", organizationId: "org_1", tier: "paid" };
const ORGANIZATION = { organizationId: "org_1", tier: "paid" } as const;
const SESSION = Buffer.alloc(32, 1);
const HOUR_MS = 3_600_000;

afterEach(() => mock.timers.reset());

/** The keys of one service. `isGood` is the database's result for sessions. */
function issuing<C extends Clock = ManualClock>(
  clock: C = new ManualClock() as Clock as C,
  isGood: (place: SessionPlace) => Promise<boolean> = async () => true,
  find: () => Promise<KeyIdentity> = async () => IDENTITY,
) {
  const endings = new KeyEndings();
  let lookUps = 0;
  const places = {
    isGood: (place: SessionPlace) => {
      lookUps++;
      return isGood(place);
    },
  };
  const secret = Buffer.alloc(32, 3);
  const keys = new TemporaryKeys({ keys: { find }, secret, sharedClock: clock, clock, places, endings });
  const live = new LiveAuthorization(keys, clock, endings);
  return { endings, keys, clock, live, lookUps: () => lookUps };
}

test("a live authorization is reused for five minutes, until the key is known to have ended", async () => {
  const { endings, live, clock } = issuing();
  assert.equal(await live.find("sk"), IDENTITY);
  clock.advance(4 * 60_000);
  assert.equal(await live.find("sk"), IDENTITY);
  endings.endKey("key_1");
  assert.equal(await live.find("sk"), null);
});

test("the look-up of a key that ended meanwhile is ignored", async () => {
  let answer: (identity: KeyIdentity) => void = () => {};
  const find = () => new Promise<KeyIdentity>((resolve) => (answer = resolve));
  const { endings, live } = issuing(new ManualClock(), undefined, find);
  const asked = live.find("sk");
  endings.endKey("key_1");
  answer(IDENTITY);
  assert.equal(await asked, null);
});

test("a playground key opens no live socket after ten minutes", async () => {
  const { keys, live, clock } = issuing();
  const key = keys.issue(SESSION, "usr_1", ORGANIZATION);
  assert.match(key, /^sk-svc-pg-[\w-]+\.[\w-]{43}$/);
  clock.advance(TEMPORARY_KEY_LIFETIME_S * 1_000 - 1);
  assert.equal((await live.find(key))?.keyId, "playground");
  clock.advance(1);
  assert.equal(await live.find(key), null);
});

test("every service with the same secret accepts a playground key, and rejects any other text", async () => {
  const clock = new ManualClock();
  const key = issuing(clock).keys.issue(SESSION, "usr_1", ORGANIZATION);
  const { keys, lookUps } = issuing(clock);
  const identity = (await keys.find(key))!;
  assert.deepEqual([identity.keyId, identity.organizationId, identity.tier], ["playground", "org_1", "paid"]);
  assert.equal(await keys.find(`${key.slice(0, 20)}x${key.slice(21)}`), null);
  assert.equal(lookUps(), 1);
});

test("a session is looked up every half minute, and immediately after an ending", async () => {
  let isGood = true;
  const { keys, clock, endings, lookUps } = issuing(new ManualClock(), async () => isGood);
  const key = keys.issue(SESSION, "usr_1", ORGANIZATION);
  await keys.find(key);
  clock.advance(29_999);
  assert.notEqual(await keys.find(key), null);
  endings.endUser("usr_2");
  endings.endMembership("org_2", "usr_1");
  await keys.find(key);
  assert.equal(lookUps(), 1, "the ending of another");
  endings.endMembership("org_1", "usr_1");
  assert.notEqual(await keys.find(key), null, "who comes back is let in again");
  assert.equal(lookUps(), 2);
  isGood = false;
  clock.advance(30_000);
  assert.equal(await keys.find(key), null, "ended on another service");
});

test("a session that ends while it is looked up admits no request", async () => {
  let answer: (isGood: boolean) => void = () => {};
  const isGood = () => new Promise<boolean>((resolve) => (answer = resolve));
  const { keys, endings } = issuing(new ManualClock(), isGood);
  const asked = keys.find(keys.issue(SESSION, "usr_1", ORGANIZATION));
  endings.endSession(SESSION);
  answer(true);
  assert.equal(await asked, null);
});

test("a live session ends with the console's session, even if its key arrives late", async () => {
  const { endings, keys, clock } = issuing();
  const identity = (await keys.find(keys.issue(SESSION, "usr_1", ORGANIZATION)))!;
  let told = 0;
  const unwatch = endings.watch(identity, () => told++);
  clock.advance(TEMPORARY_KEY_LIFETIME_S * 1_000);
  endings.endMembership("org_2", "usr_1");
  endings.endUser("usr_2");
  assert.equal(told, 0, "the ending of another");
  assert.deepEqual(endings.watchedPlaces, [{ session: SESSION, organizationId: "org_1" }]);
  endings.endSession(SESSION);
  assert.equal(told, 1);
  unwatch();
  assert.deepEqual([endings.watchedPlaces, endings.watchedKeys], [[], []]);
});

test("a live session of a token that another service issued ends with the console's session", async () => {
  const clock = new ManualClock();
  const [here, there] = [issuing(clock), issuing(clock)];
  for (let nth = 0; nth < 3; nth++) there.endings.endKey(`key_${nth}`);
  const identity = (await there.keys.find(there.keys.issue(SESSION, "usr_1", ORGANIZATION)))!;
  const uses = usesInMemory();
  const token = streamTokens(clock, uses, there.endings).issue(identity);
  const redeemed = (await streamTokens(clock, uses, here.endings).redeem(token))!;
  let told = 0;
  here.endings.watch(redeemed, () => told++);
  here.endings.endPlace({ session: SESSION, organizationId: "org_1" });
  assert.equal(told, 1);
});

// An operator or NTP sets the wall clock forwards or back by hours.
test("jumps of the wall clock do not change the lifetime of keys and tokens", async () => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { keys, live } = issuing(systemClock);
  const tokens = streamTokens();
  const key = keys.issue(SESSION, "usr_1", ORGANIZATION);
  for (const jumpMs of [9 * HOUR_MS, -20 * HOUR_MS]) {
    const token = tokens.issue(IDENTITY);
    await live.find("sk");
    mock.timers.setTime(Date.now() + jumpMs);
    assert.equal((await keys.find(key))?.keyId, "playground");
    assert.deepEqual(await tokens.redeem(token), IDENTITY);
    assert.equal(await live.find("sk"), IDENTITY);
  }
});
