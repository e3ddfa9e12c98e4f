import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { freePort } from "../../bench/support/free-port.js";
import { endAtFirstFailure } from "../support/chain.js";
import { eventually } from "../support/eventually.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { inspect } from "./browser-pages.js";
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
import { openGate, type TcpGate } from "./tcp-gate.js";

const COLD = "This is taking longer than usual. After idle time, the model needs";
const LOST = "Connection lost. Reconnecting; nothing you say will be lost.";
/** A lost or repeated sentence would cost half of the text. */
const MAX_CHARACTER_ERROR_RATE = 0.15;

const folder = mkdtempSync(join(tmpdir(), "dauys-states-"));
const speech = join(folder, "speech.wav");
let environment: Record<string, string>;
let service: ServiceProcess;
let gate: TcpGate;
let browser: Browser;
let page: Page;

endAtFirstFailure();

before(async () => {
  environment = { DATA_DIR: join(folder, "data"), PORT: String(await freePort()), DRAIN_S: "2" };
  service = await startServiceProcess(environment);
  writeFileSync(speech, await spokenWav(service));
  // From here on, the first request that needs a model loads it.
  await restart("SIGTERM", { MODEL_PRELOAD: "false" });
  gate = await openGate(service.port);
  browser = await launchConsoleBrowser(speech);
  const context = await browser.newContext({ locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE_MS);
  page = await context.newPage();
  await page.goto(`${gate.url}/console/sign-up`);
  await page.getByLabel("E-mail").fill("aida@example.org");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("Organization name").fill("Tilmash");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("25,000 credits").waitFor();
});

after(async () => {
  await browser?.close();
  await gate?.close();
  assert.equal(await service?.stop(), 0, service?.output());
  rmSync(folder, { recursive: true, force: true });
});

async function restart(signal: "SIGTERM" | "SIGKILL", more: Record<string, string> = {}): Promise<void> {
  service.child.kill(signal);
  await once(service.child, "exit");
  service = await startServiceProcess({ ...environment, ...more });
}

async function open(name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/**
 * Starts listening, and settles in mid-utterance. The microphone plays the speech only once, and a partial is
 * visible for a second or two, so observe from before the start.
 */
async function startSpeaking(listening: Page): Promise<void> {
  await Promise.all([
    listening.locator(".heard .partial").waitFor(),
    listening.getByText("Listening. Say something").waitFor(),
    listening.getByRole("button", { name: "Start listening" }).click(),
  ]);
}

/** Asserts that the spoken text appears exactly once. */
async function assertHeardOnce(): Promise<void> {
  const hypothesis = await heardText(page);
  const { characterErrorRate } = errorRates([
    { reference: wordsOf(SPOKEN), hypothesis: wordsOf(hypothesis) },
  ]);
  const ended = await page.getByText(/^Ended: /).textContent();
  assert.ok(
    characterErrorRate <= MAX_CHARACTER_ERROR_RATE,
    `${characterErrorRate} of "${hypothesis}"; ${ended}`,
  );
}

// Each test starts with an unloaded model. The gate holds back the response until the page shows what it is
// waiting for, however fast this machine loads the model.
describe("a cold service", () => {
  test("status shows which engines are cold", async () => {
    await page.getByRole("link", { name: "Status" }).click();
    await page.locator(".state-of").first().waitFor();
    assert.deepEqual(await page.locator(".state-of strong").allTextContents(), ["Cold", "Cold", "Cold"]);
    await inspect(page, "status-cold");
  });

  test("speak says that the model is loading, then plays", async () => {
    await open("Speak");
    await page.locator(".voice").first().waitFor();
    // Bypass the gate, which works because cookies are not bound to ports.
    const loading = eventually("status shows that the model is loading", async () => {
      const status = await page.context().request.get(`${service.url}/console/api/status`);
      return /"kind":"synthesis"[^}]*"state":"loading"/.test(await status.text());
    });
    gate.hold();
    await page.getByRole("button", { name: "Speak" }).click();
    await page.getByText(COLD).waitFor();
    assert.equal(await page.getByRole("button", { name: "Speak" }).getAttribute("aria-busy"), "true");
    await inspect(page, "speak-cold");
    gate.release();
    await loading;
    await page.getByText("First audio after").waitFor();
    assert.equal(await page.getByText(COLD).count(), 0);
    await page.getByRole("link", { name: "Status" }).click();
    await page.locator(".state-of.warm").waitFor();
    assert.deepEqual(await page.locator(".state-of strong").allTextContents(), ["Warm", "Cold", "Cold"]);
  });

  test("transcribe says after the upload that the model is loading", async () => {
    await open("Transcribe");
    gate.hold();
    await page.locator("input[type=file]").setInputFiles(speech);
    await page.getByText("Transcribing…").waitFor();
    await page.getByText(COLD).waitFor();
    await inspect(page, "transcribe-cold");
    gate.release();
    await page.locator(".words span").first().waitFor();
    assert.equal(await page.getByText(COLD).count(), 0);
  });

  test("listen shows that it is connecting, and transcribes speech from that time", async () => {
    await open("Listen");
    gate.hold();
    await page.getByRole("button", { name: "Start listening" }).click();
    await page.getByText("Connecting…").waitFor();
    await page.getByText(COLD).waitFor();
    await inspect(page, "listen-cold");
    gate.release();
    await assertHeardOnce();
  });
});

describe("a lost connection", () => {
  test("listen reports the lost connection, reconnects, and loses nothing", async () => {
    await startSpeaking(page);
    gate.cut();
    await page.getByText(LOST).waitFor();
    await inspect(page, "listen-reconnecting");
    gate.restore();
    await page.getByText("Listening. Say something").waitFor();
    await assertHeardOnce();
    const sessions = (await page.locator(".live-session p.mono").textContent()) ?? "";
    assert.equal(sessions.split(" ").length, 2, sessions);
  });

  test("listen survives a killed and restarted service that no longer knows the page's key", async () => {
    const states = await collectTexts(page, ".state", ".state");
    await startSpeaking(page);
    await restart("SIGKILL");
    await assertHeardOnce();
    const { texts } = await states();
    assert.ok(texts.includes(LOST), texts.join(" | "));
  });

  test("a page that cannot load shows an error, and Try again loads it", async () => {
    gate.hold();
    await open("Usage");
    await page.locator(".skeleton").waitFor();
    await inspect(page, "usage-loading");
    gate.release();
    await page.getByText("Credits by day").waitFor();
    gate.cut();
    await open("Credits");
    await page.getByText("The service cannot be reached.").first().waitFor();
    await inspect(page, "credits-unreachable");
    gate.restore();
    // The balance, the prices and the ledger are retried separately.
    const again = page.getByRole("button", { name: "Try again" });
    for (const part of [2, 1, 0]) await again.nth(part).click();
    await page.locator(".ledger tbody tr").first().waitFor();
    await page.getByText("The service cannot be reached.").first().waitFor({ state: "hidden" });
    // The operator has set neither a price nor a contact.
    await page.getByText("The service operator sets the price of credits.").waitFor();
    assert.deepEqual(await page.locator(".card .limits tbody td:last-child").allInnerTexts(), [
      "400 credits\n1,000 characters",
      "9,000 credits\n1 hour",
      "21,600 credits\n1 hour",
    ]);
    await inspect(page, "credits-no-price");
  });

  test("status reports an unreachable service until it is back", async () => {
    await page.getByRole("link", { name: "Status" }).click();
    await page.getByText("The service is accepting requests.").waitFor();
    gate.cut();
    await page.getByText("The service cannot be reached.").waitFor();
    await inspect(page, "status-unreachable");
    gate.restore();
    await page.getByText("The service is accepting requests.").waitFor();
  });

  test("results last until sign-out", async () => {
    await open("Listen");
    assert.equal(await page.locator(".history li").count(), 3);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("E-mail").fill("aida@example.org");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Your voice platform" }).waitFor();
    await open("Listen");
    assert.equal(await page.locator(".history").count(), 0);
  });
});

describe("the microphone", () => {
  const errors: string[] = [];
  let own: Page;

  before(async () => {
    own = await page.context().newPage();
    own.on("pageerror", (error) => errors.push(error.message));
    // Grants the microphone when the test decides, and records the streams.
    await own.addInitScript(`
      const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      globalThis.streams = [];
      globalThis.gate = Promise.resolve();
      navigator.mediaDevices.getUserMedia = async (wanted) => {
        globalThis.isAsked = true;
        await globalThis.gate;
        const stream = await real(wanted);
        globalThis.streams.push(stream);
        return stream;
      };
    `);
    await own.goto(gate.url + new URL(page.url()).pathname);
    await own.getByRole("navigation").getByRole("link", { name: "Listen", exact: true }).click();
  });
  after(() => own?.close());

  const start = () => own.getByRole("button", { name: "Start listening" });
  const stop = () => own.getByRole("button", { name: "Stop" });
  const isOpen = () =>
    own.evaluate(
      "streams.some((stream) => stream.getTracks().some(({ readyState }) => readyState === 'live'))",
    );

  /** The page's policy forbids `eval`, which Playwright's `waitForFunction` uses from its second check on. */
  const untilTrue = (expression: string) => eventually(expression, () => own.evaluate<boolean>(expression));

  test("is closed by Stop without an error", async () => {
    await startSpeaking(own);
    await stop().click();
    await own.getByText(/^Ended: /).waitFor();
    assert.deepEqual([await isOpen(), errors], [false, []]);
  });

  test("stays closed if Stop was pressed before the permission was granted", async () => {
    await own.evaluate("gate = new Promise((settle) => { globalThis.grant = settle; }), isAsked = false");
    await start().click();
    await untilTrue("isAsked");
    await stop().click();
    await own.evaluate("grant()");
    await start().waitFor();
    await untilTrue("streams.length === 2");
    await untilTrue("streams[1].getTracks()[0].readyState === 'ended'");
    assert.deepEqual([await isOpen(), errors], [false, []]);
    assert.equal(await own.getByText("Microphone not available").count(), 0);
  });

  test("that is denied is reported and can be started again", async () => {
    await own.evaluate(
      "gate = Promise.reject(new DOMException('no', 'NotAllowedError')), gate.catch(() => {})",
    );
    await start().click();
    await own.getByText("Microphone not available").waitFor();
    await start().waitFor();
    assert.deepEqual(errors, []);
  });

  test("that is disconnected ends the session with a message", async () => {
    await own.evaluate("gate = Promise.resolve()");
    await startSpeaking(own);
    await own.evaluate("streams.at(-1).getTracks()[0].dispatchEvent(new Event('ended'))");
    await own.getByText("The microphone was disconnected.").waitFor();
    await own.getByText(/^Ended: /).waitFor();
    assert.deepEqual([await isOpen(), errors], [false, []]);
  });

  test("is closed by leaving the page", async () => {
    await start().click();
    await own.getByText("Listening. Say something").waitFor();
    await own.getByRole("navigation").getByRole("link", { name: "Speak", exact: true }).click();
    await own.getByRole("heading", { name: "Speak" }).waitFor();
    assert.deepEqual([await isOpen(), errors], [false, []]);
  });
});

test("a live session accepts a browser's WebM and names its MP4, however it is chunked", async () => {
  const own = await page.context().newPage();
  await own.goto(gate.url + new URL(page.url()).pathname);
  const recorded = (type: string, everyMs: number) =>
    own.evaluate<{ code: number; description?: string }>(`(async () => {
      const address = location.origin.replace("http", "ws") + "/v1/listen?model=nova-3";
      const socket = new WebSocket(address, ["token", "${service.key}"]);
      await new Promise((settle) => { socket.onopen = settle; });
      const message = new Promise((settle) => { socket.onmessage = ({ data }) => settle(JSON.parse(data)); });
      const closed = new Promise((settle) => { socket.onclose = ({ code }) => settle(code); });
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const recorder = new MediaRecorder(stream, { mimeType: "${type};codecs=opus" });
      let sent = 0;
      recorder.ondataavailable = ({ data }) => {
        if (data.size > 0) socket.send(data);
        if (++sent === 8) socket.send('{"type":"CloseStream"}');
      };
      recorder.start(${everyMs});
      const code = await closed;
      recorder.stop();
      const { description } = await message;
      return description === undefined ? { code } : { code, description };
    })()`);
  // At the shorter interval, Chromium sends the first byte of its WebM file alone.
  for (const everyMs of [20, 250])
    assert.deepEqual(await recorded("audio/webm", everyMs), { code: 1000 }, `every ${everyMs} ms`);
  const { code, description } = await recorded("audio/mp4", 250);
  assert.equal(code, 4400);
  assert.match(description ?? "", /^live audio must be .* received MP4 /);
  await own.close();
});
