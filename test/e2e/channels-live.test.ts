import assert from "node:assert/strict";
import { once } from "node:events";
import { before, test } from "node:test";
import { WebSocket } from "ws";
import { toMulaw } from "../../core/domain/audio/g711.js";
import { creditsFor, DEFAULT_TARIFFS, FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import type { ListenServerMessage } from "../../core/protocol/listen-messages.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { RATE_HZ } from "../support/audio.js";
import { charged, interleaved, twoSpeakers, wavOfChannels } from "../support/channels.js";
import { eventually } from "../support/eventually.js";
import { pace } from "../support/pace.js";
import { charge, type SharedService, sharedService } from "../support/shared-service.js";

type Final = Extract<StreamServerMessage, { type: "final" }>;

/** 100 ms of one channel. Messages of this size and one more byte cut sample blocks in the middle. */
const CHUNK_BYTES = 3_200;

let service: SharedService;
let channels: readonly [Int16Array, Int16Array];
/** The finals of each channel when it is sent alone. */
let mono: readonly (readonly Final[])[];

before(async () => {
  service = await sharedService();
  channels = await twoSpeakers(service);
  mono = [];
  for (const own of channels) {
    const { messages } = await listened<StreamServerMessage>("/v1/stream?words=true", bytesOf(own), CLOSE);
    mono = [...mono, finalsOf(messages)];
  }
});

const CLOSE = JSON.stringify({ type: "close" });

function bytesOf(samples: Int16Array): Buffer {
  return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
}

function finalsOf(messages: readonly StreamServerMessage[]): readonly Final[] {
  return messages.filter((message) => message.type === "final");
}

function open(path: string, { url, key } = service): WebSocket {
  return new WebSocket(url.replace("http", "ws") + path, { headers: { authorization: `Bearer ${key}` } });
}

interface Listened<T> {
  readonly messages: readonly T[];
  readonly code: number;
}

/** Sends audio and a closing message, and returns all messages until the socket closes. */
async function listened<T>(
  path: string,
  audio: Buffer,
  last: string,
  customer = service,
): Promise<Listened<T>> {
  const socket = open(path, customer);
  const messages: T[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data)) as T));
  const closed = once(socket, "close");
  await once(socket, "open");
  // The odd length cuts sample blocks and samples.
  for (let start = 0; start < audio.length; start += CHUNK_BYTES + 1) {
    socket.send(audio.subarray(start, start + CHUNK_BYTES + 1));
    await pace(1);
  }
  socket.send(last);
  const [code] = (await closed) as [number];
  return { messages, code };
}

/** The status and the reason with which a handshake is rejected. */
async function rejected(path: string, customer = service): Promise<readonly [number, string]> {
  const [, response] = await once(open(path, customer), "unexpected-response");
  let body = "";
  for await (const part of response) body += String(part);
  return [response.statusCode, (JSON.parse(body) as { detail: string }).detail];
}

const ofChannel = (messages: readonly StreamServerMessage[], wanted: number) =>
  finalsOf(messages)
    .filter(({ channel }) => channel === wanted)
    .map(({ channel: _, ...final }) => final);

test("each channel of live audio has the finals of mono audio, word for word", async () => {
  const stereo = bytesOf(interleaved(channels));
  const { messages, code } = await listened<StreamServerMessage>(
    "/v1/stream?words=true&channels=split",
    stereo,
    CLOSE,
  );
  assert.equal(code, 1000);
  assert.ok(mono.every((finals) => finals.some(({ text }) => text.length > 10)));
  for (const [channel, finals] of mono.entries()) assert.deepEqual(ofChannel(messages, channel), finals);
  const [ready] = messages;
  assert.ok(ready?.type === "ready");
  assert.equal(new Set(ready.session_ids).size, 2);
  assert.equal(ready.session_ids![0], ready.session_id);
  assert.equal(messages.filter(({ type }) => type === "ready").length, 1);
  const partials = messages.filter(({ type }) => type === "partial");
  assert.ok(partials.every((message) => "channel" in message));
});

test("a WAV with the declared channels is read without its header, and a WAV with another count is rejected", async () => {
  const { messages } = await listened<StreamServerMessage>(
    "/v1/stream?words=true&channels=split&channel_count=2",
    wavOfChannels(channels),
    CLOSE,
  );
  for (const [channel, finals] of mono.entries()) assert.deepEqual(ofChannel(messages, channel), finals);
  const other = await listened<StreamServerMessage>(
    "/v1/stream?channels=split&channel_count=3",
    wavOfChannels(channels),
    CLOSE,
  );
  assert.equal(other.code, 4400);
  assert.deepEqual(other.messages.at(-1), {
    type: "error",
    code: "unsupported_format",
    detail: "a live WAV must have 3 channels of 16-bit pcm at 16000 Hz, received 2 of 16-bit pcm at 16000 Hz",
    retryable: false,
  });
});

test("every channel is charged once, and `done` adds up the charges", async () => {
  const customer = await sharedService();
  const { messages } = await listened<StreamServerMessage>(
    "/v1/stream?channels=split&display=true",
    bytesOf(interleaved(channels)),
    CLOSE,
    customer,
  );
  const done = messages.at(-1);
  assert.ok(done?.type === "done");
  const units = channels[0].length;
  const each = creditsFor({ units, unitsPerSecond: RATE_HZ }, DEFAULT_TARIFFS.live);
  assert.equal(done.audio_seconds, units / RATE_HZ);
  assert.equal(done.credits_charged, 2 * each);
  assert.deepEqual(
    done.channels!.map(({ display_end: _, ...own }) => own),
    [0, 1].map((channel) => ({ channel, audio_seconds: units / RATE_HZ, credits_charged: each })),
  );
  await charged(customer, 2 * each);
});

