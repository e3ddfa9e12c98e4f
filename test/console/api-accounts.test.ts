import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import { CONSOLE_ERRORS } from "../../src/console/server/console-error.js";
import {
  assertNoSecretIn,
  PASSWORD,
  type RunningConsole,
  startConsole,
  type Visitor,
} from "./running-console.js";

let running: RunningConsole;
let owner: Visitor;
let organization: string;
let at: string;

before(async () => {
  running = await startConsole();
  owner = running.visitor();
  organization = await owner.signUp("owner@example.org");
  at = `/organizations/${organization}`;
});

after(() => running.stop());

describe("accounts", () => {
  test("sign-up creates an organization and grants the free credits once", async () => {
    assert.equal((await owner.ask("GET", `${at}/credits`)).json.balance, FREE_GRANT_CREDITS);
    const { json } = await owner.ask("GET", `${at}/ledger`);
    assert.deepEqual(
      json.data.map(({ kind, credits }: { kind: string; credits: number }) => [kind, credits]),
      [["grant", FREE_GRANT_CREDITS]],
    );
    const again = await running.visitor().ask("POST", "/sign-up", {
      email: " Owner@Example.org",
      password: PASSWORD,
      organization: "Again",
    });
    assert.deepEqual([again.status, again.json.code], [409, "email_taken"]);
    assert.equal((await running.store.organizations.list()).length, 1, "no organization without a user");
  });

  test("sign-in with a wrong password does not reveal which addresses are known", async () => {
    const visitor = running.visitor();
    const wrong = await visitor.ask("POST", "/sign-in", { email: "owner@example.org", password: "wrong" });
    const nobody = await visitor.ask("POST", "/sign-in", { email: "nobody@example.org", password: "wrong" });
    assert.deepEqual([wrong.status, wrong.json], [nobody.status, nobody.json]);
    assert.equal(wrong.status, 401);
    const right = await visitor.ask("POST", "/sign-in", { email: "OWNER@example.org", password: PASSWORD });
    assert.equal(right.status, 200);
    assert.equal((await visitor.ask("GET", "/session")).json.user.email, "owner@example.org");
  });

  test("the cookie is hidden from scripts and other sites, and Secure behind TLS", async () => {
    const visitor = running.visitor();
    const signIn = { email: "owner@example.org", password: PASSWORD };
    await visitor.ask("POST", "/sign-in", signIn);
    assert.match(visitor.lastSetCookie, /; Path=\/console; Max-Age=1209600; HttpOnly; SameSite=Strict$/);
    await visitor.ask("POST", "/sign-in", signIn, { "x-forwarded-proto": "https" });
    assert.match(visitor.lastSetCookie, /; HttpOnly; SameSite=Strict; Secure$/);
  });

  test("sign-out ends the session and its playground keys, even for a copied cookie", async () => {
    const visitor = running.visitor();
    await visitor.ask("POST", "/sign-in", { email: "owner@example.org", password: PASSWORD });
    const { cookie } = visitor;
    const { key } = (await visitor.ask("POST", `${at}/playground-key`)).json;
    assert.equal((await running.temporaryKeys.find(key))?.organizationId, organization);
    await visitor.ask("POST", "/sign-out");
    assert.match(visitor.lastSetCookie, /^dauys_session=; .*Max-Age=0/);
    visitor.cookie = cookie;
    assert.equal((await visitor.ask("GET", `${at}/keys`)).status, 401);
    assert.equal(await running.temporaryKeys.find(key), null);
  });

  test("ten wrong passwords block an address for 15 minutes, even for the right password", async () => {
    const visitor = running.visitor();
    await visitor.signUp("guessed@example.org");
    const guess = (password: string) =>
      visitor.ask("POST", "/sign-in", { email: "guessed@example.org", password });
    for (let attempt = 0; attempt < 10; attempt++)
      assert.equal((await guess(`guess ${attempt}`)).status, 401);
    const refused = await guess(PASSWORD);
    assert.deepEqual([refused.status, refused.json.code], [429, "too_many_attempts"]);
    assert.equal(refused.headers.get("retry-after"), "900");
    running.clock.advance(15 * 60_000);
    assert.equal((await guess(PASSWORD)).status, 200);
  });

  test("a new password invalidates the old one and all earlier sessions", async () => {
    const [visitor, elsewhere] = [running.visitor(), running.visitor()];
    const mine = await visitor.signUp("changing@example.org");
    const signIn = (password: string) => ({ email: "changing@example.org", password });
    await elsewhere.ask("POST", "/sign-in", signIn(PASSWORD));
    const { key } = (await elsewhere.ask("POST", `/organizations/${mine}/playground-key`)).json;
    const { cookie } = visitor;
    const change = (current: string, password: string) =>
      visitor.ask("POST", "/password", { current, password });
    const wrong = await change("not my password", "another good one");
    assert.deepEqual([wrong.status, wrong.json.code], [403, "wrong_password"]);
    assert.equal((await change(PASSWORD, "short")).json.code, "password_short");
    assert.equal((await elsewhere.ask("GET", "/session")).json.user.email, "changing@example.org");
    assert.equal((await change(PASSWORD, "another good one")).status, 200);
    assert.notEqual(visitor.cookie, cookie, "the session has another secret");
    assert.equal((await visitor.ask("GET", "/session")).json.user.email, "changing@example.org");
    assert.equal((await elsewhere.ask("GET", "/session")).json.user, null);
    assert.equal(await running.temporaryKeys.find(key), null);
    const old = running.visitor();
    old.cookie = cookie;
    assert.equal((await old.ask("GET", "/session")).json.user, null);
    assert.equal((await old.ask("POST", "/sign-in", signIn(PASSWORD))).status, 401);
    assert.equal((await old.ask("POST", "/sign-in", signIn("another good one"))).status, 200);
  });

  test("guesses of the current password count as guesses at sign-in", async () => {
    const visitor = running.visitor();
    await visitor.signUp("left-open@example.org");
    for (let attempt = 0; attempt < 10; attempt++) {
      const body = { current: `guess ${attempt}`, password: PASSWORD };
      assert.equal((await visitor.ask("POST", "/password", body)).status, 403);
    }
    const refused = await visitor.ask("POST", "/password", { current: PASSWORD, password: PASSWORD });
    assert.deepEqual([refused.status, refused.json.code], [429, "too_many_attempts"]);
    const signIn = { email: "left-open@example.org", password: PASSWORD };
    assert.equal((await running.visitor().ask("POST", "/sign-in", signIn)).status, 429);
    running.clock.advance(15 * 60_000);
  });

  test("bodies are limited to 8 KiB; invalid links count like wrong passwords", async () => {
    const visitor = running.visitor();
    const long = await visitor.ask("POST", "/sign-in", { email: "a@b.example", password: "x".repeat(8_200) });
    assert.deepEqual([long.status, long.json.detail], [413, "a JSON body must be at most 8192 bytes"]);
    const token = (await owner.ask("POST", `${at}/invitations`, { role: "member" })).json.path.split("#")[1];
    // Valid links do not count as attempts.
    for (let look = 0; look < 120; look++)
      assert.equal((await visitor.ask("POST", "/invitations/look-up", { token })).status, 200);
    const [{ id }] = (await owner.ask("GET", `${at}/invitations`)).json.data;
    await owner.ask("DELETE", `${at}/invitations/${id}`);
    let [found, last] = [0, 404];
    for (; last === 404 && found < 200; found++)
      last = (await visitor.ask("POST", "/password-resets/look-up", { token: "a".repeat(43) })).status;
    assert.equal(last, 429);
    assert.ok(found <= 101, `${found} tries`);
    running.clock.advance(15 * 60_000);
  });

  test("only the last reset link works, once", async () => {
    const visitor = running.visitor();
    await visitor.signUp("forgetful@example.org");
    const { passwordResets } = running.store;
    assert.equal(await passwordResets.create("nobody@example.org", 24), null);
    const replaced = (await passwordResets.create("forgetful@example.org", 24))!.secret;
    const late = (await passwordResets.create("forgetful@example.org", 0))!.secret;
    const use = (token: string, password = "remembered now") =>
      running.visitor().ask("POST", "/password-resets/use", { token, password });
    for (const token of [replaced, late, "a".repeat(43), "x"]) {
      const looked = await running.visitor().ask("POST", "/password-resets/look-up", { token });
      assert.deepEqual([looked.status, looked.json.code], [404, "reset_invalid"]);
      const used = await use(token);
      assert.deepEqual([used.status, used.json.code], [404, "reset_invalid"]);
    }
    const token = (await passwordResets.create(" Forgetful@example.org", 24))!.secret;
    const looked = await running.visitor().ask("POST", "/password-resets/look-up", { token });
    assert.deepEqual(looked.json, { email: "forgetful@example.org" });
    assert.equal((await use(token, "short")).json.code, "password_short");
    const all = await Promise.all([use(token), use(token), use(token)]);
    assert.deepEqual(all.map(({ status }) => status).sort(), [200, 404, 404]);
    assert.equal((await visitor.ask("GET", "/session")).json.user, null, "older sessions are over");
    const signIn = (password: string) =>
      running.visitor().ask("POST", "/sign-in", { email: "forgetful@example.org", password });
    assert.equal((await signIn(PASSWORD)).status, 401);
    assert.equal((await signIn("remembered now")).status, 200);
  });

  test("a new password invalidates reset links", async () => {
    const visitor = running.visitor();
    await visitor.signUp("both@example.org");
    const token = (await running.store.passwordResets.create("both@example.org", 24))!.secret;
    await visitor.ask("POST", "/password", { current: PASSWORD, password: "another good one" });
    const looked = await visitor.ask("POST", "/password-resets/look-up", { token });
    assert.equal(looked.status, 404);
  });

  test("sessions list their time, address and browser, and can be ended from another session", async () => {
    const visitor = running.visitor();
    const mine = await visitor.signUp("travelling@example.org");
    const signIn = { email: "travelling@example.org", password: PASSWORD };
    const elsewhere = [running.visitor(), running.visitor(), running.visitor()] as const;
    const agents = [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
      "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142 Mobile Safari/537.36",
      "a script",
    ] as const;
    for (const [index, other] of elsewhere.entries())
      await other.ask("POST", "/sign-in", signIn, { "user-agent": agents[index]! });
    const { data } = (await visitor.ask("GET", "/sessions")).json;
    assert.deepEqual(
      data.map(({ agent, is_current }: { agent: string; is_current: boolean }) => [agent, is_current]),
      [
        [null, false],
        ["Chrome, Android", false],
        ["Firefox, Windows", false],
        [null, true],
      ],
    );
    for (const { address, created_at, expires_at } of data) {
      assert.equal(address, "127.0.0.1");
      assert.equal(Date.parse(expires_at) - Date.parse(created_at), 14 * 86_400_000);
    }
    const [script, phone, desk] = data;
    const { key } = (await elsewhere[1].ask("POST", `/organizations/${mine}/playground-key`)).json;
    assert.equal((await visitor.ask("DELETE", `/sessions/${phone.id}`)).status, 200);
    assert.equal((await elsewhere[1].ask("GET", "/session")).json.user, null);
    assert.equal(await running.temporaryKeys.find(key), null);
    assert.equal((await visitor.ask("DELETE", `/sessions/${phone.id}`)).status, 404);
    assert.equal((await elsewhere[0].ask("GET", "/session")).json.user.email, signIn.email);
    assert.deepEqual((await visitor.ask("DELETE", "/sessions")).json, { ended: 2 });
    for (const other of elsewhere) assert.equal((await other.ask("GET", "/session")).json.user, null);
    assert.equal((await visitor.ask("GET", "/session")).json.user.email, signIn.email);
    for (const { id } of [script, desk])
      assert.equal((await visitor.ask("DELETE", `/sessions/${id}`)).status, 404);
  });

  for (const [what, change, code] of [
    ["an address without @", { email: "owner" }, "email_invalid"],
    ["a password of nine characters", { password: "123456789" }, "password_short"],
    ["an address with NUL", { email: "a\0b@example.org" }, "email_invalid"],
    ["an unpaired surrogate in an address", { email: "\ud800@example.org" }, "email_invalid"],
    ["an address of dots", { email: `a@${".".repeat(5_000)}@` }, "email_invalid"],
    ["an address that is too long", { email: `${"a".repeat(251)}@b.c` }, "email_invalid"],
    ["no organization", { organization: " " }, "name_required"],
    ["NUL in the organization", { organization: "a\0b" }, "name_invalid"],
    ["an unpaired surrogate in the organization", { organization: "a\udc00" }, "name_invalid"],
    ["an unknown invitation", { invitation: "a".repeat(43) }, "invitation_invalid"],
  ] as const) {
    test(`sign-up rejects ${what} and stores nothing`, async () => {
      const person = { email: `${code}@example.org`, password: PASSWORD, organization: "Acme", ...change };
      const { status, json } = await running.visitor().ask("POST", "/sign-up", person);
      assert.deepEqual([status, json.code], [CONSOLE_ERRORS[code], code]);
      assert.equal(await running.store.console.users.findByEmail(`${code}@example.org`), null);
    });
  }
});

