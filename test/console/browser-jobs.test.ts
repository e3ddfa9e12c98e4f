import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { spokenBy } from "../../bench/support/marked-speakers.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { speech } from "../support/audio.js";
import { endAtFirstFailure } from "../support/chain.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { inspect, OTHER_LANGUAGE } from "./browser-pages.js";
import { launchConsoleBrowser, PASSWORD, PATIENCE_MS, spokenWav } from "./browser-speech.js";

const RECORDINGS = 50;
const RATE_HZ = 8_000;

const folder = mkdtempSync(join(tmpdir(), "dauys-jobs-"));
const recordings = join(folder, "recordings");
let service: ServiceProcess;
let browser: Browser;
let page: Page;

endAtFirstFailure();

before(async () => {
  const models = await lightModels();
  cpSync("test/fixtures/adapters/tiny-pyannote", join(models.MODELS_DIR, "tiny-pyannote"), {
    recursive: true,
  });
  const settings = { DATA_DIR: join(folder, "data"), JOBS_AT_ONCE: "2", ...models };
  service = await startServiceProcess(settings);
  mkdirSync(recordings);
  const speech = join(folder, "speech.wav");
  writeFileSync(speech, await spokenWav(service));
  for (let nth = 1; nth <= RECORDINGS; nth++) {
    const name = join(recordings, `Совещание ${String(nth).padStart(2, "0")}.wav`);
    // Each lasts a second or more, and no two are alike. Only the first two contain speech.
    if (nth > 2) writeFileSync(name, writeWav(new Int16Array(RATE_HZ + nth), RATE_HZ));
    else writeFileSync(name, readFileSync(speech));
  }
  writeFileSync(join(recordings, "notes.txt"), "not a recording");
  browser = await launchConsoleBrowser(speech);
  const context = await browser.newContext({ locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE_MS);
  page = await context.newPage();
  await page.goto(`${service.url}/console/sign-up`);
  await page.getByLabel("E-mail").fill("aida@example.org");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("Organization name").fill("Tilmash");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("25,000 credits").waitFor();
});

after(async () => {
  await browser?.close();
  assert.equal(await service?.stop(), 0, service?.output());
  rmSync(folder, { recursive: true, force: true });
});

function rows(): Locator {
  return page.locator("table.jobs tbody tr");
}

async function saved(name: string, place: Page | Locator = page): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    place.getByRole("button", { name, exact: true }).click(),
  ]);
  return readFileSync(await download.path(), "utf8");
}

/** Watches the bar of the uploads. The returned function returns the shares that it has shown. */
async function collectShares(): Promise<() => Promise<readonly number[]>> {
  await page.evaluate(`(() => {
    globalThis.shares = [];
    new MutationObserver(() => {
      const bar = document.querySelector(".working progress");
      if (bar !== null) shares.push(bar.position);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  })()`);
  return () => page.evaluate<readonly number[]>("shares");
}

test("a folder of 50 recordings is uploaded, transcribed, and saved in four formats", async () => {
  await page.getByRole("navigation").getByRole("link", { name: "Jobs", exact: true }).click();
  await page.getByText("Drop recordings or a folder here").waitFor();
  await inspect(page, "jobs-empty");
  const shares = await collectShares();
  await page.locator('input[type="file"]').nth(1).setInputFiles(recordings);
  await page.getByText("Keep this page open until the upload is complete.").waitFor();
  await inspect(page, "jobs-upload");
  await page.getByText("Keep this page open until the upload is complete.").waitFor({ state: "detached" });
  const uploaded = await shares();
  assert.deepEqual(
    uploaded.toSorted((a, b) => a - b),
    uploaded,
    "the progress of all uploads only grows",
  );
  assert.ok(uploaded.at(-1)! > 0.9, `${uploaded}`);
  await page.locator("table.jobs .job-state.good").nth(3).waitFor();
  await inspect(page, "jobs");
  await page
    .locator("table.jobs .job-state.good")
    .nth(RECORDINGS - 1)
    .waitFor();
  assert.equal(await rows().count(), RECORDINGS, "notes.txt is left out");
  await page.getByText(`Done: ${RECORDINGS}`, { exact: true }).waitFor();
  const text = await saved("Download txt: Совещание 01.wav");
  assert.match(text, /^\p{Lu}/u, "the readable text");
  assert.match(await saved("Download srt: Совещание 01.wav"), /^1\n00:00:0\d,\d{3} --> /);
  assert.match(await saved("Download vtt: Совещание 01.wav"), /^WEBVTT\n/);
  const json = JSON.parse(await saved("Download json: Совещание 02.wav"));
  assert.equal(`${json.display_text}\n`, text);
  assert.ok(json.words.length > 3);
});

