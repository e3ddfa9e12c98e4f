import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import type { LedgerCursor, LedgerEntry } from "../../core/ports/console-store.js";
import { assertNoSecretIn, type RunningConsole, startConsole, type Visitor } from "./running-console.js";

let running: RunningConsole;
let owner: Visitor;
let at: string;

before(async () => {
  running = await startConsole();
  owner = running.visitor();
  at = `/organizations/${await owner.signUp("owner@example.org")}`;
});

after(() => running.stop());

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
    // The same through the public API, with a key and with a playground key.
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
    // Work for 4 credits follows each payment; every third time 2 credits are refunded.
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
    // As the export does: every page continues from the balance of the previous one.
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

test("the log contains no secret of a user", () => assertNoSecretIn(running.logLines, owner));
