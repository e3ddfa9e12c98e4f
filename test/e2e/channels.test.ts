import assert from "node:assert/strict";
import { before, test } from "node:test";
import { toMulaw } from "../../core/domain/audio/g711.js";
import { toFloat, toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { creditsFor, DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";
import type { ListenTranscript } from "../../core/protocol/listen-file-schemas.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { DauysClient } from "../../src/client/node.js";
import { RATE_HZ } from "../support/audio.js";
import { charged, interleaved, twoSpeakers, wavOfChannels } from "../support/channels.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

let service: SharedService;
let channels: readonly [Int16Array, Int16Array];
let stereo: Buffer;
/** The response for each channel sent as a mono file. */
let mono: readonly Transcription[];

before(async () => {
  service = await sharedService();
  channels = await twoSpeakers(service);
  stereo = wavOfChannels(channels);
  mono = await Promise.all(channels.map((own) => transcript("timestamps=true", wavOfChannels([own]))));
});

function post(path: string, body: Buffer | FormData, { url, key } = service): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      ...(Buffer.isBuffer(body) && { "content-type": "application/octet-stream" }),
    },
    body,
  });
}

async function transcript(query: string, body: Buffer): Promise<Transcription> {
  const answer = await post(`/v1/transcribe?${query}`, body);
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as Transcription;
}

async function rejected(path: string, body: Buffer | FormData): Promise<readonly [number, string]> {
  const answer = await post(path, body);
  return [answer.status, ((await answer.json()) as { detail: string }).detail];
}

const withoutChannel = <T extends { readonly channel?: number | undefined }>({ channel: _, ...rest }: T) =>
  rest;

test("each channel of a stereo file is transcribed as a mono file of it, word for word", async () => {
  const {
    channels: split = [],
    text,
    words = [],
    segments = [],
  } = await transcript("channels=split&timestamps=true", stereo);
  assert.equal(split.length, 2);
  for (const [channel, own] of split.entries()) {
    assert.ok(own.text.length > 10, own.text);
    assert.equal(own.channel, channel);
    assert.equal(own.text, mono[channel]!.text);
    assert.deepEqual(own.words!.map(withoutChannel), mono[channel]!.words);
    assert.deepEqual(own.segments!.map(withoutChannel), mono[channel]!.segments);
    assert.deepEqual(
      words.filter((word) => word.channel === channel).map(withoutChannel),
      mono[channel]!.words,
    );
  }
  assert.deepEqual(
    segments.map(({ id, channel }) => [id, channel]),
    [
      [0, 0],
      [1, 1],
      [2, 0],
    ],
  );
  assert.deepEqual(
    segments.map(({ start }) => start),
    segments.map(({ start }) => start).toSorted((a, b) => a - b),
  );
  assert.equal(text, segments.map((segment) => segment.text).join(" "));
});

test("separate channels are each charged, mixed channels once, and the response says so", async () => {
  const customer = await sharedService();
  const quantity = { units: channels[0].length, unitsPerSecond: RATE_HZ };
  let total = 0;
  for (const [query, count] of [
    ["channels=split", 2],
    ["channels=mix", 1],
    ["", 1],
  ] as const) {
    const answer = await post(`/v1/transcribe?${query}`, stereo, customer);
    const body = (await answer.json()) as Transcription;
    const credits = creditsFor({ ...quantity, units: count * quantity.units }, DEFAULT_TARIFFS.file);
    total += credits;
    assert.equal(body.credits_charged, credits);
    assert.equal(body.audio_seconds, channels[0].length / RATE_HZ);
    assert.equal(body.channels?.length, count === 1 ? undefined : count);
    assert.equal(answer.headers.get("x-svc-credits"), String(credits));
    assert.equal(answer.headers.get("x-svc-channels"), count === 1 ? null : String(count));
  }
  // The request is rejected once the number of channels is known, before credits are held.
  const nine = Array.from({ length: 9 }, () => channels[0]);
  const rejection = await post("/v1/transcribe?channels=split", wavOfChannels(nine), customer);
  assert.equal(rejection.status, 400);
  await charged(customer, total);
});

test("eight channels are transcribed separately; nine are rejected", async () => {
  const quiet = new Int16Array(channels[0].length);
  const eight = [quiet, channels[1], quiet, quiet, quiet, channels[0], quiet, quiet];
  const { channels: split = [] } = await transcript("channels=split", wavOfChannels(eight));
  assert.deepEqual(
    split.map(({ text }) => text),
    eight.map((own) => (own === quiet ? "" : mono[channels.indexOf(own)]!.text)),
  );
  const nine = wavOfChannels([...eight, quiet]);
  assert.deepEqual(await rejected("/v1/transcribe?channels=split", nine), [
    400,
    "a recording must have at most 8 channels to be transcribed separately, received 9; use channels=mix",
  ]);
  assert.deepEqual(await rejected("/v1/transcribe?channels=2", stereo), [
    400,
    'channels must be one of mix, split, received "2"',
  ]);
});

test("a recording with one channel has one in the response, at the usual price", async () => {
  const answer = await transcript("channels=split", wavOfChannels([channels[0]]));
  assert.deepEqual(answer.channels, [{ channel: 0, text: mono[0]!.text }]);
  assert.equal(answer.credits_charged, mono[0]!.credits_charged);
});

