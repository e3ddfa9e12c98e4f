import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Response } from "playwright-core";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { SYNTHESIS_TARIFF } from "../../core/domain/usage/tariff.js";
import { openStore } from "../../src/store/store.js";
import { privateStore } from "../store/support.js";
import { eventually } from "../support/eventually.js";
import { fileCredits } from "../support/prices.js";
import { SILENT } from "../support/silent-log.js";
import { inspect } from "./browser-pages.js";
import { collectTexts, SPOKEN, wordsOf } from "./browser-speech.js";
import { asked, type Charge, folder, key, page, service, speech } from "./browser-visit.js";

/** Tolerance for the service's own errors on clean speech, and for the browser's audio processing. */
const MAX_CHARACTER_ERROR_RATE = 0.15;
/** Share of the words that even a busy machine marks while they play; short ones may fall between two frames. */
const SHOWN_WORDS = 0.5;
const MOST_PLAYS = 6;
const SLIDER_STEPS = 100;

interface Transcript {
  readonly text: string;
  readonly credits_charged: number;
}

/** Charges the test's organization its whole balance, as work would. */
export async function spendEverything(): Promise<void> {
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

/** The charge for a transcription of `speech`; the browser does not keep the last event, which reports it. */
export function chargeOf(answer: Response): Charge {
  const samples = (statSync(speech).size - 44) / 2;
  return { requestId: answer.headers()["x-request-id"] ?? "", credits: fileCredits(samples, 24_000) };
}

/** Drops a file on the page, as the mouse does. */
export async function dropFile(path: string): Promise<void> {
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
 * Plays the recording and checks that its words are highlighted in order; repeats it more slowly if a busy
 * machine highlighted only a few.
 */
export async function playAlong(): Promise<void> {
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

/** The position of the speech's slider in seconds, and the text next to it. */
export async function sliderState(): Promise<{ position: number; length: number; times: string }> {
  const [position, length, times] = (await page.evaluate(`[
    Number(document.querySelector(".seek input").value),
    Number(document.querySelector(".seek input").max),
    document.querySelector(".seek .number").textContent,
  ]`)) as [number, number, string];
  return { position, length, times };
}

/** Waits until the speech has played to its end. The button is the same before its start, the slider is not. */
export async function untilEnd(): Promise<void> {
  const play = page.locator(".player").getByRole("button", { name: "Play" });
  await eventually("playback has ended, with the slider at the end", async () => {
    const { position, length } = await sliderState();
    return length - position < 0.001 && (await play.isVisible());
  });
}

/** Plays the speech from its start, and pauses while a word is marked; within the page, to be quick enough. */
export async function pauseAtWord(): Promise<void> {
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

/** Moves the slider of a paused speech from its start almost to its end, and returns the words marked. */
export async function wordsBySeeking(): Promise<readonly string[]> {
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

/** Asserts that the texts shown are words of the list, in order. */
export function assertInOrder(shown: readonly string[], words: readonly string[]): void {
  let next = 0;
  for (const text of shown) {
    const found = words.findIndex((word, index) => index >= next && wordsOf(word) === wordsOf(text));
    assert.ok(found >= 0, `"${text}" of ${shown.join(" | ")} does not follow in ${words.join(" ")}`);
    next = found + 1;
  }
}

/** Parses numbers as the pages format them: "−1,234", "+5". */
export function numberOf(text: string): number {
  return Number(text.replace("−", "-").replaceAll(",", ""));
}

/** Saves a button's download, and returns its path. */
export async function downloaded(button: Locator): Promise<string> {
  const waited = page.waitForEvent("download");
  await button.click();
  const download = await waited;
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

export async function savedText(place: Locator, ending: string): Promise<string> {
  return readFileSync(await downloaded(place.getByRole("button", { name: `Download ${ending}` })), "utf8");
}

/** Presses Copy, and returns the clipboard's text. */
export async function copied(place: Locator): Promise<string> {
  await page.evaluate("navigator.clipboard.writeText('')");
  // "Copied" is visible for two seconds, so observe from before the click.
  const isConfirmed = place.getByRole("button", { name: "Copied", exact: true }).waitFor();
  await Promise.all([isConfirmed, place.getByRole("button", { name: "Copy", exact: true }).click()]);
  return page.evaluate<string>("navigator.clipboard.readText()");
}

/** Asserts that the page shows the model's limits, with a link to more. */
export async function assertModelNote(text: string): Promise<void> {
  const note = page.locator(".model-note");
  assert.match((await note.textContent()) ?? "", new RegExp(text));
  const address = await note.getByRole("link").getAttribute("href");
  assert.equal((await fetch(service.url + address)).status, 200);
}

/** Plays a sound, then stops it. */
export async function playSound(button: Locator): Promise<void> {
  await button.click();
  await eventually("it plays", async () => /^Stop: /.test((await button.getAttribute("aria-label")) ?? ""));
  await button.click();
  await eventually("it stops", async () => /^Play: /.test((await button.getAttribute("aria-label")) ?? ""));
}

/** Chooses the second voice with the keyboard, after playing its sample. */
export async function chooseVoice(): Promise<void> {
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

/** Inserts a pause at the cursor; wrong options are explained, and disable the button. */
export async function writeSpeechOptions(): Promise<void> {
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

export async function assertSamples(kind: "curl" | "TypeScript" | "Python", text: string): Promise<void> {
  await page.locator(".samples").getByRole("button", { name: kind }).click();
  const shown = (await page.locator(".samples pre").textContent()) ?? "";
  assert.ok(shown.includes(text), shown);
}

export async function open(name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Runs curl as the page shows it. */
export function curlSpeech(): { readonly status: number; readonly requestId: string } {
  const written = execFileSync("curl", [
    ...["-s", "-o", join(folder, "curl.wav"), "-w", "%{http_code} %header{x-request-id}"],
    ...["-H", `Authorization: Bearer ${key}`, "-H", "Content-Type: application/json"],
    ...["-d", JSON.stringify({ text: "Сәлем!", nfe: 4 }), `${service.url}/v1/tts`],
  ]);
  const [status, requestId = ""] = written.toString().split(" ");
  asked.add(requestId);
  return { status: Number(status), requestId };
}

export function transcribe(wav: Buffer): {
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
export async function choose(form: "Readable" | "As spoken"): Promise<void> {
  await page.getByRole("button", { name: form, exact: true }).click();
}

/** The words of a SubRip file, without numbers and times. */
export function subtitleText(srt: string): string {
  const lines = srt.split("\n").filter((line) => /\p{L}/u.test(line));
  return lines.join(" ");
}

/** A transcript with capitals and marks. */
export const READABLE = /^\p{Lu}[^\n]{1,1000}[.?]$/u;

export function assertSame(hypothesis: string): void {
  const reference = wordsOf(SPOKEN);
  const { characterErrorRate } = errorRates([{ reference, hypothesis: wordsOf(hypothesis) }]);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate} of "${hypothesis}"`);
}
