import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { dauys } from "../cli/support.js";
import { CHEAP_PASSWORDS_MAIN } from "../support/cheap-passwords.js";
import { launchChromium } from "../support/chromium.js";
import { temporaryFolder } from "../support/folders.js";
import { readableExamples } from "../support/readable-examples.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { PASSWORD, PATIENCE_MS } from "./browser-speech.js";

let service: ServiceProcess;
let browser: Browser;
let page: Page;
let sound: string;

before(async () => {
  sound = join(await temporaryFolder(), "a.wav");
  service = await startServiceProcess({}, { main: CHEAP_PASSWORDS_MAIN });
  browser = await launchChromium();
  page = await browser.newPage({ locale: "en-GB" });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`${service.url}/console/sign-up`);
  await page.getByLabel("E-mail").fill("aida@example.org");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("Organization name").fill("Tilmash");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("25,000 credits").waitFor();
});
after(async () => {
  await browser?.close();
  assert.equal(await service.stop(), 0, service.output());
});

/** Saves the transcript as a file from the page. */
async function saved(ending: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page
      .locator(".transcript")
      .getByRole("button", { name: `Download ${ending}` })
      .click(),
  ]);
  return readFileSync(await download.path(), "utf8")
    .replaceAll("\u00a0", " ")
    .trim();
}

for (const steps of readableExamples()) {
  const [first] = steps;
  // The page does not offer a choice of numerals, so examples that have one are compared with the default.
  const withDefault = steps.filter(({ args }) => args[0] === "transcribe" && !args.includes("--numerals"));
  test(`the console shows and saves the texts of ${first!.args[1]}`, async () => {
    const isSpoken = first!.args[0] === "speak";
    if (isSpoken) {
      const args = first!.args.map((arg) => (arg === "a.wav" ? sound : arg));
      const env = { DATA_DIR: service.dataDir, DAUYS_API_KEY: service.key };
      assert.equal((await dauys(args, { env })).code, 0);
    }
    await page.goto(`${service.url}/console/transcribe`);
    await page.locator("input[type=file]").setInputFiles(isSpoken ? sound : first!.args[1]!);
    await page.locator(".words span").first().waitFor();
    for (const { args, output } of withDefault) {
      const isPlain = args.includes("--plain");
      await page.getByRole("button", { name: isPlain ? "As spoken" : "Readable", exact: true }).click();
      if (args.includes("--srt")) assert.equal(await saved("srt"), output);
      else {
        const shown = await page.locator(".words .paragraph p").allInnerTexts();
        assert.equal(shown.join(" ").replaceAll("\u00a0", " "), output);
        assert.equal(await saved("txt"), output);
      }
    }
  });
}
