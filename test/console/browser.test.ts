import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Locator, Page, Response } from "playwright-core";
import { errorRates } from "../../core/domain/text/error-rate.js";
import { SYNTHESIS_TARIFF } from "../../core/domain/usage/tariff.js";
import { openStore } from "../../src/store/store.js";
import { privateStore } from "../store/support.js";
import { endAtFirstFailure } from "../support/chain.js";
import { CHEAP_PASSWORDS_MAIN } from "../support/cheap-passwords.js";
import { eventually } from "../support/eventually.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER } from "../support/folders.js";
import { pace } from "../support/pace.js";
import { fileCredits } from "../support/prices.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";
import { inspect, isKept, OTHER_LANGUAGE, outOfSight } from "./browser-pages.js";
import {
  collectTexts,
  heardText,
  launchConsoleBrowser,
  PASSWORD,
  PATIENCE_MS,
  SPOKEN,
  spokenWav,
  wordsOf,
} from "./browser-speech.js";

const DAUYS = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
/** Tolerance for the service's own errors on clean speech, and for the browser's audio processing. */
const MAX_CHARACTER_ERROR_RATE = 0.15;
const FIRST_LOAD_BYTES = 200_000;
/** Slow enough to see the upload's progress even on a busy machine. After 20 s the limit is lifted. */
const SLOW_UPLOAD_BYTES_PER_S = 20_000;
/**
 * Share of the words that even a busy machine marks while they play. Short words may fall between two frames.
 */
const SHOWN_WORDS = 0.5;
const MOST_PLAYS = 6;
const SLIDER_STEPS = 100;

/** The shipped models, and tiny models of two public families. */
const INSTALLED = [
  RECOGNIZER_FOLDER,
  SYNTHESIZER_FOLDER,
  "test/fixtures/adapters/tiny-gigaam-ctc",
  "test/fixtures/adapters/tiny-matcha",
];

/** Operator settings that the pages show. */
const SHOWN_SETTINGS = {
  CREDIT_PRICE: "1/25000 USD",
  OPERATOR_CONTACT: "sound@example.org",
  FREE_FILES_PER_ORG: "3",
};

interface Charge {
  readonly requestId: string;
  readonly credits: number | null;
}

const folder = mkdtempSync(join(tmpdir(), "dauys-console-"));
const speech = join(folder, "speech.wav");
const models = mkdtempSync(join(tmpdir(), "dauys-models-"));
const faults: string[] = [];
/** Charged requests, as their responses reported them. */
const charges: Charge[] = [];
/** IDs of all requests and live sessions, both of the page and of these tests. */
const asked = new Set<string>();
/** Every host from which a page has requested anything. */
const hosts = new Set<string>();
/** Server of another site, which has the recording. */
let elsewhere: Server;
let recordingUrl = "";
let service: ServiceProcess;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let key = "";

