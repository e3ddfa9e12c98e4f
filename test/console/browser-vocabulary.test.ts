import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { endAtFirstFailure } from "../support/chain.js";
import { CHEAP_PASSWORDS_MAIN } from "../support/cheap-passwords.js";
import { launchChromium } from "../support/chromium.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { inspect, OTHER_LANGUAGE } from "./browser-pages.js";
import { PASSWORD, PATIENCE_MS } from "./browser-speech.js";

interface Words {
  readonly hotwords: readonly string[];
  readonly pronunciations: readonly { readonly word: string; readonly say: string }[];
}

const HOT_WORDS = "One word or phrase per line";
const SAID = "One per line: word = how it sounds";
const SAVED = "Saved. New requests use it within 30 seconds.";
const UNSAVED = "Unsaved changes";

let service: ServiceProcess;
let browser: Browser;
let page: Page;
/** Of the visitor's organization. */
let key: string;
const errors: string[] = [];

endAtFirstFailure();

before(async () => {
  service = await startServiceProcess(await lightModels(), { main: CHEAP_PASSWORDS_MAIN });
  browser = await launchChromium();
  page = await newPage();
  await signUp(page, "aida@example.org", `${service.url}/console/sign-up`);
  const { organizations } = await callConsole<{ organizations: { id: string }[] }>("GET", "/session");
  const path = `/organizations/${organizations[0]?.id}`;
  key = (await callConsole<{ key: string }>("POST", `${path}/keys`, { name: "server" })).key;
});

after(async () => {
  await browser?.close();
  assert.equal(await service?.stop(), 0, service?.output());
});

