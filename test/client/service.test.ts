import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { before, test } from "node:test";
import { DauysClient as BrowserClient } from "../../src/client/browser.js";
import { ApiError } from "../../src/client/errors.js";
import type { LiveResult } from "../../src/client/live-types.js";
import { DauysClient, toSrt, toVtt } from "../../src/client/node.js";
import type { SpeechWord } from "../../src/client/speech-types.js";
import type { UploadProgress } from "../../src/client/transport.js";
import { speechAsWav, speechAsWavFile } from "../support/audio.js";
import { within } from "../support/pace.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { DIALOGUE, listen } from "./support.js";

const SPOKEN = "asterisk-ru-core/conf-getconfno.flac";

const ms = (seconds: number) => Math.round(seconds * 1_000);

let service: SharedService;
let client: DauysClient;
/** The recording as a WAV file. */
let path: string;

before(async () => {
  service = await sharedService();
  client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  path = await speechAsWavFile(SPOKEN);
});

test("the catalog needs no key", async () => {
  const open = new DauysClient({ baseUrl: service.url });
  assert.equal((await open.health()).status, "ok");
  const [model] = await open.models();
  assert.equal(model?.sample_rate, 24_000);
  const { voices } = await open.voices({ model: model?.name });
  assert.deepEqual(voices.map(({ name }) => name).sort(), [...(model?.voices ?? [])].sort());
  await assert.rejects(open.voices({ model: "none" }), (error) => {
    assert.ok(error instanceof ApiError && error.status === 404 && error.code === "unknown_model");
    assert.match(error.requestId ?? "", /^req_/);
    return true;
  });
});

test("whole speech and its sentences have the same length", async () => {
  const request = { text: "Бірінші сөйлем. Екінші сөйлем.", voice: "dauren", nfe: 4 };
  const whole = await client.speak(request);
  assert.equal(whole.usage.characters, 30);
  assert.match(whole.usage.requestId ?? "", /^req_/);
  let endSeconds = 0;
  let count = 0;
  for await (const { sequence, startSeconds, durationSeconds } of client.speakStream(request)) {
    assert.deepEqual([sequence, startSeconds], [count++, endSeconds]);
    endSeconds = startSeconds + durationSeconds;
  }
  assert.equal(count, 2);
  assert.ok(
    Math.abs(endSeconds - whole.durationSeconds) < 0.2,
    `${endSeconds} and ${whole.durationSeconds} s`,
  );
});

test("requesting word times does not change the audio", async () => {
  const request = { text: "Бірінші сөйлем. 2-сөйлем 😀 осы!", voice: "dauren", nfe: 4 };
  const plain = await client.speak(request);
  assert.equal(plain.words, undefined);
  const timed = await client.speak(request, { timestamps: true });
  assert.deepEqual(timed.wav, plain.wav);
  assert.equal(timed.usage.characters, plain.usage.characters);
  const { words = [] } = timed;
  assert.deepEqual(
    words.map(({ word, from, to }) => [word, [...request.text].slice(from, to).join("")]),
    ["Бірінші", "сөйлем", "2-сөйлем", "осы"].map((word) => [word, word]),
  );
  assert.match(words[2]?.spoken ?? "", /^екінші/);
  const streamed: SpeechWord[] = [];
  const plainFrames = client.speakStream(request);
  for await (const frame of client.speakStream(request, { timestamps: true })) {
    const { value: same } = await plainFrames.next();
    assert.ok(same);
    assert.deepEqual([frame.wav, frame.startSeconds], [same.wav, same.startSeconds]);
    assert.equal(same.words, undefined);
    for (const { start, end, ...word } of frame.words ?? []) {
      assert.ok(start >= 0 && end <= frame.durationSeconds);
      streamed.push({ ...word, start: start + frame.startSeconds, end: end + frame.startSeconds });
    }
  }
  assert.ok((await plainFrames.next()).done);
  const rounded = streamed.map((word) => ({ ...word, start: ms(word.start), end: ms(word.end) }));
  assert.deepEqual(
    rounded.map(({ start, end, ...word }) => word),
    words.map(({ start, end, ...word }) => word),
  );
  for (const [i, { start, end }] of rounded.entries()) {
    const { start: wholeStart, end: wholeEnd } = words[i]!;
    // Both are rounded to milliseconds, but from different origins.
    assert.ok(Math.abs(start - ms(wholeStart)) <= 1 && Math.abs(end - ms(wholeEnd)) <= 1);
  }
});

