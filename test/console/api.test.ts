import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CONCURRENCY_LIMITS } from "../../core/domain/usage/concurrency.js";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import type { LedgerCursor, LedgerEntry } from "../../core/ports/console-store.js";
import { LONGEST_TEXT } from "../../core/protocol/synthesis-request.js";
import { CONSOLE_ERRORS } from "../../src/console/server/console-error.js";
import { LIVE_MESSAGE_LIMITS } from "../../src/front/shared/live-messages.js";
import { LONGEST_UPLOAD_BYTES } from "../../src/http/spool.js";
import { PASSWORD, type RunningConsole, startConsole, type Visitor } from "./running-console.js";

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

  test("wrong current passwords count as failed sign-ins", async () => {
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

/** Returns a valid body for a route. Routes reject unknown fields. */
function bodyOf(path: string): object {
  if (path.endsWith("/keys")) return { name: "x" };
  if (path.includes("/keys/")) return {};
  return path.endsWith("/vouchers") ? { code: "X" } : { role: "member" };
}

describe("limits of keys", () => {
  test("are stored, listed and removed", async () => {
    const limits = { monthly_credits: 500, endpoints: ["live", "tts"], expires_at: "2999-12-31" };
    const { json: made } = await owner.ask("POST", `${at}/keys`, { name: "limited", ...limits });
    const stored = { ...limits, endpoints: ["tts", "live"], expires_at: "2999-12-31T00:00:00.000Z" };
    for (const [name, value] of Object.entries(stored)) assert.deepEqual(made[name], value, name);
    const month = new Date().toISOString().slice(0, 7);
    assert.deepEqual(made.usage, [{ month, credits: 0, held: 0 }]);
    const change = { monthly_credits: null, endpoints: null, expires_at: null };
    const { json: changed } = await owner.ask("PATCH", `${at}/keys/${made.id}`, change);
    for (const [name, value] of Object.entries(change)) assert.equal(changed[name], value, name);
    const { json: rotated } = await owner.ask("POST", `${at}/keys/${made.id}/rotate`, {});
    assert.match(rotated.key, /^sk-svc-[0-9a-f]{48}$/);
    const hours = (Date.parse(rotated.previous_secret_until) - Date.now()) / 3_600_000;
    assert.equal(Math.round(hours), 24);
    assert.equal((await owner.ask("DELETE", `${at}/keys/${made.id}`)).status, 200);
  });

  for (const [code, limits] of [
    ["cap_invalid", { monthly_credits: 0 }],
    ["cap_invalid", { monthly_credits: 1.5 }],
    ["cap_invalid", { monthly_credits: "5" }],
    ["endpoints_invalid", { endpoints: [] }],
    ["endpoints_invalid", { endpoints: ["speech"] }],
    ["expiry_invalid", { expires_at: "2020-01-01" }],
    ["expiry_invalid", { expires_at: "soon" }],
  ] as const) {
    test(`${JSON.stringify(limits)} is rejected`, async () => {
      const { status, json } = await owner.ask("POST", `${at}/keys`, { name: "limited", ...limits });
      assert.deepEqual([status, json.code], [400, code]);
    });
  }
});

describe("access", () => {
  test("rejects an unknown field and suggests the nearest known one", async () => {
    const refused = await owner.ask("POST", `${at}/keys`, { Name: "x" });
    assert.deepEqual([refused.status, refused.json.code], [400, "invalid_request"]);
    assert.match(refused.json.detail, /unknown field "Name": did you mean "name"\?/);
    const query = await owner.ask("GET", `${at}/usage?day=3`);
    assert.match(query.json.detail, /"day": did you mean "days"\?/);
  });

  test("every route returns 404 for an id of another organization, without changing anything", async () => {
    const stranger = running.visitor();
    const own = await stranger.signUp("stranger@example.org");
    const key = (await owner.ask("POST", `${at}/keys`, { name: "mine" })).json.id;
    const invitation = (await owner.ask("POST", `${at}/invitations`, { role: "member" })).json.id;
    const user = (await owner.ask("GET", "/session")).json.user.id;
    const [{ id: session }] = (await owner.ask("GET", "/sessions")).json.data;
    const ids: Readonly<Record<string, string>> = { organization, key, invitation, user, session };
    const withIds = running.routes.filter(({ path }) => path.includes(":"));
    assert.ok(withIds.length >= 12, "the table was found");
    for (const { method, path } of withIds) {
      const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? "");
      for (const name of names) assert.ok(ids[name] !== undefined, `an id for :${name} of ${path}`);
      const fill = (values: Readonly<Record<string, string>>) =>
        path.replace("/console/api", "").replace(/:(\w+)/g, (_, name: string) => values[name] ?? "");
      const body = method === "GET" ? undefined : bodyOf(path);
      const tries = [fill(ids), ...(names.length > 1 ? [fill({ ...ids, organization: own })] : [])];
      for (const foreign of tries) {
        const { status, json } = await stranger.ask(method, foreign, body);
        assert.deepEqual([status, json.code], [404, "not_found"], `${method} ${foreign}`);
        const signedOut = await running.visitor().ask(method, foreign, body);
        assert.deepEqual(
          [signedOut.status, signedOut.json.code],
          [401, "not_signed_in"],
          `${method} ${foreign}`,
        );
      }
    }
    const keys = (await owner.ask("GET", `${at}/keys`)).json.data;
    assert.equal(keys.find(({ id }: { id: string }) => id === key).revoked_at, null);
    assert.equal((await owner.ask("GET", `${at}/members`)).json.data.length, 1);
    assert.equal((await owner.ask("GET", `${at}/invitations`)).json.data.length, 1);
  });

  test("members are rejected on every route for owners", async () => {
    const token = (await owner.ask("POST", `${at}/invitations`, { role: "member" })).json.path.split("#")[1];
    const member = running.visitor();
    await member.signUp("second@example.org", { invitation: token });
    const closed = running.routes.filter(({ access }) => access === "owner");
    assert.ok(closed.length >= 5);
    for (const { method, path } of closed) {
      const filled = path.replace("/console/api", "").replace(":organization", organization);
      const { status, json } = await member.ask(
        method,
        filled,
        method === "GET" ? undefined : { role: "member" },
      );
      assert.deepEqual([status, json.code], [403, "owner_only"], `${method} ${path}`);
    }
  });

  test("another site's page can neither read nor change anything, with or without the cookie", async () => {
    for (const { method, path } of running.routes.filter((route) => route.method !== "GET")) {
      const filled = path.replace("/console/api", "").replace(":organization", organization);
      for (const headers of [
        { origin: "https://evil.example" },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
      ]) {
        const { status, json } = await owner.ask(method, filled, { name: "x" }, headers);
        assert.deepEqual([status, json.code], [403, "cross_site"], `${method} ${path}`);
      }
    }
    for (const method of ["GET", "OPTIONS"]) {
      const { headers } = await owner.ask(method, "/session", undefined, { origin: "https://evil.example" });
      assert.equal(headers.get("access-control-allow-origin"), null);
    }
  });
});

describe("the organization's name", () => {
  test("is changed by owners, with the validation of sign-up", async () => {
    const visitor = running.visitor();
    const mine = await visitor.signUp("renaming@example.org");
    const rename = (name: string, who = visitor) => who.ask("PATCH", `/organizations/${mine}`, { name });
    assert.equal((await rename(" Tilmash ")).json.name, "Tilmash");
    assert.equal((await visitor.ask("GET", "/session")).json.organizations[0].name, "Tilmash");
    for (const [name, code] of [
      [" ", "name_required"],
      ["a\0b", "name_invalid"],
      ["x".repeat(81), "name_long"],
    ] as const)
      assert.equal((await rename(name)).json.code, code);
    assert.equal((await visitor.ask("GET", "/session")).json.organizations[0].name, "Tilmash");
  });
});

describe("service facts", () => {
  test("prices and the operator's contact are public", async () => {
    const { json } = await running.visitor().ask("GET", "/prices");
    assert.deepEqual(json, {
      tariffs: {
        synthesis: { credits: 2, per_units: 5 },
        file: { credits: 5, per_units: 2 },
        live: { credits: 6, per_units: 1 },
      },
      credit_price: { amount: 1, credits: 25_000, currency: "USD" },
      contact: "operator@example.org",
      mail: false,
    });
  });

  test("signed-in users see the status of the engines", async () => {
    assert.equal((await running.visitor().ask("GET", "/status")).status, 401);
    const { json } = await owner.ask("GET", "/status");
    assert.match(json.version, /^\d+\.\d+\.\d+/);
    assert.deepEqual(json, {
      is_ready: true,
      version: json.version,
      model_idle_s: 900,
      engines: [{ kind: "live", model: "svc-kk-ru-v2", state: "loading", load_ms: 1_900 }],
      models: [{ name: "svc-kk-ru-v2", task: "transcription", lang: "kk-ru", notes: null, default: true }],
      broken: ["damaged"],
    });
  });

  test("limits match the organization's tier and the code", async () => {
    const visitor = running.visitor();
    const mine = await visitor.signUp("limited@example.org");
    const limits = async () => (await visitor.ask("GET", `/organizations/${mine}/limits`)).json;
    const { tier, at_once, text, file, live } = await limits();
    assert.deepEqual([tier, at_once], ["free", CONCURRENCY_LIMITS]);
    assert.equal(text.characters, LONGEST_TEXT);
    assert.deepEqual([file.audio_seconds, file.upload_bytes], [7_200, LONGEST_UPLOAD_BYTES]);
    assert.equal(live.texts, LIVE_MESSAGE_LIMITS.texts);
    await running.store.transfers.topUp(mine, 1, "lifts limits");
    assert.equal((await limits()).tier, "paid");
  });
});

describe("keys", () => {
  test("a key is shown once, listed by its first and last characters, and stops when revoked", async () => {
    const made = (await owner.ask("POST", `${at}/keys`, { name: "server" })).json;
    assert.match(made.key, /^sk-svc-[0-9a-f]{48}$/);
    const listed = (await owner.ask("GET", `${at}/keys`)).json.data.find(
      ({ id }: { id: string }) => id === made.id,
    );
    assert.equal(listed.key, undefined);
    assert.deepEqual([listed.prefix, listed.last_four], [made.key.slice(0, 11), made.key.slice(-4)]);
    assert.equal((await running.store.keys.find(made.key))?.organizationId, organization);
    await owner.ask("DELETE", `${at}/keys/${made.id}`);
    running.clock.advance(30_000);
    assert.equal(await running.store.keys.find(made.key), null);
    const after = (await owner.ask("GET", `${at}/keys`)).json.data.find(
      ({ id }: { id: string }) => id === made.id,
    );
    assert.notEqual(after.revoked_at, null);
  });

  test("a playground key is valid for ten minutes", async () => {
    const { key, expires_in } = (await owner.ask("POST", `${at}/playground-key`)).json;
    assert.equal(expires_in, 600);
    assert.equal((await running.temporaryKeys.find(key))?.keyId, "playground");
    running.clock.advance(600_000);
    assert.equal(await running.temporaryKeys.find(key), null);
  });
});

describe("members", () => {
  test("an invitation works once; an organization always keeps an owner", async () => {
    const first = running.visitor();
    const mine = await first.signUp("first@example.org");
    const { path } = (await first.ask("POST", `/organizations/${mine}/invitations`, { role: "owner" })).json;
    const token = path.split("#")[1];
    const seen = await running.visitor().ask("POST", "/invitations/look-up", { token });
    assert.deepEqual(seen.json, { organization: "Acme", role: "owner" });
    const joined = running.visitor();
    assert.equal(await joined.signUp("joined@example.org", { invitation: token }), mine);
    assert.equal(
      (await joined.ask("GET", `/organizations/${mine}/credits`)).json.balance,
      FREE_GRANT_CREDITS,
    );
    const late = await owner.ask("POST", "/invitations/accept", { token });
    assert.deepEqual([late.status, late.json.code], [404, "invitation_invalid"]);

    const [me, other] = (await first.ask("GET", `/organizations/${mine}/members`)).json.data;
    assert.equal((await first.ask("DELETE", `/organizations/${mine}/members/${other.user_id}`)).status, 200);
    const last = await first.ask("DELETE", `/organizations/${mine}/members/${me.user_id}`);
    assert.deepEqual([last.status, last.json.code], [409, "last_owner"]);
    const demoted = await first.ask("PATCH", `/organizations/${mine}/members/${me.user_id}`, {
      role: "member",
    });
    assert.equal(demoted.json.code, "last_owner");
  });

  test("a removed member's playground key stops immediately", async () => {
    const token = (await owner.ask("POST", `${at}/invitations`, { role: "member" })).json.path.split("#")[1];
    const leaving = running.visitor();
    await leaving.signUp("leaving@example.org", { invitation: token });
    const { key } = (await leaving.ask("POST", `${at}/playground-key`)).json;
    const { id } = (await leaving.ask("GET", "/session")).json.user;
    assert.notEqual(await running.temporaryKeys.find(key), null);
    await owner.ask("DELETE", `${at}/members/${id}`);
    assert.equal(await running.temporaryKeys.find(key), null);
    assert.equal((await leaving.ask("GET", `${at}/keys`)).status, 404);
  });
});

describe("credits", () => {
  test("concurrent requests credit a voucher once", async () => {
    const { code } = await running.store.vouchers.create({ credits: 5_000, note: "", lifetimeDays: null });
    const before = (await owner.ask("GET", `${at}/credits`)).json;
    const typed = code.toLowerCase().replaceAll("-", " ");
    const all = await Promise.all(
      Array.from({ length: 5 }, () => owner.ask("POST", `${at}/vouchers`, { code: typed })),
    );
    assert.deepEqual(all.map(({ status }) => status).sort(), [201, 404, 404, 404, 404]);
    const { balance, tier } = (await owner.ask("GET", `${at}/credits`)).json;
    assert.deepEqual([balance - before.balance, tier], [5_000, "paid"]);
    assert.equal(before.last_top_up, null);
    const { last_top_up } = (await owner.ask("GET", `${at}/credits`)).json;
    assert.equal(last_top_up.credits, 5_000);
    assert.ok(Date.parse(last_top_up.created_at) > 0);
    const expired = await running.store.vouchers.create({ credits: 1, note: "", lifetimeDays: 0 });
    running.clock.advance(15 * 60_000);
    assert.equal((await owner.ask("POST", `${at}/vouchers`, { code: expired.code })).status, 404);
    assert.deepEqual(
      (await running.store.vouchers.list()).slice(-2).map(({ redeemedAt }) => redeemedAt !== null),
      [true, false],
    );
  });

  test("ledger, export and usage list request, path and key of each charge", async () => {
    const visitor = running.visitor();
    const spender = await visitor.signUp("spender@example.org");
    const key = (await visitor.ask("POST", `/organizations/${spender}/keys`, { name: '=cmd"1' })).json;
    const { changes, holds } = running.store;
    const hold = {
      id: "req_0123456789ab",
      organizationId: spender,
      serviceId: "svc_a",
      kind: "synthesis",
      quantity: { units: 100, unitsPerSecond: 1 },
      tariff: { credits: 2, perUnits: 5 },
      origin: { keyId: key.id, endpoint: "/v1/tts" },
    } as const;
    assert.equal(await changes.open(hold), true);
    await holds.post(hold.id, 100, "posted");
    await holds.refund(hold.id, 50);
    const { data } = (await visitor.ask("GET", `/organizations/${spender}/ledger`)).json;
    const shown = data.map((entry: Record<string, unknown>) => [
      entry["kind"],
      entry["credits"],
      entry["request_id"],
      entry["endpoint"],
      entry["key_name"],
      entry["balance"],
    ]);
    assert.deepEqual(shown, [
      ["refund", 20, hold.id, "/v1/tts", '=cmd"1', FREE_GRANT_CREDITS - 20],
      ["charge", -40, hold.id, "/v1/tts", '=cmd"1', FREE_GRANT_CREDITS - 40],
      ["grant", FREE_GRANT_CREDITS, null, null, null, FREE_GRANT_CREDITS],
    ]);
    const csv = await visitor.ask("GET", `/organizations/${spender}/ledger.csv`);
    assert.match(csv.headers.get("content-type") ?? "", /^text\/csv/);
    assert.match(csv.text, /^time,kind,credits,request_id,endpoint,key,balance\r\n/);
    assert.match(csv.text, /Z,charge,-40,req_0123456789ab,\/v1\/tts,"'=cmd""1",24960\r\n/);
    const usage = (await visitor.ask("GET", `/organizations/${spender}/usage?days=7`)).json.data;
    assert.equal(usage.length, 1);
    const { day, ...row } = usage[0];
    assert.deepEqual(row, {
      kind: "synthesis",
      endpoint: "/v1/tts",
      key_id: key.id,
      key_name: '=cmd"1',
      requests: 1,
      quantity: 50,
      credits: 20,
    });
    // The same through the public API, with an ordinary key and with a playground key.
    const { key_id, key_name, ...ofOneKey } = row;
    const more = { ...hold, id: "req_more", quantity: { units: 10, unitsPerSecond: 1 } };
    assert.equal(await changes.open({ ...more, origin: { ...hold.origin, keyId: "playground" } }), true);
    await holds.post(more.id, 10, "posted");
    const sums = { ...ofOneKey, requests: 2, quantity: 60, credits: 24 };
    const { key: playground } = (await visitor.ask("POST", `/organizations/${spender}/playground-key`)).json;
    for (const rawKey of [key.key, playground]) {
      const told = async (path: string) => {
        const headers = { authorization: `Bearer ${rawKey}` };
        return (await fetch(`${running.base}/v1/${path}`, { headers })).json();
      };
      assert.deepEqual(await told(`usage?from=${day}&to=${day}`), {
        from: day,
        to: day,
        data: [{ day, ...sums, unit: "characters" }],
      });
      const dayBefore = new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
      assert.deepEqual(((await told(`usage?from=${dayBefore}&to=${dayBefore}`)) as { data: [] }).data, []);
      const { balance, held, available, tier } = (
        await visitor.ask("GET", `/organizations/${spender}/credits`)
      ).json;
      assert.deepEqual(await told("balance"), { balance, held, available, tier });
      assert.equal(balance, FREE_GRANT_CREDITS - 24);
    }
  });

  test("the ledger's pages have no gap", async () => {
    const visitor = running.visitor();
    const payer = await visitor.signUp("payer@example.org");
    for (let payment = 1; payment <= 60; payment++)
      await running.store.transfers.topUp(payer, payment, `p${payment}`);
    const seen: number[] = [];
    let next: number | null = null;
    do {
      const query: string = next === null ? "" : `?before=${next}`;
      const { json } = await visitor.ask("GET", `/organizations/${payer}/ledger${query}`);
      for (const { credits } of json.data) seen.push(credits);
      next = json.next;
    } while (next !== null);
    assert.deepEqual(seen, [...Array.from({ length: 60 }, (_, index) => 60 - index), FREE_GRANT_CREDITS]);
  });

  test("each entry has the balance after it, regardless of filter, page and export", async () => {
    const visitor = running.visitor();
    const payer = await visitor.signUp("filtering@example.org");
    const { changes, holds, transfers } = running.store;
    // Work for 4 credits follows each payment. Every third time, 2 credits are refunded.
    for (let payment = 1; payment <= 60; payment++) {
      await transfers.topUp(payer, payment, `f${payment}`);
      const hold = {
        id: `req_f${payment}`,
        organizationId: payer,
        serviceId: "svc_a",
        kind: "synthesis",
      } as const;
      await changes.open({
        ...hold,
        quantity: { units: 10, unitsPerSecond: 1 },
        tariff: { credits: 2, perUnits: 5 },
      });
      await holds.post(hold.id, 10, "posted");
      if (payment % 3 === 0) await holds.refund(hold.id, 5);
    }
    const path = `/organizations/${payer}/ledger`;
    const expected: string[] = [];
    let balance = 0;
    for (const { kind, amount, creditAccount } of await transfers.list(payer)) {
      const signed = creditAccount === payer ? amount : -amount;
      balance += signed;
      expected.unshift(`${kind} ${signed} ${balance}`);
    }
    assert.equal(balance, (await visitor.ask("GET", `/organizations/${payer}/credits`)).json.balance);
    // Do as the export does: each page continues from the balance of the previous one.
    const paged: string[] = [];
    for (let before: LedgerCursor | null = null; ; ) {
      const page: LedgerEntry[] = await running.store.console.reports.ledger(payer, {
        filter: { kind: null, from: null, until: null },
        before,
        limit: 7,
      });
      for (const entry of page) paged.push(`${entry.kind} ${entry.amount} ${entry.balance}`);
      const last = page.at(-1);
      if (last === undefined) break;
      before = { position: last.position, balance: last.balance - last.amount };
    }
    assert.deepEqual(paged, expected);
    for (const kind of ["", "topup", "charge", "refund", "grant"]) {
      const filter = kind === "" ? "" : `kind=${kind}`;
      const wanted = expected.filter((line) => line.startsWith(kind));
      const seen: string[] = [];
      let next: number | null = null;
      do {
        const query: string = next === null ? filter : `${filter}&before=${next}`;
        const { json } = await visitor.ask("GET", `${path}?${query}`);
        for (const entry of json.data) seen.push(`${entry.kind} ${entry.credits} ${entry.balance}`);
        next = json.next;
      } while (next !== null);
      assert.deepEqual(seen, wanted, kind);
      const csv = (await visitor.ask("GET", `${path}.csv?${filter}`)).text.trim().split("\r\n").slice(1);
      const lines = csv.map((line) => line.split(","));
      assert.deepEqual(
        lines.map(([, name, credits, , , , after]) => `${name} ${credits} ${after}`),
        wanted,
        kind,
      );
    }
  });

  test("the ledger is filtered by time; invalid filters are rejected", async () => {
    const visitor = running.visitor();
    const payer = await visitor.signUp("dating@example.org");
    await running.store.transfers.topUp(payer, 7, "dated");
    const path = `/organizations/${payer}/ledger`;
    const count = async (query: string) => (await visitor.ask("GET", `${path}?${query}`)).json.data.length;
    const [{ created_at }] = (await visitor.ask("GET", path)).json.data;
    const after = new Date(Date.parse(created_at) + 1).toISOString();
    assert.deepEqual(
      [
        await count(`from=${after}`),
        await count(`until=${after}`),
        await count(`from=2020-01-01&until=2020-02-01`),
      ],
      [0, 2, 0],
    );
    for (const query of [
      "kind=all",
      "from=yesterday",
      "until=99999-01-01",
      `from=${"1".repeat(31)}`,
      "to=2020-01-01",
    ]) {
      const { status, json } = await visitor.ask("GET", `${path}?${query}`);
      assert.deepEqual([status, json.code], [400, "invalid_request"], query);
    }
    assert.equal((await visitor.ask("GET", `${path}.csv?before=3`)).status, 400);
  });
});

test("the log contains no secret of a user", async () => {
  const lines = running.logLines.join("\n");
  assert.ok(lines.includes("/console/api/sign-in"), "requests were logged");
  for (const secret of [PASSWORD, owner.cookie.split("=")[1] ?? "?", "sk-svc-", "owner@example.org"])
    assert.ok(!lines.includes(secret), "a secret was logged");
});