describe("deleting an account", () => {
  const deleted = (visitor: Visitor, password = PASSWORD) =>
    visitor.ask("POST", "/account/delete", { password });

  test("needs the password and keeps the ledger exact", async () => {
    const visitor = running.visitor();
    const mine = await visitor.signUp("leaving-for-good@example.org");
    const own = `/organizations/${mine}`;
    const wrong = await deleted(visitor, "not my password");
    assert.deepEqual([wrong.status, wrong.json.code], [403, "wrong_password"]);
    const { code } = await running.store.vouchers.create({ credits: 700, note: "", lifetimeDays: null });
    await visitor.ask("POST", `${own}/vouchers`, { code });
    const made = (await visitor.ask("POST", `${own}/keys`, { name: "server" })).json;
    const playground = (await visitor.ask("POST", `${own}/playground-key`)).json.key;
    const invitation = (await visitor.ask("POST", `${own}/invitations`, { role: "member" })).json.path.split(
      "#",
    )[1];
    const transfers = await running.store.transfers.list(mine);
    const balance = await running.store.accounts.find(mine);
    const { cookie } = visitor;
    const answer = await deleted(visitor);
    assert.deepEqual([answer.status, answer.json], [200, { user: null, organizations: [] }]);
    assert.match(visitor.lastSetCookie, /^dauys_session=; .*Max-Age=0/);
    visitor.cookie = cookie;
    assert.equal((await visitor.ask("GET", "/session")).json.user, null);
    assert.equal(await running.temporaryKeys.find(playground), null);
    assert.equal(await running.temporaryKeys.find(made.key), null, "no key works for a person who is gone");
    const looked = await running.visitor().ask("POST", "/invitations/look-up", { token: invitation });
    assert.equal(looked.status, 404);
    assert.deepEqual(await running.store.transfers.list(mine), transfers);
    assert.deepEqual(await running.store.accounts.find(mine), balance);
    const signIn = { email: "leaving-for-good@example.org", password: PASSWORD };
    assert.equal((await running.visitor().ask("POST", "/sign-in", signIn)).status, 401);
    assert.notEqual(await running.visitor().signUp("leaving-for-good@example.org"), mine);
    const guessed = running.visitor();
    await guessed.signUp("left-open-again@example.org");
    for (let attempt = 0; attempt < 10; attempt++) await deleted(guessed, `guess ${attempt}`);
    assert.equal((await deleted(guessed)).status, 429);
    running.clock.advance(15 * 60_000);
  });

  test("is rejected for the only owner of an organization with other members", async () => {
    const [boss, colleague] = [running.visitor(), running.visitor()];
    const mine = await boss.signUp("boss@example.org");
    const own = `/organizations/${mine}`;
    const invite = async (role: string) =>
      (await boss.ask("POST", `${own}/invitations`, { role })).json.path.split("#")[1];
    await colleague.signUp("colleague@example.org", { invitation: await invite("member") });
    await boss.ask("POST", `${own}/keys`, { name: "of the boss" });
    const open = await invite("member");
    const refused = await deleted(boss);
    assert.deepEqual([refused.status, refused.json.code], [409, "sole_owner"]);
    assert.match(refused.json.detail, /"Acme"/);
    assert.equal((await boss.ask("GET", "/session")).json.user.email, "boss@example.org");
    assert.equal((await running.visitor().ask("POST", "/invitations/look-up", { token: open })).status, 200);
    const { id } = (await colleague.ask("GET", "/session")).json.user;
    await boss.ask("PATCH", `${own}/members/${id}`, { role: "owner" });
    assert.equal((await deleted(boss)).status, 200);
    const [key] = (await colleague.ask("GET", `${own}/keys`)).json.data;
    assert.deepEqual([key.name, key.created_by, key.revoked_at], ["of the boss", null, null]);
    assert.equal((await colleague.ask("GET", `${own}/members`)).json.data.length, 1);
    assert.equal((await running.visitor().ask("POST", "/invitations/look-up", { token: open })).status, 404);
  });

  test("never leaves members without an owner when users join and leave concurrently", async () => {
    const [one, other, third, late] = [
      running.visitor(),
      running.visitor(),
      running.visitor(),
      running.visitor(),
    ];
    const mine = await one.signUp("one@example.org");
    const own = `/organizations/${mine}`;
    const invite = async (role: string) =>
      (await one.ask("POST", `${own}/invitations`, { role })).json.path.split("#")[1];
    await other.signUp("other@example.org", { invitation: await invite("owner") });
    await third.signUp("third@example.org", { invitation: await invite("member") });
    const both = await Promise.all([deleted(one), deleted(other)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
    const members = (await third.ask("GET", `${own}/members`)).json.data;
    assert.deepEqual(members.map(({ role }: { role: string }) => role).sort(), ["member", "owner"]);
    const alone = running.visitor();
    const theirs = await alone.signUp("alone@example.org");
    const { path } = (await alone.ask("POST", `/organizations/${theirs}/invitations`, { role: "member" }))
      .json;
    await late.signUp("late@example.org");
    const accept = late.ask("POST", "/invitations/accept", { token: path.split("#")[1] });
    const [left, joined] = await Promise.all([deleted(alone), accept]);
    assert.deepEqual([left.status, joined.status], joined.status === 200 ? [409, 200] : [200, 404]);
  });
});

test("the log contains no secret of a user", () => assertNoSecretIn(running.logLines, owner));
