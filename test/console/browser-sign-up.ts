import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.js";
import { copied, curlSpeech, open } from "./browser-actions.js";
import { inspect, isKept, outOfSight } from "./browser-pages.js";
import { PASSWORD } from "./browser-speech.js";
import { charges, context, faults, hosts, keepKey, key, page, service } from "./browser-visit.js";

const FIRST_LOAD_BYTES = 200_000;

/** Sign-up, empty pages, the first key. */
export function signUpCases(): void {
  test("the first load is small and comes only from this service", async (run) => {
    const network = await context.newCDPSession(page);
    await network.send("Network.enable");
    let bytes = 0;
    network.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    const startedAtMs = performance.now();
    await page.goto(`${service.url}/console/sign-up`);
    await page.getByLabel("E-mail").waitFor();
    run.diagnostic(`usable after ${Math.round(performance.now() - startedAtMs)} ms`);
    await page.waitForLoadState("networkidle");
    run.diagnostic(`first load: ${bytes} bytes`);
    assert.ok(bytes > 10_000 && bytes < FIRST_LOAD_BYTES, `${bytes} bytes`);
    assert.deepEqual([...hosts], [new URL(service.url).host]);
    await network.detach();
  });

  test("an unknown address shows an error, even when signed out", async () => {
    const answer = await page.goto(`${service.url}/console/nope`);
    assert.equal(answer?.status(), 404);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    assert.equal(await page.title(), "Page not found · Dauys");
    await inspect(page, "not-found-outside");
    faults.splice(0);
    await page.goto(`${service.url}/console/sign-up`);
    await page.getByLabel("E-mail").waitFor();
  });

  test("sign-up shows errors, then the free credits", async () => {
    await inspect(page, "sign-up");
    await page.getByLabel("E-mail").fill("aida@example.org");
    await page.getByLabel("Password").fill("short");
    const kind = () => page.getByLabel("Password").getAttribute("type");
    assert.equal(await kind(), "password");
    await page.getByRole("button", { name: "Show" }).click();
    assert.deepEqual([await kind(), await page.getByLabel("Password").inputValue()], ["text", "short"]);
    await inspect(page, "password-shown");
    await page.getByRole("button", { name: "Hide" }).click();
    assert.equal(await kind(), "password");
    await page.getByLabel("Organization name").fill("Tilmash");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("Use at least 10 characters.").waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("25,000 credits").waitFor();
    await page.getByText("These are your free credits.").waitFor();
    await page.locator("main .money", { hasText: /^(US)?\$1\.00$/ }).waitFor();
    await inspect(page, "overview");
    assert.equal((await page.goto(`${service.url}/console/nope`))?.status(), 404);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await inspect(page, "not-found");
    faults.splice(0);
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.getByRole("heading", { level: 1, name: "Your voice platform" }).waitFor();
  });

  test("limits and status show the service's values", async () => {
    await open("Limits");
    const rows = page.locator("table.limits tbody tr");
    await rows.first().waitFor();
    const shown = await rows.evaluateAll((found) =>
      found.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))),
    );
    assert.deepEqual(shown, [
      [20, 20],
      [3, 10],
      [20, 20],
    ]);
    await page.getByText("5,000 characters").waitFor();
    await inspect(page, "limits");
    await page.getByRole("link", { name: "Status" }).click();
    await page.getByText("The service is accepting requests.").waitFor();
    // The tests' setup has synthesized speech; the other engines load with their first work.
    const states = await page.locator(".state-of strong").allTextContents();
    assert.deepEqual(states, ["Warm", ...Array.from({ length: 5 }, () => "Cold"), "Broken"]);
    await inspect(page, "status");
  });

  test("empty pages say that there is nothing yet", async () => {
    await open("Usage");
    await page.getByText("No usage yet").waitFor();
    await inspect(page, "usage-empty");
    await open("API keys");
    await page.getByText("No keys yet").waitFor();
    await inspect(page, "keys-empty");
  });

  test("a key is shown once, to be copied, and works with curl", async () => {
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("Call center");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const created = await page.getByRole("dialog").getByLabel("Key", { exact: true }).inputValue();
    keepKey(created);
    assert.match(key, /^sk-svc-[0-9a-f]{48}$/);
    // A screenshot contains the key, but the test's service is deleted within a minute.
    await inspect(page, "key-created");
    for (let press = 0; press < 3; press++) await page.keyboard.press("Escape");
    await page.getByText("You have not copied this key.").waitFor();
    await inspect(page, "key-uncopied");
    await page.keyboard.press("Enter");
    await page.getByText("You have not copied this key.").waitFor({ state: "hidden" });
    assert.equal(await copied(page.getByRole("dialog")), key);
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByText(`${key.slice(0, 11)}…${key.slice(-4)}`).waitFor();
    assert.equal(await isKept(page, key), false);
    const { status, requestId } = curlSpeech();
    assert.equal(status, 200);
    // 2 credits for 5 characters.
    charges.push({ requestId, credits: 3 });
    await page.reload();
    await page.getByText("Call center").waitFor();
    assert.deepEqual(await outOfSight(page, ".data .c-act button, .data th, .data td .below"), []);
    await inspect(page, "keys");
  });

  test("Try again reloads the playground's code after a failure", async () => {
    const fetched = `performance.getEntriesByType("resource").some(({ name }) => name.includes("/playground-"))`;
    assert.equal(await page.evaluate(fetched), false);
    await page.route(/\/playground-/, (route) => route.abort(), { times: 1 });
    await page.getByRole("navigation").getByRole("link", { name: "Speak", exact: true }).click();
    await page.getByText("The service cannot be reached.").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { level: 1, name: "Speak" }).waitFor();
    // The browser lists a resource a moment after its code has run.
    await eventually("the code is listed", () => page.evaluate<boolean>(fetched));
    faults.splice(0);
  });

  test("the page of a part served elsewhere says so and is not in the menu", async () => {
    const session = /\/console\/api\/session$/;
    await page.route(session, async (route) => {
      const response = await route.fetch();
      const known = await response.json();
      assert.deepEqual(known.serve, ["synthesis", "transcription", "live"]);
      await route.fulfill({ response, json: { ...known, serve: ["synthesis", "transcription"] } });
    });
    await page.goto(`${service.url}/console/listen`);
    await page.getByText("Available here: Speak, Transcribe, Jobs.").waitFor();
    const menu = page.getByRole("navigation").getByRole("link");
    assert.deepEqual((await menu.allTextContents()).slice(0, 4), ["Overview", "Speak", "Transcribe", "Jobs"]);
    assert.equal(await menu.filter({ hasText: "Listen" }).count(), 0);
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.locator(".tile").first().waitFor();
    assert.equal(await page.locator(".tile").count(), 3);
    await page.unroute(session);
    await page.reload();
    await page.locator(".tile").nth(3).waitFor();
  });
}