async function newPage(): Promise<Page> {
  const context = await browser.newContext({ locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE_MS);
  const opened = await context.newPage();
  opened.on("pageerror", (error) => errors.push(error.message));
  return opened;
}

async function signUp(at: Page, email: string, url: string): Promise<void> {
  await at.goto(url);
  await at.getByLabel("E-mail").fill(email);
  await at.getByLabel("Password").fill(PASSWORD);
  const name = at.getByLabel("Organization name");
  if ((await name.count()) > 0) await name.fill("Tilmash");
  await at.getByRole("button", { name: "Create account" }).click();
  await at.getByText("25,000 credits").waitFor();
}

/** Calls the console's interface as its page does. */
async function callConsole<T>(method: string, path: string, body?: object): Promise<T> {
  const init = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return await page.evaluate<T>(
    `fetch("/console/api${path}", ${JSON.stringify(init)}).then((answer) => answer.json())`,
  );
}

/** Reads or replaces the words as the organization's server does. */
async function stored(words?: Words): Promise<Words> {
  const answer = await fetch(`${service.url}/v1/vocabulary`, {
    headers: { authorization: `Bearer ${key}` },
    ...(words !== undefined && { method: "PUT", body: JSON.stringify(words) }),
  });
  assert.equal(answer.status, 200);
  return (await answer.json()) as Words;
}

async function open(name: string, at = page): Promise<void> {
  await at.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await at.getByRole("heading", { level: 1, name }).waitFor();
}

async function save(): Promise<void> {
  await page.getByRole("button", { name: "Save" }).click();
}

/** Selected text of the list that has the focus; the page moves it there in the frame after the error. */
async function selected(): Promise<string> {
  await page.locator("textarea:focus").waitFor();
  return await page.evaluate<string>(
    "((box) => box.value.slice(box.selectionStart, box.selectionEnd))(document.activeElement)",
  );
}

test("the page starts empty, with the limits of the service", async () => {
  await open("Vocabulary");
  await page.getByLabel(HOT_WORDS).waitFor();
  assert.deepEqual(await page.locator(".word-list .number").allTextContents(), ["0 of 100", "0 of 100"]);
  await page.getByText("Up to 60 characters each. A number from 0 to 5 after a colon").waitFor();
  await inspect(page, "vocabulary-empty");
});

test("words are written and saved with the keyboard alone, and apply to the organization's keys", async () => {
  await page.getByLabel(HOT_WORDS).focus();
  await page.keyboard.type("айнұр\nмаңғыстау:2");
  await page.getByText(UNSAVED).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("Kaspi = каспи\nE=mc2 = и тең эм цэ екі");
  assert.deepEqual(await page.locator(".word-list .number").allTextContents(), ["2 of 100", "2 of 100"]);
  await inspect(page, "vocabulary-unsaved");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByText(SAVED).waitFor();
  assert.equal(await page.getByRole("button", { name: "Discard changes" }).count(), 0);
  assert.deepEqual(await stored(), {
    hotwords: ["айнұр", "маңғыстау:2"],
    pronunciations: [
      { word: "Kaspi", say: "каспи" },
      { word: "E=mc2", say: "и тең эм цэ екі" },
    ],
  });
  await inspect(page, "vocabulary-saved");
  await page.reload();
  await page.getByLabel(SAID).waitFor();
  assert.equal(await page.getByLabel(SAID).inputValue(), "Kaspi = каспи\nE=mc2 = и тең эм цэ екі");
});

test("an error appears at its list, with the line selected; nothing is stored", async () => {
  const before = await stored();
  for (const [label, written, line, text] of [
    [HOT_WORDS, "айнұр\nмаңғыстау:9", "маңғыстау:9", "Line 2: the weight must be a number from 0 to 5."],
    [HOT_WORDS, "айнұр\nКанал 7\nалматы", "Канал 7", "“канал 7” has the character “7”, which no"],
    [SAID, "Kaspi каспи", "Kaspi каспи", "Line 1: write the word, an equals sign, and how it sounds."],
    [SAID, "Kaspi = каспи\nGPT = !", "GPT = !", "Line 2: the right side cannot be spoken."],
  ] as const) {
    const box = page.getByLabel(label);
    await box.fill(written);
    await save();
    await page.locator(".hint.wrong").getByText(text).waitFor();
    assert.equal(await box.getAttribute("aria-invalid"), "true");
    assert.equal(await selected(), line, text);
    await page.getByRole("button", { name: "Discard changes" }).click();
    assert.equal(await page.locator(".wrong").count(), 0);
  }
  await page.getByLabel(HOT_WORDS).fill("айнұр\nКанал 7");
  await save();
  await page.locator(".hint.wrong").waitFor();
  await inspect(page, "vocabulary-wrong");
  await page.getByRole("button", { name: "Discard changes" }).click();
  assert.deepEqual(await stored(), before);
});

test("unsaved words stay while another page is open, and the browser warns before they are lost", async () => {
  await page.getByLabel(HOT_WORDS).fill("алматы");
  await open("Usage");
  await open("Vocabulary");
  await page.getByText(UNSAVED).waitFor();
  assert.equal(await page.getByLabel(HOT_WORDS).inputValue(), "алматы");
  const warned = page.waitForEvent("dialog");
  const closed = page.evaluate("location.reload()").catch(() => null);
  const dialog = await warned;
  assert.equal(dialog.type(), "beforeunload");
  await dialog.dismiss();
  await closed;
  assert.equal(await page.getByLabel(HOT_WORDS).inputValue(), "алматы");
});

test("a change by someone else is shown before it is replaced", async () => {
  await stored({ hotwords: ["астана"], pronunciations: [] });
  await save();
  await page.getByText("Someone else has changed the vocabulary").waitFor();
  assert.deepEqual((await stored()).hotwords, ["астана"]);
  await inspect(page, "vocabulary-changed");
  await page.getByRole("button", { name: "Discard changes" }).click();
  assert.equal(await page.getByLabel(HOT_WORDS).inputValue(), "астана");
  await page.getByLabel(HOT_WORDS).fill("алматы");
  await stored({ hotwords: ["шымкент"], pronunciations: [] });
  await save();
  await page.getByText("Someone else has changed the vocabulary").waitFor();
  await save();
  await page.getByText(SAVED).waitFor();
  assert.deepEqual((await stored()).hotwords, ["алматы"]);
});

test("a member edits the same words; signing out drops unsaved ones", async () => {
  const { organizations } = await callConsole<{ organizations: { id: string }[] }>("GET", "/session");
  const path = `/organizations/${organizations[0]?.id}/invitations`;
  const { path: link } = await callConsole<{ path: string }>("POST", path, { role: "member" });
  const other = await newPage();
  await signUp(other, "bolat@example.org", service.url + link);
  await open("Vocabulary", other);
  await other.getByLabel(HOT_WORDS).fill("алматы\nқарағанды");
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText(SAVED).waitFor();
  assert.deepEqual((await stored()).hotwords, ["алматы", "қарағанды"]);
  await other.getByLabel(HOT_WORDS).fill("құпия");
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.getByLabel("E-mail").fill("bolat@example.org");
  await other.getByLabel("Password").fill(PASSWORD);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.getByText("25,000 credits").waitFor();
  await open("Vocabulary", other);
  assert.equal(await other.getByLabel(HOT_WORDS).inputValue(), "алматы\nқарағанды");
  await other.context().close();
});

test("a page that cannot load its words shows an error, and Try again loads them", async () => {
  await open("Usage");
  const words = /\/v1\/vocabulary$/;
  await page.route(words, (route) => route.abort());
  await open("Vocabulary");
  // The client repeats a request that got no answer before it gives up.
  await page.getByText("The service cannot be reached.").waitFor();
  await page.unroute(words);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByLabel(HOT_WORDS).waitFor();
});

for (const { code, title, saveText, wrong, saved } of [
  {
    code: "kk",
    title: "Сөздік",
    saveText: "Сақтау",
    wrong: "«канал 7» ішіндегі «7» таңбасын",
    saved: "Сақталды.",
  },
  {
    code: "ru",
    title: "Словарь",
    saveText: "Сохранить",
    wrong: "В «канал 7» есть символ «7»",
    saved: "Сохранено.",
  },
] as const)
  test(`the vocabulary page is complete in ${code}`, async () => {
    await page.evaluate(`localStorage.setItem("dauys.language", ${JSON.stringify(code)})`);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    const [hotWords, said] = [page.locator("textarea").first(), page.locator("textarea").last()];
    await hotWords.fill("айнұр\nКанал 7");
    await page.getByRole("button", { name: saveText }).click();
    await page.locator(".hint.wrong").getByText(wrong).waitFor();
    await inspect(page, `vocabulary-wrong-${code}`, OTHER_LANGUAGE);
    await hotWords.fill("айнұр\nмаңғыстау:2");
    await said.fill(`Kaspi = каспи\nGPT = джи пи ти\n${code} = а`);
    await page.getByRole("button", { name: saveText }).click();
    await page.getByText(saved).waitFor();
    await inspect(page, `vocabulary-${code}`, OTHER_LANGUAGE);
  });

test("the pages reported no error", () => {
  assert.deepEqual(errors, []);
});
