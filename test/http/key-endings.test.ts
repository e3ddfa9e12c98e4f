import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { AttemptLimiter } from "../../src/console/server/attempt-limiter.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { TEMPORARY_KEY_LIFETIME_S, TemporaryKeys } from "../../src/http/temporary-keys.js";
import { LiveAuthorization } from "../../src/live/authorization.js";
import { systemClock } from "../../src/ports/clock.js";
import type { SessionPlace } from "../../src/ports/console-store.js";
import type { KeyIdentity } from "../../src/ports/key-store.js";
import { ManualClock } from "../support/manual-clock.js";
import { streamTokens } from "../support/stream-tokens.js";

const IDENTITY: KeyIdentity = { keyId: "key_1", organizationId: "org_1", tier: "paid" };
const ORGANIZATION = { organizationId: "org_1", tier: "paid" } as const;
const SESSION = Buffer.alloc(32, 1);
const HOUR_MS = 3_600_000;

afterEach(() => mock.timers.reset());

function issuing(clock = new ManualClock()) {
  const endings = new KeyEndings();
  const keys = new TemporaryKeys({ find: async () => IDENTITY }, clock, endings);
  return { endings, keys, clock, live: new LiveAuthorization(keys, clock, endings) };
}

test("a live authorization is reused for five minutes, until the key is known to have ended", async () => {
  const { endings, live, clock } = issuing();
  assert.equal(await live.find("sk"), IDENTITY);
  clock.advance(4 * 60_000);
  assert.equal(await live.find("sk"), IDENTITY);
  endings.end("key_1");
  assert.equal(await live.find("sk"), null);
});

test("an answer about a key that ended while it was on its way counts no more", async () => {
  const endings = new KeyEndings();
  let answer: (identity: KeyIdentity) => void = () => {};
  const find = () => new Promise<KeyIdentity>((resolve) => (answer = resolve));
  const keys = new TemporaryKeys({ find }, new ManualClock(), endings);
  const live = new LiveAuthorization(keys, new ManualClock(), endings);
  const asked = live.find("sk");
  endings.end("key_1");
  answer(IDENTITY);
  assert.equal(await asked, null);
});

test("a playground key opens no live socket after its ten minutes", async () => {
  const { keys, live, clock } = issuing();
  const key = keys.issue(SESSION, "usr_1", ORGANIZATION);
  clock.advance(TEMPORARY_KEY_LIFETIME_S * 1_000 - 1);
  assert.equal((await live.find(key))?.keyId, "playground");
  clock.advance(1);
  assert.equal(await live.find(key), null);
});

test("a live session ends with the console's session, also when its key is late or was pushed out", async () => {
  for (const wear of ["late", "pushed out"]) {
    const { endings, keys, clock } = issuing();
    const identity = (await keys.find(keys.issue(SESSION, "usr_1", ORGANIZATION)))!;
    let told = 0;
    const unwatch = endings.watch(identity, () => told++);
    if (wear === "late") clock.advance(TEMPORARY_KEY_LIFETIME_S * 1_000);
    for (let page = 0; page < 12; page++) keys.issue(SESSION, "usr_1", ORGANIZATION);
    assert.equal(told, 0);
    keys.endMembership("org_2", "usr_1");
    keys.endUser("usr_2");
    assert.equal(told, 0, "somebody else's ending");
    keys.endSession(SESSION);
    assert.equal(told, 1, wear);
    unwatch();
    assert.deepEqual(endings.watched, []);
  }
});

test("sessions and memberships that ended in another service end their playground keys", async () => {
  const { keys } = issuing();
  const other = Buffer.alloc(32, 2);
  const [kept, left] = [keys.issue(SESSION, "usr_1", ORGANIZATION), keys.issue(other, "usr_2", ORGANIZATION)];
  const goodPlaces = async (places: readonly SessionPlace[]) =>
    places.filter(({ session }) => session.equals(SESSION));
  await keys.endLost({ goodPlaces });
  assert.notEqual((await keys.find(kept))?.grantId, undefined);
  assert.notEqual((await keys.find(left))?.keyId, "playground");
});

// Issue 12: the wall clock is set forwards or back by hours.
test("a wall clock that jumps lengthens and shortens nothing", async () => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { keys, live } = issuing(systemClock as ManualClock);
  const tokens = streamTokens();
  const limiter = new AttemptLimiter({ attempts: 1, windowMs: HOUR_MS }, systemClock);
  const key = keys.issue(SESSION, "usr_1", ORGANIZATION);
  limiter.take("somebody");
  for (const jumpMs of [9 * HOUR_MS, -20 * HOUR_MS]) {
    const token = tokens.issue(IDENTITY);
    await live.find("sk");
    mock.timers.setTime(Date.now() + jumpMs);
    assert.throws(() => limiter.take("somebody"), /wait 3[56]\d\d s/);
    assert.equal((await keys.find(key))?.keyId, "playground");
    assert.deepEqual(await tokens.redeem(token), IDENTITY);
    assert.equal(await live.find("sk"), IDENTITY);
  }
});