test("a job is deleted with its row, and a file that is not audio says why it failed", async () => {
  await page.getByRole("button", { name: "Delete: Совещание 50.wav" }).click();
  await page.getByText("Совещание 50.wav").waitFor({ state: "detached" });
  const broken = { name: "broken.mp3", mimeType: "audio/mpeg", buffer: Buffer.alloc(4_000, 7) };
  await page.locator('input[type="file"]').first().setInputFiles(broken);
  const row = rows().filter({ hasText: "broken.mp3" });
  await row.getByText("Failed").waitFor();
  assert.doesNotMatch(await row.innerText(), /job_[0-9a-f]{32}/, "the reason is a sentence");
  await inspect(page, "jobs-failed");
});

/** Two speakers: one speaks before and after the other. */
function talk(): Uint8Array {
  const rateHz = 16_000;
  const pcm = speech("kazakh-speech-commands/example_1.flac", rateHz);
  return writeWav(spokenBy([0, 2, 0].map((speaker) => ({ pcm, speaker }))), rateHz);
}

test("speakers are told apart in the files of a job and on the page of a transcript, in each language", async () => {
  const path = join(folder, "talk.wav");
  writeFileSync(path, talk());
  await page.getByLabel("Tell speakers apart").check();
  await page.locator('input[type="file"]').first().setInputFiles(path);
  await rows().filter({ hasText: "talk.wav" }).locator(".job-state.good").waitFor();
  const lines = /^Speaker 1: .+\nSpeaker 2: .+\nSpeaker 1: .+\n?$/;
  assert.match(await saved("Download txt: talk.wav"), lines);
  await page.getByRole("navigation").getByRole("link", { name: "Transcribe", exact: true }).click();
  await page.getByLabel("Tell speakers apart").check();
  await inspect(page, "transcribe-speakers-option");
  await page.locator('input[type="file"]').first().setInputFiles(path);
  await page.locator(".speaker").nth(2).waitFor();
  await inspect(page, "transcribe-speakers");
  assert.match(await saved("Download txt", page.locator(".transcript")), lines);
  for (const [code, names] of [
    ["kk", ["1-сөйлеуші", "2-сөйлеуші", "1-сөйлеуші"]],
    ["ru", ["Говорящий 1", "Говорящий 2", "Говорящий 1"]],
    ["en", ["Speaker 1", "Speaker 2", "Speaker 1"]],
  ] as const) {
    await page.locator("select", { has: page.locator('option[value="kk"]') }).selectOption(code);
    await page.locator(".speaker", { hasText: names[0] }).first().waitFor();
    assert.deepEqual(await page.locator(".speaker").allInnerTexts(), names);
  }
  await page.getByRole("navigation").getByRole("link", { name: "Jobs", exact: true }).click();
});

for (const [code, title] of [
  ["kk", "Тапсырмалар"],
  ["ru", "Задания"],
] as const)
  test(`the jobs page is complete in ${code}`, async () => {
    await page.evaluate(`localStorage.setItem("dauys.language", ${JSON.stringify(code)})`);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await rows().first().waitFor();
    await inspect(page, `jobs-${code}`, OTHER_LANGUAGE);
  });
