import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { CHEAP_PASSWORDS_MAIN } from "../support/cheap-passwords.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { launchConsoleBrowser, PATIENCE_MS, spokenWav } from "./browser-speech.js";

/** The shipped models, and tiny ones of two public families. */
const INSTALLED = [
  RECOGNIZER_FOLDER,
  SYNTHESIZER_FOLDER,
  "test/fixtures/adapters/tiny-gigaam-ctc",
  "test/fixtures/adapters/tiny-matcha",
];

/** Settings of the operator that the pages show. */
const SHOWN_SETTINGS = {
  CREDIT_PRICE: "1/25000 USD",
  OPERATOR_CONTACT: "sound@example.org",
  FREE_FILES_PER_ORG: "3",
};

export interface Charge {
  readonly requestId: string;
  readonly credits: number | null;
}

export const folder = mkdtempSync(join(tmpdir(), "dauys-console-"));
export const speech = join(folder, "speech.wav");
const models = mkdtempSync(join(tmpdir(), "dauys-models-"));
export const faults: string[] = [];
/** Charged requests, as their responses report them. */
export const charges: Charge[] = [];
/** IDs of all requests and live sessions of the page and of these tests. */
export const asked = new Set<string>();
/** Every host that a page has requested anything from. */
export const hosts = new Set<string>();
/** Another site's server, which has the recording. */
let elsewhere: Server;
export let recordingUrl = "";
export let service: ServiceProcess;
export let browser: Browser;
export let context: BrowserContext;
export let page: Page;
export let key = "";

/** Starts a service, and a browser whose requests and errors are recorded. */
export async function startVisit(): Promise<void> {
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
}

export async function endVisit(): Promise<void> {
  await browser?.close();
  elsewhere?.close();
  for (const made of [folder, models]) rmSync(made, { recursive: true, force: true });
  assert.equal(await service.stop(), 0, service.output());
}

/** Keeps the key that the visitor has created. */
export function keepKey(created: string): void {
  key = created;
}
