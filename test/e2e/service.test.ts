import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { runLive } from "../../bench/support/live-client.js";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import type { ScoredPair } from "../../core/domain/text/error-rate.js";
import { wavOf } from "../support/audio.js";
import { SEED, uniform } from "../support/seed.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const SENTENCES = [
  "Бүгін ауа райы жақсы болады.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.",
];
const VOICES = ["aigul", "dauren", "saule", "timur"];
/** 6 % for the recogniser alone on clean speech, plus 3 percentage points for the synthesizer. */
const MAX_CHARACTER_ERROR_RATE = 0.09;

let service: SharedService;

before(async () => {
  service = await sharedService();
});

describe("speech, transcribed as a file and live", () => {
  for (const voice of VOICES) {
    test(`three sentences of ${voice} are transcribed as files and live within the error rate`, async () => {
      const references: string[] = [];
      const fromFiles: string[] = [];
      const fromLive: string[] = [];
      await Promise.all(
        SENTENCES.map(async (text) => {
          const wav = await speak({ text, voice, nfe: 16 });
          const [file, live] = await Promise.all([transcribe(wav), listen(withSilence(toPcm(wav)), true)]);
          references.push(text);
          fromFiles.push(file);
          fromLive.push(live.join(" "));
        }),
      );
      const file = errorRates(paired(references, fromFiles)).characterErrorRate;
      const live = errorRates(paired(references, fromLive)).characterErrorRate;
      assert.ok(file <= MAX_CHARACTER_ERROR_RATE, `file: ${percent(file)} of ${fromFiles.join(" | ")}`);
      assert.ok(live <= MAX_CHARACTER_ERROR_RATE, `live: ${percent(live)} of ${fromLive.join(" | ")}`);
    });
  }

  test("finals do not depend on how the audio is split into messages", async () => {
    const pcm = withSilence(toPcm(await speak({ text: SENTENCES.join(" "), nfe: 16 })));
    const expected = await listen(pcm, false, 1_600);
    assert.ok(expected.length >= 1, "the audio holds at least one utterance");
    const random = uniform(SEED);
    for (let attempt = 0; attempt < 4; attempt++) {
      const sizes = Array.from({ length: 40 }, () => 1 + Math.floor(random() * 4_800));
      assert.deepEqual(await listen(pcm, false, sizes), expected, `message sizes ${sizes.join(", ")}`);
    }
  });
});

describe("sounds without speech", () => {
  for (const [name, sound] of [
    ["wind", wind],
    ["rain", rain],
  ] as const) {
    test(`${name} gives no text, as a file or live`, async () => {
      const pcm = sound(12);
      assert.equal(await transcribe(Buffer.from(wavOf(pcm, 16_000, 1))), "");
      assert.deepEqual(
        (await listen(pcm, false)).filter((text) => text !== ""),
        [],
      );
    });
  }
});

test("no result of a live session ends after the audio sent so far", async () => {
  const pcm = toPcm(await speak({ text: "Қайырлы таң, достар!", nfe: 8 }));
  const run = await runLive({
    url: service.url,
    key: service.key,
    pcm,
    messageSamples: 640,
    isPaced: false,
    query: "?words=true",
  });
  const results = run.received.flatMap(({ message }) =>
    message.type === "final" || message.type === "partial" ? [message] : [],
  );
  assert.ok(results.some(({ type }) => type === "final"));
  for (const { end } of results)
    assert.ok(end <= pcm.length / 16_000, `${end} s of ${pcm.length / 16_000} s`);
});