test("each channel has its own readable text, whose word indexes refer to the words of that channel", async () => {
  const query = "timestamps=true&display=true";
  const { channels: split = [], display_text } = await transcript(`${query}&channels=split`, stereo);
  for (const [channel, own] of split.entries()) {
    const alone = await transcript(query, wavOfChannels([channels[channel]!]));
    assert.equal(own.display_text, alone.display_text);
    assert.deepEqual(own.display_words!.map(withoutChannel), alone.display_words);
    assert.ok(display_text!.length > own.display_text!.length);
  }
});

test("samples without a header are transcribed like a WAV that contains them", async () => {
  const samples = interleaved(channels);
  const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const raw = await transcript("channels=split&encoding=linear16&channel_count=2&timestamps=true", bytes);
  assert.deepEqual(
    raw.channels!.map(({ words }) => words!.map(withoutChannel)),
    mono.map(({ words }) => words),
  );
  const narrow = channels.map((own) => toInt16(resample(toFloat(own), { fromHz: RATE_HZ, toHz: 8_000 })));
  const telephone = Buffer.from(toMulaw(interleaved(narrow)));
  const call = await transcript("channels=split&encoding=mulaw&channel_count=2", telephone);
  assert.equal(call.sample_rate_in, 8_000);
  assert.equal(call.audio_seconds, narrow[0]!.length / 8_000);
  for (const [channel, own] of narrow.entries()) {
    const alone = await transcript("encoding=mulaw", Buffer.from(toMulaw(own)));
    assert.equal(call.channels![channel]!.text, alone.text);
    assert.ok(alone.text.length > 10, alone.text);
  }
});

test("a job splits channels, with or without a header, charges each channel, and names the speakers", async () => {
  const { url, key } = service;
  const client = new DauysClient({ baseUrl: url, apiKey: key });
  const samples = interleaved(channels);
  const bare = new Uint8Array(samples.buffer as ArrayBuffer, samples.byteOffset, samples.byteLength);
  const direct = await transcript("channels=split&timestamps=true", stereo);
  const raw = { encoding: "linear16", channelCount: 2 } as const;
  for (const [source, options] of [
    [new Uint8Array(stereo), { timestamps: true }],
    [bare, { timestamps: true, raw }],
    [bare, { raw }],
  ] as const) {
    const { id } = await client.jobs.submit(source, { ...options, channels: "split" });
    const ended = await client.jobs.wait(id);
    assert.deepEqual(
      [ended.status, ended.credits_charged],
      ["done", direct.credits_charged],
      ended.error?.detail,
    );
    const result = await client.jobs.result(id);
    const times = direct.channels!.map(({ channel, text }) => ({ channel, text }));
    assert.deepEqual(result.channels, "timestamps" in options ? direct.channels : times);
    assert.equal(result.text, direct.text);
    assert.match(await client.jobs.resultText(id, "srt"), /\nSpeaker 1: .*\nSpeaker 2: /s);
    assert.match(await client.jobs.resultText(id, "vtt"), /\n<v Speaker 1>.*\n<v Speaker 2>/s);
  }
  const mixed = await client.jobs.wait((await client.jobs.submit(bare, { raw })).id);
  assert.equal(mixed.credits_charged, mono[0]!.credits_charged);
});

test("a sample format is checked, and needs an encoding", async () => {
  for (const [query, detail] of [
    ["encoding=opus", 'encoding must be one of linear16, mulaw, alaw, received "opus"'],
    ["sample_rate=8000", "sample_rate needs encoding: it describes samples without a header"],
    ["channel_count=2", "channel_count needs encoding: it describes samples without a header"],
    ["encoding=mulaw&channel_count=9", 'channel_count must be an integer from 1 to 8, received "9"'],
    ["encoding=mulaw&sample_rate=1", 'sample_rate must be an integer from 8000 to 48000, received "1"'],
  ] as const) {
    assert.deepEqual(await rejected(`/v1/transcribe?${query}`, stereo), [400, detail]);
  }
});

test("subtitles name the speakers", async () => {
  for (const [format, first, second] of [
    ["srt", "\nSpeaker 1: ", "\nSpeaker 2: "],
    ["vtt", "\n<v Speaker 1>", "\n<v Speaker 2>"],
  ] as const) {
    const form = new FormData();
    form.set("file", new Blob([stereo]), "call.wav");
    form.set("response_format", format);
    form.set("channels", "split");
    const answer = await post("/v1/audio/transcriptions", form);
    const text = await answer.text();
    assert.ok(text.indexOf(first) > 0 && text.indexOf(first) < text.indexOf(second), text);
  }
});

test("a streamed transcription cannot split channels", async () => {
  const form = new FormData();
  form.set("file", new Blob([stereo]), "call.wav");
  form.set("stream", "true");
  form.set("channels", "split");
  const answer = await post("/v1/audio/transcriptions", form);
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /stream must be false with channels=split/);
});

test("Deepgram's multichannel has a result for each channel, and both are charged", async () => {
  const answer = await post("/v1/listen?multichannel=true&utterances=true", stereo);
  const { metadata, results } = (await answer.json()) as ListenTranscript;
  assert.equal(metadata.channels, 2);
  assert.equal(metadata.warnings, undefined);
  assert.deepEqual(
    results.channels.map(({ alternatives: [first] }) => first!.transcript),
    mono.map(({ text }) => text),
  );
  assert.deepEqual(
    results.utterances!.map(({ channel }) => channel),
    [0, 1, 0],
  );
  const units = 2 * channels[0].length;
  const credits = creditsFor({ units, unitsPerSecond: RATE_HZ }, DEFAULT_TARIFFS.file);
  assert.equal(answer.headers.get("x-svc-credits"), String(credits));
});