test("a long sentence arrives in growing chunks with their words", async () => {
  const text = "Кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді, ал 25 оқушы көлге барады.";
  const request = { text, voice: "saule", nfe: 4 };
  const { words: expected = [], durationSeconds } = await client.speak(request, { timestamps: true });
  const lengths: number[] = [];
  const words: SpeechWord[] = [];
  for await (const frame of client.speakStream(request, { timestamps: true, frames: "chunks" })) {
    lengths.push(frame.durationSeconds);
    for (const { start, end, ...word } of frame.words ?? []) {
      assert.ok(start >= 0 && start < frame.durationSeconds, `${word.word} begins at ${start}`);
      words.push({ ...word, start: ms(start + frame.startSeconds), end: ms(end + frame.startSeconds) });
    }
  }
  assert.ok(lengths[0]! < 0.6 && lengths.length > 3, `${lengths} s`);
  const seconds = lengths.reduce((sum, length) => sum + length, 0);
  assert.ok(Math.abs(seconds - durationSeconds) < 0.05, `${seconds} and ${durationSeconds} s`);
  assert.deepEqual(
    words.map(({ word, spoken, from, to }) => [word, spoken, from, to]),
    expected.map(({ word, spoken, from, to }) => [word, spoken, from, to]),
  );
  // Both are rounded to milliseconds, but from different origins.
  for (const [i, { start }] of words.entries()) assert.ok(Math.abs(start - ms(expected[i]!.start)) <= 2);
});