test("sentences of /v1/tts/stream are complete WAV files that join to the whole speech", async () => {
  const answer = await post("/v1/tts/stream", { text: SENTENCES.join(" "), nfe: 8 });
  assert.equal(answer.headers.get("x-svc-stream"), "wav-frames-v1");
  const body = Buffer.from(await answer.arrayBuffer());
  const frames: Buffer[] = [];
  for (let offset = 0; offset < body.length; ) {
    const length = body.readUInt32BE(offset);
    frames.push(body.subarray(offset + 4, offset + 4 + length));
    offset += 4 + length;
  }
  assert.equal(frames.length, SENTENCES.length);
  for (const frame of frames) {
    assert.equal(frame.toString("latin1", 0, 4), "RIFF");
    assert.equal(frame.readUInt32LE(40), frame.length - 44);
  }
  const whole = Buffer.from(
    await (await post("/v1/tts", { text: SENTENCES.join(" "), nfe: 8 })).arrayBuffer(),
  );
  const joined = Buffer.concat(frames.map((frame) => frame.subarray(44)));
  assert.ok(joined.equals(whole.subarray(44)), "the same samples as /v1/tts");
});

test("speed changes the length of speech", async () => {
  const [slow, plain, fast] = await Promise.all(
    [0.5, 1, 2].map(async (speed) => toPcm(await speak({ text: SENTENCES[1], speed, nfe: 4 })).length),
  );
  assert.ok(slow! > plain! * 1.5 && fast! < plain! * 0.75, `samples ${slow}, ${plain}, ${fast}`);
});

async function post(path: string, body: unknown): Promise<Response> {
  const answer = await fetch(service.url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) assert.fail(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

async function speak(body: unknown): Promise<Buffer> {
  return Buffer.from(await (await post("/v1/tts", body)).arrayBuffer());
}

async function transcribe(wav: Buffer): Promise<string> {
  const answer = await fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  const body = (await answer.json()) as { text?: string; detail?: string };
  assert.equal(answer.status, 200, body.detail);
  return body.text!;
}

/** The texts of the finals, in order. */
async function listen(
  pcm: Int16Array,
  isPaced: boolean,
  messageSamples: number | number[] = 640,
): Promise<string[]> {
  const run = await runLive({ url: service.url, key: service.key, pcm, messageSamples, isPaced });
  assert.equal(run.closeCode, 1000);
  const finals = run.received.flatMap(({ message }) => (message.type === "final" ? [message] : []));
  assert.deepEqual(
    finals.map((final) => final.utterance),
    finals.map((_, index) => index),
    "utterance numbers increase by one",
  );
  return finals.map((final) => final.text);
}

/** Noise below about 300 Hz whose level varies. */
function wind(seconds: number): Int16Array {
  const random = randomNumbers(3);
  let low = 0;
  let slow = 0;
  let gust = 0;
  return Int16Array.from({ length: seconds * 16_000 }, (_, i) => {
    low += 0.1 * (random() - 0.5 - low);
    slow += 0.02 * (low - slow);
    if (i % 2_400 === 0) gust = 0.15 + random();
    return Math.round(25_000 * gust * (low - slow));
  });
}

/** Single drops, about 160 a second, each of which is a short hiss. */
function rain(seconds: number): Int16Array {
  const random = randomNumbers(5);
  let drop = 0;
  let last = 0;
  return Int16Array.from({ length: seconds * 16_000 }, () => {
    if (random() < 0.01) drop = random() * 12_000;
    drop *= 0.97;
    const value = drop * (random() - 0.5) + 300 * (random() - 0.5);
    const hiss = value - last;
    last = value;
    return Math.round(hiss);
  });
}

/** Returns numbers from 0 to 1. The same seed gives the same sequence. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

/** Converts a 24 kHz WAV to 16 kHz PCM. */
function toPcm(wav: Buffer): Int16Array {
  const samples = new WavSampleReader(wav.length).push(wav);
  return toInt16(resample(samples, { fromHz: 24_000, toHz: 16_000 }));
}

/** Adds half a second of silence on both sides, as a microphone would record it. */
function withSilence(pcm: Int16Array): Int16Array {
  const padded = new Int16Array(pcm.length + 16_000);
  padded.set(pcm, 8_000);
  return padded;
}

function percent(rate: number): string {
  return `${(rate * 100).toFixed(1)} %`;
}

function paired(references: readonly string[], hypotheses: readonly string[]): ScoredPair[] {
  return references.map((reference, index) => ({ reference, hypothesis: hypotheses[index]! }));
}
