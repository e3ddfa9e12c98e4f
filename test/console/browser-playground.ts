import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  assertInOrder,
  assertModelNote,
  assertSame,
  assertSamples,
  chargeOf,
  choose,
  chooseVoice,
  copied,
  downloaded,
  dropFile,
  open,
  pauseAtWord,
  playAlong,
  playSound,
  READABLE,
  savedText,
  sliderState,
  subtitleText,
  transcribe,
  untilEnd,
  wordsBySeeking,
  writeSpeechOptions,
} from "./browser-actions.js";
import { inspect, isKept } from "./browser-pages.js";
import { collectTexts, heardText, SPOKEN, wordsOf } from "./browser-speech.js";
import { charges, context, faults, hosts, page, recordingUrl, speech } from "./browser-visit.js";

/** Slow enough to see the upload's progress even on a busy machine; after 20 s the limit is lifted. */
const SLOW_UPLOAD_BYTES_PER_S = 20_000;

/** The playground: speak, transcribe, listen. */
export function playgroundCases(): void {
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
    await assertModelNote("It is inaccurate on real speech: it gets 19 to 63 %");
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
    await assertModelNote("It is inaccurate on real speech: it gets 19 to 63 %");
    const sentences = await page.locator("main p:visible").allTextContents();
    assert.deepEqual(sentences, [...new Set(sentences)], "no sentence appears twice");
    assert.ok(!sentences.join(" ").includes("black"), "no text names a colour of one theme");
    await page.getByText("A minute costs 360 credits. $0.0144").waitFor();
    await inspect(page, "listen-empty");
    // Partials are replaced quickly and the voice pauses: record both as they appear.
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
}
