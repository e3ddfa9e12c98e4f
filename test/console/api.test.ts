import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MOST_HOT_WORDS } from "../../core/domain/decoding/hot-words.js";
import { MOST_PRONUNCIATIONS } from "../../core/domain/text/kazakh/dictionary.js";
import { CONCURRENCY_LIMITS } from "../../core/domain/usage/concurrency.js";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import { LONGEST_TEXT } from "../../core/protocol/synthesis-request.js";
import { LIVE_MESSAGE_LIMITS } from "../../src/front/shared/live-messages.js";
import { LONGEST_UPLOAD_BYTES } from "../../src/http/spool.js";
import { assertNoSecretIn, type RunningConsole, startConsole, type Visitor } from "./running-console.js";

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

/** A valid body for a route, which rejects unknown fields. */
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
    const { tier, at_once, text, file, live, vocabulary } = await limits();
    assert.deepEqual([tier, at_once], ["free", CONCURRENCY_LIMITS]);
    assert.equal(text.characters, LONGEST_TEXT);
    assert.deepEqual([file.audio_seconds, file.upload_bytes], [7_200, LONGEST_UPLOAD_BYTES]);
    assert.equal(live.texts, LIVE_MESSAGE_LIMITS.texts);
    assert.deepEqual(
      [vocabulary.hot_words, vocabulary.pronunciations],
      [MOST_HOT_WORDS, MOST_PRONUNCIATIONS],
    );
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

test("the log contains no secret of a user", () => assertNoSecretIn(running.logLines, owner));
