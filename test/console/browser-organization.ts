import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.js";
import { pace } from "../support/pace.js";
import { curlSpeech, numberOf, open, spendEverything } from "./browser-actions.js";
import { inspect, isKept, OTHER_LANGUAGE, outOfSight } from "./browser-pages.js";
import { PASSWORD } from "./browser-speech.js";
import { asked, browser, charges, faults, folder, page, service } from "./browser-visit.js";

const DAUYS = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));

/** Credits, members, languages, the account. */
export function organizationCases(): void {
  test("a voucher is credited once", async () => {
    const made = execFileSync(process.execPath, [DAUYS, "vouchers", "create", "5000"], {
      env: { ...process.env, DATA_DIR: service.dataDir },
      encoding: "utf8",
    });
    const code = made.trim();
    await open("Credits");
    await page.getByLabel("Voucher code").fill(code.toLowerCase());
    await page.getByRole("button", { name: "Redeem" }).click();
    await page.getByText("5,000 credits were added.").waitFor();
    await page.getByText("$1.00 for 25,000 credits.").waitFor();
    assert.equal(
      await page.getByRole("link", { name: "sound@example.org" }).getAttribute("href"),
      "mailto:sound@example.org",
    );
    const organization = await page.getByLabel("Organization ID").inputValue();
    assert.match(organization, /^org_[0-9a-f]{24}$/);
    assert.deepEqual(await page.locator(".card .limits tbody td:last-child").allInnerTexts(), [
      "$0.016\n1,000 characters",
      "$0.36\n1 hour",
      "$0.864\n1 hour",
    ]);
    await page.getByLabel("Voucher code").fill(code);
    await page.getByRole("button", { name: "Redeem" }).click();
    await page.getByText("The voucher is unknown, used or expired.").waitFor();
    faults.splice(0);
    const listed = execFileSync(process.execPath, [DAUYS, "vouchers", "list"], {
      env: { ...process.env, DATA_DIR: service.dataDir },
      encoding: "utf8",
    });
    assert.match(listed, /5000 .* redeemed 2/);
  });

  test("ledger and usage agree with the responses", async () => {
    await page.reload();
    const rows = page.locator(".ledger tbody tr");
    await rows.first().waitFor();
    const shown = new Map<string, number>();
    const entries: { readonly amount: number; readonly balance: number }[] = [];
    for (const row of await rows.all()) {
      const [, requestId = "", amount = "", balance = ""] = await row.locator("td").allTextContents();
      entries.push({ amount: numberOf(amount), balance: numberOf(balance) });
      if (requestId !== "") shown.set(requestId, numberOf(amount));
    }
    const figure = (await page.locator(".figure").first().innerText()).split("\n")[0] ?? "";
    assert.equal(
      entries[0]?.balance,
      numberOf(figure.split("$")[0] ?? ""),
      "the latest entry has the current balance",
    );
    for (const [index, { amount, balance }] of entries.entries())
      assert.equal(balance, (entries[index + 1]?.balance ?? 0) + amount, `balance of row ${index}`);
    for (const { requestId, credits } of charges)
      assert.equal(shown.get(requestId), -(credits ?? 0), requestId);
    const unknown = [...shown.keys()].filter((id) => !asked.has(id));
    assert.deepEqual(unknown, [], "nothing is charged without a request");
    assert.deepEqual(await outOfSight(page, ".ledger tbody th, .ledger tbody td:not(:empty)"), []);
    await inspect(page, "credits");
    await page.getByLabel("Type").selectOption("Top-up");
    await eventually("one row is left", async () => (await rows.count()) === 1);
    assert.equal(numberOf((await rows.first().locator("td").nth(2).textContent()) ?? ""), 5_000);
    await page.getByLabel("To", { exact: true }).fill("2020-01-01");
    await page.getByText("Nothing matches.").waitFor();
    await inspect(page, "ledger-empty");
    await page.getByRole("button", { name: "Clear" }).click();
    await eventually("all rows are back", async () => (await rows.count()) === entries.length);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export CSV" }).click();
    const path = join(folder, "ledger.csv");
    await (await download).saveAs(path);
    const csv = readFileSync(path, "utf8");
    for (const { requestId, credits } of charges)
      assert.ok(csv.includes(`charge,-${credits},${requestId},`), requestId);
    await open("Usage");
    await page.getByText("Credits by day").waitFor();
    assert.deepEqual(await outOfSight(page, ".chart text"), []);
    const spent = -[...shown.values()].reduce((sum, amount) => sum + amount, 0);
    const totals = await page.locator(".ranking").first().locator("tbody tr td:last-child").allTextContents();
    assert.equal(
      totals.reduce((sum, text) => sum + Number(text.replace(",", "")), 0),
      spent,
    );
    await inspect(page, "usage");
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByText("Last top-up: 5,000 credits on").waitFor();
    assert.equal(await page.getByText("These are your free credits.").count(), 0);
    await inspect(page, "overview-paid");
  });

  test("an owner renames the organization", async () => {
    await open("Members");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Organization name").fill(" ");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await page.getByText("Enter a name.").waitFor();
    await inspect(page, "rename");
    await page.getByLabel("Organization name").fill("Tilmash AI");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { level: 2, name: "Tilmash AI" }).first().waitFor();
    await page.getByRole("navigation").getByText("Tilmash AI").waitFor();
    faults.splice(0);
  });

  test("an invited user joins without an owner's view", async () => {
    await open("Members");
    await page.getByRole("button", { name: "Invite" }).click();
    await inspect(page, "members-invite");
    await page.getByRole("button", { name: "Create link" }).click();
    // It is in the page a moment before its dialog opens and takes the focus.
    await page.getByLabel("Invitation link").waitFor();
    const link = await page.getByLabel("Invitation link").inputValue();
    await page.keyboard.press("Escape");
    await page.getByText("You have not copied this link.").waitFor();
    await page.getByRole("button", { name: "Close anyway" }).click();
    await inspect(page, "members");
    const other = await browser.newContext({ locale: "kk-KZ" });
    const invited = await other.newPage();
    await invited.goto(link);
    await invited.getByText("Tilmash AI ұйымына қосылу").waitFor();
    assert.ok(!invited.url().includes("#"), "the secret leaves the address");
    await inspect(invited, "join-kk");
    await invited.getByLabel("Электрондық пошта").fill("bolat@example.org");
    await invited.getByLabel("Құпиясөз").fill(PASSWORD);
    await invited.getByRole("button", { name: "Тіркелу" }).click();
    await invited.getByRole("link", { name: "Мүшелер" }).click();
    await invited.getByText("aida@example.org").waitFor();
    assert.equal(await invited.getByRole("button", { name: "Шақыру" }).count(), 0);
    await inspect(invited, "members-kk");
    for (const [link, name] of [
      ["Кредиттер", "credits-kk"],
      ["Лимиттер", "limits-kk"],
      ["Қызмет күйі", "status-kk"],
      ["bolat@example.org", "account-kk"],
    ] as const) {
      await invited.getByRole("link", { name: link, exact: true }).click();
      await invited.locator("main .skeleton").first().waitFor({ state: "hidden" });
      await inspect(invited, name, OTHER_LANGUAGE);
    }
    await page.reload();
    await page.getByText("bolat@example.org").waitFor();
    assert.deepEqual(await outOfSight(page, ".members tbody th, .members tbody td"), []);
    await page.getByRole("button", { name: "Remove: bolat@example.org" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("bolat@example.org").waitFor({ state: "hidden" });
    await invited.goto(`${service.url}/console/keys`);
    await invited.getByText("Сіз ешбір ұйымға қосылмағансыз").waitFor();
    await inspect(invited, "no-organization-kk", OTHER_LANGUAGE);
    await other.close();
  });

  test("every page works in Russian", async () => {
    await page.getByLabel("Language").selectOption("ru");
    const pages = [
      "Обзор",
      "Озвучить",
      "API-ключи",
      "Кредиты",
      "Участники",
      "Лимиты",
      "Состояние сервиса",
      "Расход",
    ];
    for (const [index, name] of pages.entries()) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.locator("main h1").waitFor();
      await page.locator("main .skeleton").first().waitFor({ state: "hidden" });
      if (name === "Озвучить") await page.getByText("низкий и ровный, неторопливый").waitFor();
      await inspect(page, `ru-${index}`, OTHER_LANGUAGE);
    }
    await page.getByLabel("Язык").selectOption("kk");
    for (const name of ["Дыбыстау", "Мәтінге айналдыру", "Тікелей тану"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("link", { name: "Модельдер туралы" }).waitFor();
      await inspect(page, `kk-${name}`, OTHER_LANGUAGE);
    }
    await page.getByLabel("Тіл").selectOption("en");
  });

  test("a user without credits learns where to get some", async () => {
    await spendEverything();
    await open("Speak");
    await page.getByRole("button", { name: "Speak" }).click();
    await page.getByText("You are out of credits").waitFor();
    await inspect(page, "out-of-credits");
    faults.splice(0);
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByText("Your credits are used up.").waitFor();
    await inspect(page, "overview-out");
  });

  test("a revoked key is rejected within 30 s", async () => {
    await open("API keys");
    await page.getByRole("button", { name: "Revoke" }).click();
    await inspect(page, "key-revoke");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Revoked").waitFor();
    await eventually("the key is refused", async () => {
      await pace(500);
      return curlSpeech().status === 401;
    });
  });

  test("a user changes the password", async () => {
    await page.getByRole("link", { name: "aida@example.org" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await page.getByLabel("Current password").fill("not my password");
    await page.getByLabel("New password").fill("a second password");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("The current password is wrong.").waitFor();
    await inspect(page, "account");
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Password changed.").waitFor();
    assert.equal(await isKept(page, "a second password"), false);
    faults.splice(0);
  });

  test("a user sees the active sessions and ends the others", async () => {
    const other = await browser.newContext({
      locale: "en-GB",
      userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    });
    const elsewhere = await other.newPage();
    await elsewhere.goto(`${service.url}/console/sign-in`);
    await elsewhere.getByText("sound@example.org").waitFor();
    await elsewhere.getByLabel("E-mail").fill("aida@example.org");
    await elsewhere.getByLabel("Password").fill("a second password");
    await elsewhere.getByRole("button", { name: "Sign in" }).click();
    await elsewhere.getByText("Your voice platform").waitFor();
    await page.reload();
    await page.getByText("Firefox, Linux").waitFor();
    assert.deepEqual(await outOfSight(page, ".sessions tbody th, .sessions tbody td:not(:empty)"), []);
    await inspect(page, "account-sessions");
    await page.getByRole("button", { name: "Sign out all others" }).click();
    await page.getByText("Firefox, Linux").waitFor({ state: "hidden" });
    await elsewhere.reload();
    await elsewhere.getByText("Sign in to Dauys").waitFor();
    await other.close();
  });

  test("a user signs out and in with the keyboard alone", async () => {
    await page.getByRole("button", { name: "Sign out" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Sign in to Dauys").waitFor();
    await inspect(page, "sign-in");
    await page.getByLabel("E-mail").focus();
    await page.keyboard.type("aida@example.org");
    await page.keyboard.press("Tab");
    await page.keyboard.type("a second password");
    await page.keyboard.press("Enter");
    await page.getByText("Your voice platform").waitFor();
  });

  test("a reset link from the operator replaces a lost password", async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Forgot your password?").waitFor();
    const made = execFileSync(
      process.execPath,
      [DAUYS, "users", "reset-password", "aida@example.org", "--url", service.url],
      { env: { ...process.env, DATA_DIR: service.dataDir }, encoding: "utf8" },
    );
    await page.goto(made.trim());
    await page.getByText("Account: aida@example.org.").waitFor();
    assert.ok(!page.url().includes("#"), "the secret leaves the address");
    await inspect(page, "reset");
    await page.getByLabel("New password").fill("a third password");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Your voice platform").waitFor();
    await page.goto("about:blank");
    await page.goto(made.trim());
    await page.getByText("This link is no longer valid").waitFor();
    await inspect(page, "reset-over");
    faults.splice(0);
  });

  test("a user deletes the account with the password", async () => {
    await page.goto(`${service.url}/console/account`);
    await page.getByRole("button", { name: "Delete account" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Password").fill("not my password");
    await dialog.getByRole("button", { name: "Delete for good" }).click();
    await page.getByText("The current password is wrong.").waitFor();
    await inspect(page, "account-delete");
    await dialog.getByLabel("Password").fill("a third password");
    await dialog.getByRole("button", { name: "Delete for good" }).click();
    await page.getByText("Sign in to Dauys").waitFor();
    await page.getByLabel("E-mail").fill("aida@example.org");
    await page.getByLabel("Password").fill("a third password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("E-mail or password is wrong.").waitFor();
    faults.splice(0);
  });
}