test("hot words are sent for files and live speech", async () => {
  const hotWords = ["конференция", { word: "номер", score: 2 }];
  const { text } = await client.transcribe({ path }, { hotWords });
  assert.ok(text.length > 0);
  const { finals } = await listen(client, DIALOGUE, { hotWords });
  assert.ok(finals.length >= 3);
  const refused = client.transcribe({ path }, { hotWords: ["☃"] });
  await assert.rejects(refused, /hotwords must be written in the model's letters/);
});

test("a seed selects a different take of the text, always the same one", async () => {
  const speak = async (seed?: number) => (await client.speak({ text: "Сәлем!", nfe: 4, seed })).wav;
  const [own, first, again] = [await speak(), await speak(7), await speak(7)];
  assert.deepEqual(again, first);
  assert.notDeepEqual(first, own);
});

test("pronunciations are sent with the text; invalid ones are reported by name", async () => {
  const request = { text: "GPT", pronunciations: [{ word: "gpt", say: "қазақстан республикасы" }], nfe: 4 };
  const { durationSeconds, usage } = await client.speak(request);
  const { durationSeconds: asWritten } = await client.speak({ text: request.text, nfe: 4 });
  assert.ok(durationSeconds > 1.2 * asWritten, `${durationSeconds} and ${asWritten} s`);
  assert.equal(usage.characters, 3);
  await assert.rejects(client.speak({ ...request, pronunciations: [{ word: "", say: "а" }] }), (error) => {
    assert.ok(error instanceof ApiError && error.status === 400);
    assert.match(error.detail, /^pronunciations\[0\]\.word must be 1 to 60 characters, received 0$/);
    return true;
  });
});

test("every source of audio gives the same transcript, with progress", async () => {
  const bytes = speechAsWav(SPOKEN);
  const files = createServer((_, response) => response.end(bytes));
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  const address = files.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const progress: UploadProgress[] = [];
  const onUploadProgress = (step: UploadProgress) => progress.push(step);
  const shares: number[] = [];
  const fromPath = await client.transcribe(
    { path },
    { timestamps: true, onUploadProgress, onProgress: (share) => shares.push(share) },
  );
  assert.ok(shares[0] === 0 && shares.at(-1) === 1, String(shares));
  assert.match(fromPath.text, /[а-я]/);
  assert.equal(fromPath.words?.map(({ word }) => word).join(" "), fromPath.text);
  assert.match(fromPath.request_id ?? "", /^req_/);
  assert.deepEqual(progress.at(-1), { sentBytes: bytes.length, totalBytes: bytes.length });
  for (const source of [
    new Uint8Array(bytes),
    new Blob([new Uint8Array(bytes)]),
    new File([new Uint8Array(bytes)], "speech.wav"),
    new Blob([new Uint8Array(bytes)]).stream(),
    { url: `http://127.0.0.1:${port}/a.wav` },
  ]) {
    const { text, words } = await client.transcribe(source);
    assert.deepEqual([text, words], [fromPath.text, undefined]);
  }
  await assert.rejects(client.transcribe({ path: "/nowhere.wav" }), /no such file/);
  await assert.rejects(
    client.transcribe(new Uint8Array(0)),
    (error) => error instanceof ApiError && error.code === "no_audio",
  );
  files.close();
});

test("work with an idempotency key is charged once", async () => {
  const options = { timestamps: true, idempotencyKey: "conf-getconfno" };
  const first = await client.transcribe({ path }, options);
  const again = await new DauysClient({ baseUrl: service.url, apiKey: service.key }).transcribe(
    { path },
    options,
  );
  assert.deepEqual([first.is_replayed, again.is_replayed, again.text], [false, true, first.text]);
  assert.match(toSrt(first), /^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\n[а-я ]+\n/);
  assert.match(toVtt(again), /^WEBVTT\n\n00:00:00\.\d{3} --> /);
  assert.throws(() => toSrt({}), /transcribe with timestamps: true/);
});

test("subtitles use readable text if the transcription has it, or plain words", async () => {
  const transcription = await client.transcribe({ path }, { timestamps: true, display: true });
  const { text, display_text } = transcription;
  assert.match(display_text ?? "", /^[А-Я].*[.?]$/);
  const shown = (subtitles: string) =>
    subtitles
      .split("\n")
      .filter((line) => /\p{L}/u.test(line) && line !== "WEBVTT")
      .join(" ");
  for (const format of [toSrt, toVtt]) {
    assert.equal(shown(format(transcription)), display_text);
    assert.equal(shown(format(transcription, { display: false })), text);
  }
});

test("balance and usage belong to the key's organization", async () => {
  const { balance, held, available } = await client.balance();
  assert.equal(available, balance - held);
  const { from, to, data } = await client.usage({ from: "2026-01-01", to: "2026-01-02" });
  assert.deepEqual([from, to, data], ["2026-01-01", "2026-01-02", []]);
  assert.ok((await client.usage()).data.some(({ kind, credits }) => kind === "file" && credits > 0));
  await assert.rejects(new DauysClient({ baseUrl: service.url }).balance(), /HTTP 401/);
});

test("readiness reports whether the service accepts work", async () => {
  assert.deepEqual(await client.readiness(), { isReady: true, detail: null });
});

test("a live session returns partials and finals, with a key or a token", async () => {
  const { results, finals, done } = await listen(client, DIALOGUE, { words: true, pace: 100 });
  assert.ok(finals.length >= 4 && results.length > finals.length);
  assert.equal(done.audioSeconds, DIALOGUE.length / 16_000);
  assert.equal(done.creditsCharged, Math.ceil((DIALOGUE.length * 6) / 16_000));
  assert.equal(finals[0]?.words?.map(({ word }) => word).join(" "), finals[0]?.text);
  const tokens: string[] = [];
  const streamToken = async (signal: AbortSignal) => {
    const { token } = await client.streamToken({ signal });
    tokens.push(token);
    return token;
  };
  const byToken = new DauysClient({ baseUrl: service.url, streamToken });
  const again = await listen(byToken, DIALOGUE, { words: true, pace: 100, partials: false });
  assert.deepEqual(again.results, finals);
  assert.equal(tokens.length, 1);
});

test("every path rejects a wrong key with the same code", async () => {
  const wrong = new DauysClient({ baseUrl: service.url, apiKey: `sk-svc-${"ab".repeat(24)}` });
  const isInvalid = (error: unknown) =>
    error instanceof ApiError && error.status === 401 && error.code === "key_invalid";
  await assert.rejects(wrong.speak({ text: "а" }), isInvalid);
  await assert.rejects(wrong.transcribe({ path }), isInvalid);
  await assert.rejects(wrong.streamToken(), isInvalid);
  const live = wrong.live();
  await assert.rejects(live.done, isInvalid);
  await assert.rejects(live.send(new Int16Array(160)), isInvalid);
  await assert.rejects(
    new BrowserClient({ baseUrl: service.url, apiKey: "x" }).speak({ text: "а" }),
    isInvalid,
  );
});

test("a session ends immediately if it is aborted, left, or cannot be opened", async () => {
  const stop = new AbortController();
  const aborted = client.live({ signal: stop.signal });
  await aborted.send(new Int16Array(16_000));
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(aborted.done, (error) => error === reason);
  await assert.rejects(aborted.close(), (error) => error === reason);
  const left = client.live();
  const speaking = (async () => {
    for (let offset = 0; offset < DIALOGUE.length; offset += 16_000)
      await left.send(DIALOGUE.subarray(offset, offset + 16_000));
  })();
  let first: LiveResult | null = null;
  for await (const result of left) {
    first = result;
    break;
  }
  assert.equal(first?.utterance, 0);
  await speaking.catch(() => {});
  await assert.rejects(left.done, /left/);
  await assert.rejects(left.send(new Int16Array(160)));
});

test("an aborted session does not keep the process alive", async () => {
  const program = `
    import { DauysClient } from "./dist/src/client/node.js";
    const client = new DauysClient({ baseUrl: ${JSON.stringify(service.url)}, apiKey: ${JSON.stringify(service.key)} });
    const stop = new AbortController();
    const live = client.live({ signal: stop.signal, onStatus: () => stop.abort() });
    // This takes longer to send than a session takes to open.
    const text = "Бүгін ауа райы жақсы болады. ".repeat(20);
    const speech = client.speak({ text, nfe: 64 }, { signal: stop.signal }).catch(() => "stopped");
    await live.done.catch(() => {});
    console.log(await speech);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (bytes: Buffer) => {
    output += String(bytes);
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const code = await within(60_000, "the program ends", exited);
  assert.deepEqual([code, output.trim()], [0, "stopped"]);
});
