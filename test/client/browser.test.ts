import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { DauysClient } from "../../src/client/node.js";
import { speechAsWav } from "../support/audio.js";
import { launchChromium } from "../support/chromium.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { DIALOGUE, listen } from "./support.js";

const COMPILED = fileURLToPath(new URL("../../", import.meta.url));
const SPOKEN = "asterisk-ru-core/conf-getconfno.flac";
const PAGE = `<!doctype html><title>client</title><script type="module">
  import * as client from "/src/client/browser.js";
  import * as player from "/src/player/sentence-player.js";
  Object.assign(globalThis, client, player, { isLoaded: true });
</script>`;

let service: SharedService;
let files: Server;
let browser: Browser;
let page: Page;
const faults: string[] = [];

before(async () => {
  service = await sharedService();
  files = createServer(async ({ url = "/" }, response) => {
    const isScript = url.endsWith(".js");
    const body = isScript ? await readFile(COMPILED + url.slice(1)).catch(() => null) : PAGE;
    response.writeHead(body === null ? 404 : 200, {
      "content-type": isScript ? "text/javascript" : "text/html",
    });
    response.end(body ?? "");
  });
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  browser = await launchChromium();
  page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  const address = files.address();
  await page.goto(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`);
  await page.waitForFunction("globalThis.isLoaded === true");
  await page.evaluate(
    `globalThis.dauys = new DauysClient(${JSON.stringify({ baseUrl: service.url, apiKey: service.key })})`,
  );
});
after(async () => {
  await browser?.close();
  files?.close();
  assert.deepEqual(faults, []);
});

test("a page synthesizes speech and gets errors with the request id", async () => {
  const said = await page.evaluate(`(async () => {
    const { wav, durationSeconds, usage } = await dauys.speak({ text: "Сәлем!", nfe: 4 });
    const error = await dauys.speak({ text: "Сәлем!", voice: "nobody" }).catch((error) => error);
    const isApiError = error instanceof ApiError;
    return { bytes: wav.length, durationSeconds, usage, isApiError, code: error.code, requestId: error.requestId };
  })()`);
  const { bytes, durationSeconds, usage, isApiError, code, requestId } = said as Record<string, unknown> & {
    readonly usage: Record<string, unknown>;
  };
  assert.equal(bytes, 44 + Math.round(Number(durationSeconds) * 24_000) * 2);
  assert.equal(usage["characters"], 6);
  assert.deepEqual([isApiError, code], [true, "unknown_voice"]);
  assert.match(String(requestId), /^req_/, "headers are readable from another origin");
});

test("a listener interrupts live speech, and the next turn plays from its start", async () => {
  const heard = await page.evaluate(`(async () => {
    const speech = dauys.speakLive({ nfe: 4 });
    const context = new AudioContext({ sampleRate: 24000 });
    const player = new SentencePlayer({ context });
    const playing = player.play(speech);
    const isSpoken = speech.flush();
    speech.write("Бірінші сөйлем өте ұзақ айтылады. Екінші сөйлем де ұзақ айтылады. ".repeat(4));
    await speech.flush();
    while (player.positionSeconds < 0.3) await new Promise((resolve) => setTimeout(resolve, 10));
    const interruption = player.interrupt();
    const after = { state: player.state, arrived: player.arrivedSeconds, position: player.positionSeconds };
    speech.write("Жақсы.");
    const done = await speech.close();
    await playing;
    while (player.state !== "ended") await new Promise((resolve) => setTimeout(resolve, 10));
    await context.close();
    const again = player.interrupt();
    return { interruption, after, words: player.words.length, turn: speech.turn, done, again, spoken: await isSpoken };
  })()`);
  const { interruption, after, turn, done, again, spoken } = heard as Record<
    string,
    Record<string, number>
  > & {
    readonly turn: number;
  };
  assert.equal(interruption!["turn"], 1);
  assert.ok(interruption!["playedSeconds"]! >= 0.3 && interruption!["playedSeconds"]! < 30);
  assert.deepEqual(after, { state: "waiting", arrived: 0, position: 0 });
  assert.equal(turn, 4);
  assert.equal(done!["characters"], 66 * 4 + 6);
  assert.deepEqual(spoken, {
    ...{ turn: 0, audioSeconds: 0, characters: 0, creditsCharged: 0, isCancelled: false },
  });
  assert.equal(again!["turn"], 3);
});

test("sentences play without a gap of a single sample", async () => {
  const differences = await page.evaluate(`(async () => {
    const frames = [];
    for await (const frame of dauys.speakStream({ text: "Бірінші сөйлем. Екінші сөйлем.", nfe: 4 })) frames.push(frame);
    const samples = frames.flatMap(({ wav }) => [...new Int16Array(wav.slice(44).buffer)]);
    const context = new OfflineAudioContext(1, samples.length, 24000);
    const player = new SentencePlayer({ context, leadSeconds: 0 });
    for (const { wav } of frames) player.push(wav);
    player.end();
    const played = (await context.startRendering()).getChannelData(0);
    const worst = samples.reduce((worst, sample, i) => Math.max(worst, Math.abs(sample / 32768 - played[i])), 0);
    return { count: frames.length, seconds: samples.length / 24000, worst };
  })()`);
  const { count, seconds, worst } = differences as Record<"count" | "seconds" | "worst", number>;
  assert.equal(count, 2);
  assert.ok(seconds > 1);
  // Start times are doubles: if one is even 1e-12 away from a sample, the browser interpolates. A 16-bit step
  // is 3e-5.
  assert.ok(worst < 1e-9, `${worst} beside the sentences one after another`);
});

test("the player handles arriving frames, pauses, seeks, underruns and the end", async () => {
  const seen = await page.evaluate(`(async () => {
    const frames = [];
    for await (const frame of dauys.speakStream({ text: "Бір, екі, үш, төрт, бес, алты. Жеті.", nfe: 4 })) frames.push(frame);
    const context = new AudioContext({ sampleRate: 24000 });
    const player = new SentencePlayer({ context });
    const events = [];
    for (const name of ["underrun", "recovered", "ended"]) player.on(name, (event) => events.push([name, event]));
    const until = (name) => new Promise((resolve) => player.on(name, resolve));
    const underrun = until("underrun");
    player.push(frames[0].wav);
    while (player.positionSeconds === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    player.pause();
    const pausedAt = player.positionSeconds;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const stoodAt = player.positionSeconds;
    player.seek(frames[0].durationSeconds - 0.25);
    const soughtTo = player.positionSeconds;
    player.resume();
    await underrun;
    const waitingAt = player.positionSeconds;
    const ended = until("ended");
    player.push(frames[1].wav);
    player.end();
    await ended;
    await context.close();
    return { events, pausedAt, stoodAt, soughtTo, waitingAt, first: frames[0].durationSeconds, state: player.state,
      total: frames[0].durationSeconds + frames[1].durationSeconds, endedAt: player.positionSeconds };
  })()`);
  const { events, pausedAt, stoodAt, soughtTo, waitingAt, first, state, total, endedAt } = seen as Record<
    string,
    number
  > & { readonly events: readonly (readonly [string, Record<string, number>])[]; readonly state: string };
  assert.deepEqual(
    events.map(([name]) => name),
    ["underrun", "recovered", "ended"],
  );
  assert.ok(pausedAt! > 0 && pausedAt! < first!, `paused at ${pausedAt}`);
  assert.equal(stoodAt, pausedAt);
  assert.ok(Math.abs(soughtTo! - (first! - 0.25)) < 1e-6);
  assert.ok(Math.abs(waitingAt! - first!) < 1e-6);
  assert.equal(state, "ended");
  assert.ok(Math.abs(endedAt! - total!) < 1e-6);
});

test("the player reports the word being spoken", async () => {
  const seen = await page.evaluate(`(async () => {
    const frames = [];
    const stream = dauys.speakStream({ text: "Бір екі. Үш төрт.", nfe: 4 }, { timestamps: true });
    for await (const frame of stream) frames.push(frame);
    const context = new AudioContext({ sampleRate: 24000 });
    const player = new SentencePlayer({ context });
    const before = player.currentWord;
    for (const { wav, words } of frames) player.push(wav, words);
    player.end();
    player.pause();
    const found = [];
    for (const { word, start, end } of player.words) {
      for (const seconds of [start, (start + end) / 2, end - 0.001]) {
        player.seek(seconds);
        found.push([word, player.currentWord.word]);
      }
    }
    player.seek((player.words[1].end + player.words[2].start) / 2);
    found.push(["екі", player.currentWord.word]);
    player.seek(0);
    const first = player.currentWord;
    const plays = [];
    // A busy machine may miss a word.
    do {
      const spoken = new Set();
      player.resume();
      while (player.state !== "ended") {
        spoken.add(player.currentWord?.word);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      plays.push([...spoken].filter((word) => typeof word === "string"));
    } while (plays.at(-1).length < player.words.length && plays.length < 10);
    await context.close();
    return { before, first, found, plays, after: player.currentWord,
      ends: [frames[0].durationSeconds, player.words[1].end, player.words[2].start] };
  })()`);
  const { before, first, found, plays, after, ends } = seen as {
    readonly before: unknown;
    readonly first: unknown;
    readonly found: readonly (readonly [string, string])[];
    readonly plays: readonly (readonly string[])[];
    readonly after: unknown;
    readonly ends: readonly [number, number, number];
  };
  assert.deepEqual([before, first, after], [null, null, null]);
  for (const [word, current] of found) assert.equal(current, word);
  const words = ["Бір", "екі", "Үш", "төрт"];
  for (const spoken of plays)
    assert.deepEqual(
      spoken,
      words.filter((word) => spoken.includes(word)),
    );
  assert.deepEqual(plays.at(-1), words);
  const [firstSentence, secondWordEnd, thirdWordStart] = ends;
  assert.ok(secondWordEnd < firstSentence && thirdWordStart > firstSentence);
});

test("a page transcribes a file with upload progress", async () => {
  const bytes = speechAsWav(SPOKEN);
  const expected = await new DauysClient({ baseUrl: service.url, apiKey: service.key }).transcribe(bytes);
  const received = await page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob("${bytes.toString("base64")}"), (letter) => letter.charCodeAt(0));
    const progress = [];
    const file = new File([bytes], "speech.wav");
    const shares = [];
    const watched = await dauys.transcribe(file, {
      timestamps: true,
      onUploadProgress: (step) => progress.push(step),
      onProgress: (share) => shares.push(share),
    });
    const streamed = await dauys.transcribe(file.stream());
    return { watched, streamed, last: progress.at(-1), shares: [shares[0], shares.at(-1)] };
  })()`);
  const { watched, streamed, last, shares } = received as Record<"watched" | "streamed", { text: string }> & {
    last: unknown;
    shares: unknown;
  };
  assert.deepEqual(shares, [0, 1]);
  assert.deepEqual([watched.text, streamed.text], [expected.text, expected.text]);
  assert.deepEqual(last, { sentBytes: bytes.length, totalBytes: bytes.length });
});

test("a page listens with a token and gets the same results as Node", async () => {
  const pcm = DIALOGUE.subarray(0, 6 * 16_000);
  const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  const { finals } = await listen(client, pcm, { words: true, pace: 100 });
  const sockets: string[] = [];
  page.on("websocket", (socket) => sockets.push(socket.url()));
  const base64 = Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).toString("base64");
  const received = await page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob("${base64}"), (letter) => letter.charCodeAt(0));
    const live = dauys.live({ words: true });
    const finals = [];
    const reading = (async () => {
      for await (const result of live) if (result.type === "final") finals.push(result);
    })();
    for (let offset = 0; offset < bytes.length; offset += 3201) await live.send(bytes.subarray(offset, offset + 3201));
    const done = await live.close();
    await reading;
    return { finals, done };
  })()`);
  const { finals: inPage, done } = received as { finals: unknown; done: { audioSeconds: number } };
  assert.ok(finals.length >= 2);
  assert.deepEqual(inPage, finals);
  assert.equal(done.audioSeconds, pcm.length / 16_000);
  assert.ok(sockets.length === 1 && !sockets[0]!.includes("svc"), "no credential is in an address");
});
