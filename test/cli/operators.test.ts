import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCommandLine } from "../../src/cli/main.js";
import { startServiceProcess } from "../store/service-process.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { preparedFolder } from "../support/prepared-database.js";
import { dauys } from "./support.js";

test("organizations and keys are created, listed and revoked", async (t) => {
  const env = { DATA_DIR: await preparedFolder() };
  let organizationId = "";
  let keyId = "";

  await t.test("without a service, on a private server started for the command", async () => {
    const made = await dauys(["orgs", "create", "Аян ЖШС"], { env });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^org_[0-9a-f]{24}\n$/);
    organizationId = made.stdout.trim();
    const names = await readdir(env.DATA_DIR);
    assert.ok(!names.includes("dauys.lock") && !names.includes("postgres.json"), names.join());
  });

  const service = await startServiceProcess(env.DATA_DIR);
  t.after(async () => {
    service.child.kill("SIGTERM");
    await once(service.child, "exit");
  });

  await t.test("next to a running service, on its private server", async () => {
    const made = await dauys(["keys", "create", "--org", organizationId, "--name", "site", "--json"], {
      env,
    });
    assert.equal(made.code, 0, made.stderr);
    const key = JSON.parse(made.stdout);
    assert.match(key.key, /^sk-svc-[0-9a-f]{48}$/);
    assert.equal(key.organization_id, organizationId);
    keyId = key.id;

    const listed = await dauys(["keys", "list", "--org", organizationId, "--json"], { env });
    const { data } = JSON.parse(listed.stdout);
    assert.deepEqual(
      data.map((each: { id: string }) => each.id),
      [keyId],
    );
    assert.ok(!listed.stdout.includes(key.key));
    const table = await dauysInTurn(["keys", "list"], { env });
    assert.match(
      table.stdout,
      new RegExp(`${keyId} +${organizationId} +sk-svc-.{4}\\.\\.\\..{4} +site .* active`),
    );
  });

  await t.test("a password link needs an existing user", async () => {
    const unknown = await dauysInTurn(["users", "reset-password", "nobody@example.org"], { env });
    assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
    assert.match(unknown.stderr, /no such user: "nobody@example.org"/);
    for (const args of [[], ["reset-password"], ["reset-password", "a@b.c", "--hours", "0.5"]]) {
      assert.equal((await dauysInTurn(["users", ...args], { env })).code, 2, args.join(" "));
    }
  });

  await t.test("a revoked key is listed as revoked", async () => {
    assert.equal((await dauysInTurn(["keys", "revoke", keyId], { env })).code, 0);
    assert.match((await dauysInTurn(["keys", "list"], { env })).stdout, /revoked/);
  });

  await t.test("a payment is credited once and listed", async () => {
    const credit = ["orgs", "credit", organizationId, "1000", "--reference", "invoice-7", "--json"];
    const first = JSON.parse((await dauysInTurn(credit, { env })).stdout);
    assert.deepEqual([first.is_new, first.balance], [true, 26_000]);
    const again = JSON.parse((await dauysInTurn(credit, { env })).stdout);
    assert.deepEqual([again.is_new, again.balance], [false, 26_000]);
    const other = await dauysInTurn(["orgs", "credit", organizationId, "999", "--reference", "invoice-7"], {
      env,
    });
    assert.deepEqual(
      [other.code, other.stderr],
      [1, 'dauys: the reference "invoice-7" was used for another payment\n'],
    );
    const ledger = await dauysInTurn(["ledger", organizationId], { env });
    assert.match(
      ledger.stdout,
      /grant +\+25000 +25000 +grant:free:org_.*\n.*topup +\+1000 +26000 +topup:invoice-7/,
    );
    const { data } = JSON.parse((await dauysInTurn(["ledger", organizationId, "--json"], { env })).stdout);
    assert.deepEqual(
      data.map((each: { kind: string; amount: number }) => [each.kind, each.amount]),
      [
        ["grant", 25_000],
        ["topup", 1_000],
      ],
    );
    const listed = JSON.parse((await dauysInTurn(["orgs", "list", "--json"], { env })).stdout);
    const found = listed.data.find((each: { id: string }) => each.id === organizationId);
    assert.deepEqual([found.balance, found.held], [26_000, 0]);
    const usage = JSON.parse((await dauysInTurn(["usage", organizationId, "--json"], { env })).stdout);
    assert.deepEqual([usage.balance, usage.data], [26_000, []]);
    const missing = await dauysInTurn(["ledger", "org_x"], { env });
    assert.deepEqual(
      [missing.code, /no such organization: "org_x"; see `dauys orgs list`/.test(missing.stderr)],
      [1, true],
    );
  });

  await t.test("errors quote unknown ids", async () => {
    const unknownKey = await dauysInTurn(["keys", "revoke", "key_x"], { env });
    assert.deepEqual(
      [unknownKey.code, unknownKey.stderr],
      [1, 'dauys: no such key: "key_x"; see `dauys keys list`\n'],
    );
    // The development organization also exists, so the choice is ambiguous.
    const ambiguous = await dauysInTurn(["keys", "create"], { env });
    assert.equal(ambiguous.code, 2);
    assert.match(ambiguous.stderr, /--org is missing; choose one of 2 organizations/);
    const unknownOrganization = await dauysInTurn(["keys", "create", "--org", "org_x"], { env });
    assert.equal(unknownOrganization.code, 1);
  });

  await t.test("two commands can run at the same time", async () => {
    const both = await Promise.all([
      dauys(["orgs", "list"], { env }),
      dauys(["orgs", "list", "--json"], { env }),
    ]);
    assert.deepEqual(
      both.map(({ code }) => code),
      [0, 0],
    );
    assert.match(both[0].stdout, /Аян ЖШС/);
  });
});

test("a missing data folder is not created silently", async () => {
  const folder = join(await temporaryFolder(), "missing");
  const { code, stderr } = await dauys(["keys", "list"], { env: { DATA_DIR: folder } });
  assert.equal(code, 1);
  assert.match(stderr, /no data folder at .*missing.*DATABASE_URL/);
});

test("names an invalid setting and exits with 2", async () => {
  const { code, stderr } = await dauys(["orgs", "list"], { env: { DATABASE_URL: "nonsense" } });
  assert.equal(code, 2);
  assert.match(stderr, /DATABASE_URL must be an address like postgres:.*, received 8 characters/);
});

const WRONG: readonly [args: string[], message: RegExp][] = [
  [[], /Usage: dauys COMMAND/],
  [["constructor"], /unknown command "constructor"/],
  [["orgs", "create"], /create needs one NAME/],
  [["orgs", "credit", "org_x"], /credit needs ORG and AMOUNT/],
  [["orgs", "credit", "org_x", "1.5"], /AMOUNT must be a whole number of credits above 0, received "1.5"/],
  [["ledger"], /ORG is missing/],
  [["usage", "a", "b"], /expected one ORG, received 2/],
  [["keys", "revoke"], /revoke needs one KEY_ID/],
  [["keys", "list", "all"], /list accepts no argument/],
  [["keys", "destroy"], /unknown action "destroy"; use create, list, limit, rotate or revoke/],
  [["keys", "list", "--colour"], /unknown option "--colour";/],
];

for (const [args, message] of WRONG) {
  test(`"dauys ${args.join(" ")}" is wrong usage`, async (t) => {
    const noted = t.mock.method(process.stderr, "write", () => true);
    const code = await runCommandLine(args, {});
    noted.mock.restore();
    assert.equal(code, 2);
    assert.match(noted.mock.calls.map((call) => String(call.arguments[0])).join(""), message);
  });
}
