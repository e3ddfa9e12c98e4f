import type { Browser, Page } from "playwright-core";
import { launchChromium } from "../support/chromium.js";
import { pace } from "../support/pace.js";
import type { ServiceProcess } from "../support/service-process.js";

export const PASSWORD = "correct horse battery";
export const SPOKEN = "Бүгін ауа райы жақсы болады. Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const SILENCE_SAMPLES = 24_000;
/** Share of the text's length: a few letters may be missing, but not words. */
const HEARD_LENGTH = 0.9;
/** Timeout of a page's actions, far longer than a busy machine needs. */
export const PATIENCE_MS = 120_000;
const POLL_MS = 100;

/** `SPOKEN`, synthesized by the service, with a second of silence before it and two after. */
export async function spokenWav(service: Pick<ServiceProcess, "url" | "key">): Promise<Buffer> {
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: SPOKEN, nfe: 16 }),
  });
  const wav = Buffer.from(await answer.arrayBuffer());
  const header = Buffer.from(wav.subarray(0, 44));
  const quiet = Buffer.alloc(SILENCE_SAMPLES * 2);
  const pcm = Buffer.concat([quiet, wav.subarray(44), quiet, quiet]);
  header.writeUInt32LE(36 + pcm.length, 4);
  header.writeUInt32LE(pcm.length, 40);
  return Buffer.concat([header, pcm]);
}

/** Launches a browser whose microphone plays a file once, each time it is opened. */
export function launchConsoleBrowser(microphoneFile: string): Promise<Browser> {
  return launchChromium(
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${microphoneFile}%noloop`,
  );
}

export interface Collected {
  /** Texts in order, without immediate repetitions. */
  readonly texts: readonly string[];
  /** Heights of the box around the element, by window width, in pixels. */
  readonly heights: Readonly<Record<string, readonly number[]>>;
}

/** Watches the text of an element that appears and disappears. The returned function ends the watch. */
export async function collectTexts(
  page: Page,
  selector: string,
  boxSelector: string,
): Promise<() => Promise<Collected>> {
  await page.evaluate(`(() => {
    const seen = { texts: [], heights: {} };
    const look = () => {
      const text = document.querySelector(${JSON.stringify(selector)})?.textContent;
      const height = document.querySelector(${JSON.stringify(boxSelector)})?.offsetHeight;
      if (text !== undefined && seen.texts.at(-1) !== text) seen.texts.push(text);
      const known = (seen.heights[innerWidth] ??= []);
      if (height !== undefined && !known.includes(height)) known.push(height);
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    globalThis.collected = () => { observer.disconnect(); return seen; };
  })()`);
  return async () => (await page.evaluate("collected()")) as Collected;
}

/** Returns a text without case and punctuation, for comparison. */
export function wordsOf(text: string): string {
  return text.toLowerCase().replace(/[.,?!:]| —/g, "");
}

/** Waits for finals about as long as the spoken text, then stops the session and returns them. */
export async function heardText(page: Page): Promise<string> {
  const finals = page.locator(".heard .final");
  const deadlineMs = performance.now() + PATIENCE_MS;
  // If the text stays too short, the caller's comparison reports that.
  while ((await finals.allTextContents()).join(" ").length < SPOKEN.length * HEARD_LENGTH) {
    if (performance.now() > deadlineMs) break;
    await pace(POLL_MS);
  }
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText(/^Ended: /).waitFor();
  return (await finals.allTextContents()).join(" ");
}