test("a client that leaves pays for what each channel accepted", async () => {
  const customer = await sharedService();
  const socket = open("/v1/stream?channels=split", customer);
  const messages: StreamServerMessage[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data)) as StreamServerMessage));
  await once(socket, "open");
  socket.send(bytesOf(interleaved(channels)));
  // A channel accepts audio after its own credit check, which may follow the other channel's first final.
  const hasFinal = (channel: number) => ofChannel(messages, channel).length > 0;
  await eventually("a final of each channel arrives", () => hasFinal(0) && hasFinal(1));
  socket.terminate();
  const quantity = { units: channels[0].length, unitsPerSecond: RATE_HZ };
  await charged(customer, 2 * creditsFor(quantity, DEFAULT_TARIFFS.live));
});

test("eight channels count as eight sessions", async () => {
  const path = "/v1/stream?words=true&channels=split&channel_count=8";
  const two = [open(path), open(path)];
  await Promise.all(two.map((socket) => once(socket, "open")));
  // The service of this test allows 20 sessions.
  assert.deepEqual(await rejected(path), [
    429,
    "an organization may have at most 20 live sessions at once: wait until one has ended",
  ]);
  for (const socket of two) {
    socket.send(CLOSE);
    const [code] = await once(socket, "close");
    assert.equal(code, 1000);
  }
  const quiet = new Int16Array(channels[0].length);
  const eight = [quiet, channels[1], quiet, quiet, quiet, channels[0], quiet, quiet];
  const { messages, code } = await listened<StreamServerMessage>(path, bytesOf(interleaved(eight)), CLOSE);
  assert.equal(code, 1000);
  for (const [channel, own] of eight.entries())
    assert.deepEqual(ofChannel(messages, channel), own === quiet ? [] : mono[channels.indexOf(own)]);
});

test("wrong channel counts are rejected with the rule that they break", async () => {
  for (const [query, detail] of [
    ["channels=split&channel_count=9", 'channel_count must be an integer from 1 to 8, received "9"'],
    ["channels=split&channel_count=0", 'channel_count must be an integer from 1 to 8, received "0"'],
    ["channel_count=2", 'channel_count needs channels=split: otherwise live audio is mono, received "2"'],
    ["channels=2", 'channels must be one of mix, split, received "2"'],
  ] as const) {
    assert.deepEqual(await rejected(`/v1/stream?${query}`), [400, detail]);
  }
  assert.deepEqual(await rejected("/v1/listen?channels=2"), [
    400,
    'channels must be 1 without multichannel=true, received "2"',
  ]);
});

test("ten messages that are not JSON end every channel with one error", async () => {
  const socket = open("/v1/stream?channels=split");
  const messages: StreamServerMessage[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data)) as StreamServerMessage));
  await once(socket, "open");
  for (let nth = 0; nth < 10; nth++) socket.send("not JSON");
  const [code] = await once(socket, "close");
  assert.equal(code, 4400);
  const errors = messages.flatMap((message) => (message.type === "error" ? message.code : []));
  assert.deepEqual(errors, [...Array.from({ length: 10 }, () => "bad_message"), "too_many_messages"]);
});

test("credits that run out end all channels with one error, and paid audio is transcribed", async () => {
  const customer = await sharedService();
  // Five minutes of a file cost 750 credits of the grant; 250 are left.
  const answer = await fetch(`${customer.url}/v1/transcribe?encoding=mulaw`, {
    method: "POST",
    headers: { authorization: `Bearer ${customer.key}`, "content-type": "application/octet-stream" },
    body: Buffer.alloc(300 * 8_000, 0xff),
  });
  assert.equal(answer.status, 200, await answer.text());
  await charge(customer, FREE_GRANT_CREDITS - 750 - 250);
  const minute = new Int16Array(2 * 45 * RATE_HZ);
  const { messages, code } = await listened<StreamServerMessage>(
    "/v1/stream?channels=split",
    bytesOf(minute),
    CLOSE,
    customer,
  );
  assert.equal(code, 4429);
  const errors = messages.flatMap((message) => (message.type === "error" ? message.code : []));
  assert.deepEqual(errors, ["out_of_credits"]);
  const done = messages.at(-1);
  assert.ok(done?.type === "done" && done.credits_charged <= 250, JSON.stringify(done));
});

test("Deepgram's multichannel has results for each channel, also of telephone audio", async () => {
  const last = JSON.stringify({ type: "CloseStream" });
  const query = "encoding=mulaw&sample_rate=16000";
  const stereo = Buffer.from(toMulaw(interleaved(channels)));
  const { messages, code } = await listened<ListenServerMessage>(
    `/v1/listen?${query}&multichannel=true&channels=2`,
    stereo,
    last,
  );
  assert.equal(code, 1000);
  const results = messages.filter((message) => message.type === "Results");
  for (const [channel, own] of channels.entries()) {
    const alone = await listened<ListenServerMessage>(`/v1/listen?${query}`, Buffer.from(toMulaw(own)), last);
    assert.deepEqual(
      results
        .filter(({ channel_index: [of] }) => of === channel)
        .map(({ channel: { alternatives }, start }) => [alternatives, start]),
      alone.messages
        .filter((message) => message.type === "Results")
        .map(({ channel: { alternatives }, start }) => [alternatives, start]),
    );
  }
  assert.ok(results.every(({ channel_index: [, count] }) => count === 2));
  const metadata = messages.at(-1);
  assert.ok(metadata?.type === "Metadata");
  assert.equal(metadata.channels, 2);
});