before(async () => {
  for (const path of INSTALLED) symlinkSync(resolve(path), join(models, basename(path)));
  mkdirSync(join(models, "damaged"));
  writeFileSync(join(models, "damaged", "manifest.json"), "{");
  const settings = {
    URL_FETCH_ALLOW: "127.0.0.0/8",
    LOG_LEVEL: "debug",
    MODELS_DIR: models,
    ...SHOWN_SETTINGS,
  };
  service = await startServiceProcess(settings, { main: CHEAP_PASSWORDS_MAIN });
  const wav = await spokenWav(service);
  writeFileSync(speech, wav);
  elsewhere = createServer(({ url }, response) => {
    response.writeHead(url === "/speech.wav" ? 200 : 404).end(url === "/speech.wav" ? wav : "");
  });
  await once(elsewhere.listen(0, "127.0.0.1"), "listening");
  const address = elsewhere.address();
  recordingUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/speech.wav`;
  browser = await launchConsoleBrowser(speech);
  context = await browser.newContext({ locale: "en-GB", permissions: ["clipboard-read", "clipboard-write"] });
  context.setDefaultTimeout(PATIENCE_MS);
  page = await context.newPage();
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    // `blob:` URLs are the page's own data.
    if (protocol !== "blob:") hosts.add(host);
  });
  page.on("response", (response) => asked.add(response.headers()["x-request-id"] ?? ""));
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) =>
      asked.add(/"session_id":"([^"]+)"/.exec(String(payload))?.[1] ?? ""),
    ),
  );
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
});

after(async () => {
  await browser?.close();
  elsewhere?.close();
  for (const made of [folder, models]) rmSync(made, { recursive: true, force: true });
  assert.equal(await service.stop(), 0, service.output());
});

describe("the console in a browser", () => {
  endAtFirstFailure();

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
    // The setup of the tests has synthesized speech. The other engines load with their first work.
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
    key = await page.getByRole("dialog").getByLabel("Key", { exact: true }).inputValue();
    assert.match(key, /^sk-svc-[0-9a-f]{48}$/);
    // The screenshot contains the key, but the test's service is deleted within a minute.
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

  test("the page of a part that another service serves states this and is not in the menu", async () => {
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

  test("speak plays a text, highlights each word, and saves the same audio", async () => {
    await open("Speak");
    await assertModelNote("trained on a synthesizer");
    await chooseVoice();
    await writeSpeechOptions();
    await page.getByLabel("Text", { exact: true }).fill(SPOKEN);
    // The price arrives separately from the voices.
    await page.locator(".cost", { hasText: /^33 credits \$0\.00132$/ }).waitFor();
    await inspect(page, "speak-options");
    const marked = await collectTexts(page, ".spoken mark", ".spoken");
    const answered = page.waitForResponse((response) => response.url().includes("/v1/tts/stream"));
    await page.getByRole("button", { name: "Speak" }).click();
    const answer = await answered;
    assert.equal(answer.status(), 200);
    const { voice, nfe, seed, pronunciations } = answer.request().postDataJSON();
    assert.deepEqual(
      { voice, nfe, seed, pronunciations },
      { voice: "dauren", nfe: 16, seed: 7, pronunciations: [{ word: "Kaspi", say: "каспи" }] },
    );
    charges.push({
      requestId: answer.headers()["x-request-id"] ?? "",
      credits: Math.ceil(([...SPOKEN].length * 2) / 5),
    });
    await page.getByText("First audio after").waitFor();
    await untilEnd();
    const { texts, heights } = await marked();
    assertInOrder(texts, SPOKEN.split(" "));
    assert.ok(texts.length > 0, "words are marked as they are spoken");
    for (const [width, found] of Object.entries(heights)) {
      assert.equal(found.length, 1, `the text keeps its place: ${found.join(" ")} px high at ${width} px`);
    }
    assert.equal(await page.locator(".spoken mark").count(), 0, "nothing is marked after the end");
    const { length, times } = await sliderState();
    assert.ok(length > 3, `${length} s`);
    const [current = "", total] = times.split(" / ");
    assert.match(current, /^0:0\d$/);
    assert.equal(current, total);
    await pauseAtWord();
    await inspect(page, "speak-word");
    assert.deepEqual((await wordsBySeeking()).map(wordsOf), SPOKEN.split(" ").map(wordsOf));
    await page.locator(".player").getByRole("button", { name: "Play" }).click();
    await untilEnd();
    await assertSamples("curl", "/v1/tts");
    await assertSamples("TypeScript", "dauys.speakStream(");
    await assertSamples("Python", "json.dumps(body)");
    const path = await downloaded(page.getByRole("button", { name: "Download WAV", exact: true }));
    assert.equal(await copied(page.locator(".history li")), SPOKEN);
    assert.deepEqual(
      readFileSync(await downloaded(page.locator(".history").getByRole("button", { name: "Download wav" }))),
      readFileSync(path),
      "the list of results keeps the audio",
    );
    await playSound(page.locator(".history .sound"));
    const { body, requestId } = transcribe(readFileSync(path));
    assertSame((await body).text);
    charges.push({ requestId: await requestId, credits: (await body).credits_charged });
    assert.equal(await isKept(page, "sk-svc-"), false, "the page holds its own key in memory only");
    await inspect(page, "speak");
    await page.getByRole("button", { name: "Clear" }).click();
    assert.equal(await page.locator(".history").count(), 0);
  });

  test("transcribe accepts a file, searches its words, and saves subtitles", async () => {
    await open("Transcribe");
    await page.getByText("Drop a recording here").waitFor();
    await assertModelNote("It understands people poorly: 19 to 63 %");
    await page.getByText("A minute costs 150 credits. $0.006").waitFor();
    await inspect(page, "transcribe-empty");
    await page.setViewportSize({ width: 390, height: 844 });
    const addressBox = await page.getByLabel("Or paste a public link").boundingBox();
    assert.ok(Number(addressBox?.width) > 340, `the address has ${addressBox?.width} of 390 px`);
    await page.setViewportSize({ width: 1_280, height: 860 });
    await page.getByText("More options").click();
    await page.getByLabel("Hot words").fill("кітапхана, таңертең:2");
    const network = await context.newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: -1 };
    await network.send("Network.emulateNetworkConditions", {
      ...slow,
      uploadThroughput: SLOW_UPLOAD_BYTES_PER_S,
    });
    const answered = page.waitForResponse((response) => response.url().includes("/v1/transcribe"));
    await dropFile(speech);
    await page.getByText(/^Uploading… \d+%$/).waitFor();
    await page.getByText(/^0(\.\d+)? of 0\.\d+ MB$/).waitFor();
    await inspect(page, "transcribe-upload");
    await network.send("Network.emulateNetworkConditions", { ...slow, uploadThroughput: -1 });
    await network.detach();
    const answer = await answered;
    assert.equal(new URL(answer.url()).searchParams.get("hotwords"), "кітапхана,таңертең:2");
    charges.push(chargeOf(answer));
    // The response headers arrive with the first event.
    await page.locator(".words span").first().waitFor();
    assertSame((await page.locator(".words span").allTextContents()).join(" "));
    const paragraphs = (await page.evaluate(`[...document.querySelectorAll(".words .paragraph")].map(
      (one) => [one.querySelector("button").textContent, one.querySelector("p").innerText],
    )`)) as [string, string][];
    assert.match(paragraphs[0]?.[0] ?? "", /^0:0[0-2]$/, "a paragraph has its start time");
    const text = paragraphs.map(([, told]) => told).join(" ");
    assert.doesNotMatch(text, /\s\s/);
    assert.equal(await copied(page.locator(".transcript")), text);
    assert.match(text, READABLE);
    await page.getByRole("button", { name: /^Play: 0:0\d$/ }).click();
    await page.locator(".words .now").waitFor();
    await page.evaluate('document.querySelector("audio").pause()');
    await playAlong();
    await page.getByLabel("Search the text").fill("кітап");
    await page.getByText("1 found").waitFor();
    await inspect(page, "transcribe");
    const saved = (ending: string) => savedText(page.locator(".transcript"), ending);
    assertSame(await saved("txt"));
    assert.match(await saved("srt"), /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
    assert.match(await saved("vtt"), /^WEBVTT\n\n00:00:0\d\.\d{3} --> /);
    const readable = await saved("srt");
    const json = JSON.parse(await saved("json"));
    assert.equal(await saved("txt"), json.display_text);
    await choose("As spoken");
    assert.equal((await page.locator(".words span").allTextContents()).join(" "), json.text);
    assert.equal(await page.getByText("1 found").count(), 1, "the search remains");
    await inspect(page, "transcribe-spoken");
    assert.equal(await copied(page.locator(".transcript")), json.text);
    assert.equal(await saved("txt"), json.text);
    assert.equal(wordsOf(subtitleText(readable)), json.text);
    assert.equal(subtitleText(await saved("srt")), json.text);
    assert.equal(await page.locator(".history .excerpt").first().textContent(), json.text);
    await choose("Readable");
    assert.equal(json.request_id, charges.at(-1)?.requestId);
    assert.ok(json.words.length > 5);
    await assertSamples("curl", "--data-binary '@speech.wav'");
    await assertSamples("curl", "display=true");
    await assertSamples("TypeScript", "dauys.transcribe(");
    await assertSamples("Python", 'open("speech.wav", "rb")');
    await page.getByRole("button", { name: "Transcribe another" }).click();
    await page.locator(".history").getByRole("button", { name: "Open" }).click();
    await page.locator(".words span").first().waitFor();
  });

  test("transcribe accepts a link without loading it, and plays a file that the user chooses", async () => {
    await page.getByRole("button", { name: "Transcribe another" }).click();
    await page.getByLabel("Or paste a public link").fill(recordingUrl.replace("speech", "none"));
    await page.getByRole("main").getByRole("button", { name: "Transcribe" }).click();
    await page.getByText("The recording could not be downloaded.").waitFor();
    faults.splice(0);
    await page.getByLabel("Or paste a public link").fill(recordingUrl);
    const answered = page.waitForResponse((response) => response.url().includes("/v1/transcribe"));
    await page.getByRole("main").getByRole("button", { name: "Transcribe" }).click();
    charges.push(chargeOf(await answered));
    await page.locator(".words span").first().waitFor();
    assertSame((await page.locator(".words span").allTextContents()).join(" "));
    await assertSamples("curl", encodeURIComponent(recordingUrl));
    await page.getByText("This page does not play audio from other sites.").waitFor();
    assert.equal(await page.locator("audio").count(), 0);
    assert.equal(await page.getByRole("link", { name: "Open the link" }).getAttribute("href"), recordingUrl);
    await inspect(page, "transcribe-address");
    await page.getByLabel("Choose the file").setInputFiles(speech);
    await playAlong();
    assert.ok(!hosts.has(new URL(recordingUrl).host), "the page itself requests nothing from other hosts");
  });

  test("transcribe says what is wrong with an unreadable file", async () => {
    await page.getByRole("button", { name: "Transcribe another" }).click();
    const noise = { name: "noise.mp3", mimeType: "audio/mpeg", buffer: Buffer.alloc(5_000, 7) };
    await page.locator("input[type=file]").setInputFiles(noise);
    await page.getByText("The file is damaged or its audio cannot be read.").waitFor();
    await inspect(page, "transcribe-error");
    await page.getByText("More options").click();
    await page.getByLabel("Hot words").fill("кітап★");
    await page.locator("input[type=file]").setInputFiles(speech);
    await page.getByText("hotwords must be written in the model's letters").waitFor();
    faults.splice(0);
  });

  test("listen shows the transcript, its latency and its cost", async (run) => {
    await open("Listen");
    await assertModelNote("It understands people poorly: 19 to 63 %");
    const sentences = await page.locator("main p:visible").allTextContents();
    assert.deepEqual(sentences, [...new Set(sentences)], "no sentence appears twice");
    assert.ok(!sentences.join(" ").includes("black"), "no text names a colour of one theme");
    await page.getByText("A minute costs 360 credits. $0.0144").waitFor();
    await inspect(page, "listen-empty");
    // Partials are replaced quickly and the voice pauses, so record both as they appear.
    await page.evaluate(`(() => {
      Object.assign(globalThis, { partialColour: null, loudest: 0 });
      new MutationObserver(() => {
        const partial = document.querySelector(".heard .partial");
        if (partial !== null) partialColour = getComputedStyle(partial).color;
        loudest = Math.max(loudest, document.querySelector("meter")?.value ?? 0);
      }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    })()`);
    await page.getByRole("button", { name: "Start listening" }).click();
    await page.locator(".heard .final").nth(1).waitFor();
    const [partialColour, level] = (await page.evaluate("[partialColour, loudest]")) as [
      string | null,
      number,
    ];
    assert.ok(level > 0, "the level follows the voice");
    assert.ok(partialColour, "no partials");
    const finalColour = await page.evaluate(
      'getComputedStyle(document.querySelector(".heard .final")).color',
    );
    assert.notEqual(partialColour, finalColour, "partials look different from finals");
    await inspect(page, "listen");
    assertSame(await heardText(page));
    const latencyMs = await page.locator("[data-latency]").getAttribute("data-latency");
    run.diagnostic(`end of speech to final: ${latencyMs} ms`);
    const ended = (await page.getByText(/^Ended: /).textContent()) ?? "";
    const sessionId = (await page.locator(".live-session p.mono").textContent()) ?? "";
    const credits = Number(/([\d,]+) credits/.exec(ended)?.[1]?.replace(",", ""));
    charges.push({ requestId: sessionId, credits });
    const heard = (await page.locator(".heard .final").allTextContents()).join("\n");
    const live = page.locator(".live-session");
    assert.match(heard.replaceAll("\n", " "), READABLE);
    assert.equal(await copied(live), heard);
    assert.equal(await savedText(live, "txt"), heard);
    assert.match(await savedText(live, "srt"), /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
    assert.match(await savedText(live, "vtt"), /^WEBVTT\n\n00:00:0\d\.\d{3} --> /);
    await choose("As spoken");
    const spoken = (await page.locator(".heard .final").allTextContents()).join("\n");
    assert.equal(spoken.replaceAll("\n", " "), wordsOf(heard).replaceAll("\n", " "));
    assert.equal(await savedText(live, "txt"), spoken);
    await inspect(page, "listen-spoken");
    await choose("Readable");
    await open("Speak");
    await open("Listen");
    assert.equal(await copied(page.locator(".history li")), heard, "results survive a visit to another page");
    await playSound(page.locator(".history .sound"));
    await inspect(page, "listen-history");
  });

  test("each page offers all models of its task and shows which one answered", async () => {
    const model = page.getByLabel("Model", { exact: true });
    await open("Speak");
    await model.waitFor();
    assert.deepEqual(await model.locator("option").allTextContents(), [
      "svc-kk-v1 (kk) · default",
      "tiny-matcha (kk)",
    ]);
    await model.selectOption("tiny-matcha");
    await page.getByRole("radio", { name: "First" }).waitFor();
    assert.equal(await page.getByRole("radio", { name: "First" }).isChecked(), true);
    await assertSamples("curl", '"model":"tiny-matcha"');
    const best = page.getByRole("button", { name: "Best" });
    assert.equal(await best.count(), 0, "it has no solver steps to choose");
    await inspect(page, "speak-model");
    await page.getByLabel("Text", { exact: true }).fill("Сәлем!");
    const spoken = page.waitForResponse((response) => response.url().includes("/v1/tts/stream"));
    await page.getByRole("button", { name: "Speak" }).click();
    const { model: asked, nfe } = (await spoken).request().postDataJSON();
    assert.deepEqual({ asked, nfe }, { asked: "tiny-matcha", nfe: undefined });
    charges.push({ requestId: (await spoken).headers()["x-request-id"] ?? "", credits: 3 });
    await page.locator(".player .answered", { hasText: "tiny-matcha" }).waitFor();
    await page.locator(".history li .number", { hasText: "· tiny-matcha" }).waitFor();
    await open("Transcribe");
    await model.selectOption("tiny-gigaam-ctc");
    const answered = page.waitForResponse((response) => response.url().includes("/v1/transcribe"));
    await page.locator("input[type=file]").first().setInputFiles(speech);
    charges.push(chargeOf(await answered));
    await page.locator(".transcript .answered", { hasText: "tiny-gigaam-ctc" }).waitFor();
    await assertSamples("TypeScript", '"model":"tiny-gigaam-ctc"');
    await page.reload();
    await open("Listen");
    assert.equal(await model.inputValue(), "tiny-gigaam-ctc", "it transcribes live too");
    await assertSamples("Python", "/v1/stream?model=tiny-gigaam-ctc");
    await open("Speak");
    assert.equal(await model.inputValue(), "tiny-matcha");
    await model.selectOption("svc-kk-v1");
    await page.getByRole("radio", { name: "Aigul" }).waitFor();
    assert.equal(await best.count(), 1);
    await open("Transcribe");
    await model.selectOption("svc-kk-ru-v2");
    await page.getByRole("link", { name: "Status" }).click();
    await page.locator(".models div").nth(3).waitFor();
    const installed = await page.locator(".models dt").allInnerTexts();
    assert.deepEqual(
      installed.map((line) => line.split(/\s+/).join(" ")),
      ["svc-kk-ru-v2 kk, ru default", "svc-kk-v1 kk default", "tiny-gigaam-ctc ru", "tiny-matcha kk"],
    );
    await page.locator(".engines li", { hasText: "damaged" }).getByText("Broken").waitFor();
    await inspect(page, "status-models");
  });

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
    // The field is in the page a moment before its dialog opens and takes the focus.
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

  test("the browser reported no error; the service's log contains no key", () => {
    assert.deepEqual(faults, []);
    assert.ok(charges.length >= 5, "charges were compared");
    assert.match(service.output(), /playground-key/, "the log has requests");
    // The service prints the development key at startup, in the operator's terminal.
    assert.ok(!service.output().replaceAll(service.key, "").includes("sk-svc-"));
    assert.deepEqual([...hosts], [new URL(service.url).host]);
  });
});

interface Transcript {
  readonly text: string;
  readonly credits_charged: number;
}

/** Charges the test's organization its whole balance, as work would. */
async function spendEverything(): Promise<void> {
  const session = "fetch('/console/api/session').then((answer) => answer.json())";
  const { organizations } = (await page.evaluate(session)) as { organizations: { id: string }[] };
  const organizationId = organizations[0]?.id ?? "";
  const store = await openStore(privateStore(service.dataDir), SILENT, { purpose: "command" });
  try {
    const { available } = await store.console.reports.credits(organizationId);
    const quantity = { units: Math.floor((available * 5) / 2), unitsPerSecond: 1 };
    const hold = { id: "req_everything", organizationId, serviceId: "svc_test", kind: "synthesis" } as const;
    await store.changes.open({ ...hold, quantity, tariff: SYNTHESIS_TARIFF });
    await store.holds.post(hold.id, quantity.units, "settled");
  } finally {
    await store.close();
  }
}

/**
 * Returns the charge for transcribing `speech`. The browser does not keep the last event, which reports it.
 */
function chargeOf(answer: Response): Charge {
  const samples = (statSync(speech).size - 44) / 2;
  return { requestId: answer.headers()["x-request-id"] ?? "", credits: fileCredits(samples, 24_000) };
}

/** Drops a file on the page, as a mouse does. */
async function dropFile(path: string): Promise<void> {
  const base64 = readFileSync(path).toString("base64");
  await page.evaluate(`(() => {
    const bytes = Uint8Array.from(atob("${base64}"), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "speech.wav", { type: "audio/wav" }));
    const zone = document.querySelector(".drop");
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  })()`);
}

/**
 * Plays the recording and checks that its words are highlighted in order. Repeats it more slowly if a busy
 * machine highlighted only a few.
 */
async function playAlong(): Promise<void> {
  const words = await page.locator(".words span").allTextContents();
  for (let plays = 1; ; plays++) {
    const shown = await collectTexts(page, ".words .now", ".words");
    await page.evaluate(`new Promise((settle) => {
      const audio = document.querySelector("audio");
      audio.addEventListener("ended", settle, { once: true });
      audio.playbackRate = ${1 / plays};
      void audio.play();
    })`);
    const { texts } = await shown();
    // The last word stays marked until the first one is marked again.
    const ofThisPlay = plays > 1 && texts[0] === words.at(-1) ? texts.slice(1) : texts;
    assertInOrder(ofThisPlay, words);
    if (ofThisPlay.length >= words.length * SHOWN_WORDS) return;
    assert.ok(plays < MOST_PLAYS, `${ofThisPlay.length} of ${words.length} words`);
  }
}

/** Returns the position of the speech's slider in seconds, and the text next to it. */
async function sliderState(): Promise<{ position: number; length: number; times: string }> {
  const [position, length, times] = (await page.evaluate(`[
    Number(document.querySelector(".seek input").value),
    Number(document.querySelector(".seek input").max),
    document.querySelector(".seek .number").textContent,
  ]`)) as [number, number, string];
  return { position, length, times };
}

/**
 * Waits until the speech has played to its end. The button looks the same before the start, but the slider
 * does not.
 */
async function untilEnd(): Promise<void> {
  const play = page.locator(".player").getByRole("button", { name: "Play" });
  await eventually("playback has ended, with the slider at the end", async () => {
    const { position, length } = await sliderState();
    return length - position < 0.001 && (await play.isVisible());
  });
}

/**
 * Plays the speech from its start, and pauses while a word is marked. Runs in the page, to be quick enough.
 */
async function pauseAtWord(): Promise<void> {
  await page.evaluate(`new Promise((settle) => {
    const button = (name) =>
      [...document.querySelectorAll(".player button")].find(({ textContent }) => textContent === name);
    const look = () => {
      const isMarked = document.querySelector(".spoken mark") !== null;
      const pause = button("Pause");
      if (isMarked && pause === undefined) return settle();
      if (isMarked) pause.click();
      else if (pause === undefined) button("Play").click();
      requestAnimationFrame(look);
    };
    look();
  })`);
}

/**
 * Moves the slider of a paused speech from the start almost to the end. Returns the words that were marked.
 */
async function wordsBySeeking(): Promise<readonly string[]> {
  return page.evaluate<string[]>(`(async () => {
    const slider = document.querySelector(".seek input");
    const marked = [];
    for (let step = 0; step < ${SLIDER_STEPS}; step++) {
      slider.value = String((slider.max * step) / ${SLIDER_STEPS});
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((settle) => setTimeout(settle));
      const text = document.querySelector(".spoken mark")?.textContent;
      if (text !== undefined && marked.at(-1) !== text) marked.push(text);
    }
    return marked;
  })()`);
}

/** Asserts that the displayed texts are words from the list, in order. */
function assertInOrder(shown: readonly string[], words: readonly string[]): void {
  let next = 0;
  for (const text of shown) {
    const found = words.findIndex((word, index) => index >= next && wordsOf(word) === wordsOf(text));
    assert.ok(found >= 0, `"${text}" of ${shown.join(" | ")} does not follow in ${words.join(" ")}`);
    next = found + 1;
  }
}

/** Parses numbers as the pages format them: "−1,234", "+5". */
function numberOf(text: string): number {
  return Number(text.replace("−", "-").replaceAll(",", ""));
}

/** Downloads a file with a button. Returns its path. */
async function downloaded(button: Locator): Promise<string> {
  const waited = page.waitForEvent("download");
  await button.click();
  const download = await waited;
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

async function savedText(place: Locator, ending: string): Promise<string> {
  return readFileSync(await downloaded(place.getByRole("button", { name: `Download ${ending}` })), "utf8");
}

/** Presses Copy, and returns the text in the clipboard. */
async function copied(place: Locator): Promise<string> {
  await page.evaluate("navigator.clipboard.writeText('')");
  // "Copied" is visible for two seconds, so observe from before the click.
  const isConfirmed = place.getByRole("button", { name: "Copied", exact: true }).waitFor();
  await Promise.all([isConfirmed, place.getByRole("button", { name: "Copy", exact: true }).click()]);
  return page.evaluate<string>("navigator.clipboard.readText()");
}

/** Asserts that the page shows the model's limits, with a link to more. */
async function assertModelNote(text: string): Promise<void> {
  const note = page.locator(".model-note");
  assert.match((await note.textContent()) ?? "", new RegExp(text));
  const address = await note.getByRole("link").getAttribute("href");
  assert.equal((await fetch(service.url + address)).status, 200);
}

/** Plays a sound, then stops it. */
async function playSound(button: Locator): Promise<void> {
  await button.click();
  await eventually("it plays", async () => /^Stop: /.test((await button.getAttribute("aria-label")) ?? ""));
  await button.click();
  await eventually("it stops", async () => /^Play: /.test((await button.getAttribute("aria-label")) ?? ""));
}

/** Plays the sample of the second voice, then chooses that voice with the keyboard. */
async function chooseVoice(): Promise<void> {
  const voices = page.getByRole("radiogroup", { name: "Voice" });
  await voices.getByText("Good for news, long reading").waitFor();
  assert.equal(await voices.getByRole("radio").count(), 4);
  await playSound(voices.getByRole("button", { name: "Dauren" }));
  await voices.getByRole("radio", { name: "Aigul" }).focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await voices.getByRole("radio", { name: "Dauren" }).isChecked(), true);
  await page.getByRole("button", { name: "Best" }).click();
  await page.getByText("nfe 32", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Fast" }).click();
  await page.getByText("nfe 16", { exact: true }).waitFor();
}

/** Inserts a pause at the cursor. Invalid options are explained, and disable the button. */
async function writeSpeechOptions(): Promise<void> {
  const text = page.getByLabel("Text", { exact: true });
  await text.fill("Бір екі");
  await page.getByText("More options").click();
  await page.evaluate('document.querySelector("#text").setSelectionRange(3, 3)');
  await page.getByRole("button", { name: "+ 0.5 s" }).click();
  assert.equal(await text.inputValue(), "Бір [pause 500ms] екі");
  await page.getByLabel("Pronunciations").fill("Kaspi");
  await page.getByText("Line 1: write the word").waitFor();
  await page.getByLabel("Seed").fill("-1");
  await page.getByText("Use a whole number from 0").waitFor();
  assert.equal(await page.getByRole("main").getByRole("button", { name: "Speak" }).isDisabled(), true);
  await inspect(page, "speak-wrong-options");
  await page.getByLabel("Pronunciations").fill("Kaspi = каспи");
  await page.getByLabel("Seed").fill("7");
}

async function assertSamples(kind: "curl" | "TypeScript" | "Python", text: string): Promise<void> {
  await page.locator(".samples").getByRole("button", { name: kind }).click();
  const shown = (await page.locator(".samples pre").textContent()) ?? "";
  assert.ok(shown.includes(text), shown);
}

async function open(name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Runs the curl command that the page shows. */
function curlSpeech(): { readonly status: number; readonly requestId: string } {
  const written = execFileSync("curl", [
    ...["-s", "-o", join(folder, "curl.wav"), "-w", "%{http_code} %header{x-request-id}"],
    ...["-H", `Authorization: Bearer ${key}`, "-H", "Content-Type: application/json"],
    ...["-d", JSON.stringify({ text: "Сәлем!", nfe: 4 }), `${service.url}/v1/tts`],
  ]);
  const [status, requestId = ""] = written.toString().split(" ");
  asked.add(requestId);
  return { status: Number(status), requestId };
}

function transcribe(wav: Buffer): {
  readonly body: Promise<Transcript>;
  readonly requestId: Promise<string>;
} {
  const answer = fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  return {
    body: answer.then(async (given) => (await given.json()) as Transcript),
    requestId: answer.then((given) => {
      const id = given.headers.get("x-request-id") ?? "";
      asked.add(id);
      return id;
    }),
  };
}

/** Switches the text to the other form. */
async function choose(form: "Readable" | "As spoken"): Promise<void> {
  await page.getByRole("button", { name: form, exact: true }).click();
}

/** Returns the words of a SubRip file, without numbers and times. */
function subtitleText(srt: string): string {
  const lines = srt.split("\n").filter((line) => /\p{L}/u.test(line));
  return lines.join(" ");
}

/** Matches a transcript with capitals and punctuation. */
const READABLE = /^\p{Lu}[^\n]{1,1000}[.?]$/u;

function assertSame(hypothesis: string): void {
  const reference = wordsOf(SPOKEN);
  const { characterErrorRate } = errorRates([{ reference, hypothesis: wordsOf(hypothesis) }]);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate} of "${hypothesis}"`);
}
