import assert from "node:assert/strict";
import { once } from "node:events";
import { before, test } from "node:test";
import { DeepgramClient } from "@deepgram/sdk";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { pace } from "../support/pace.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const SPOKEN_RATE_HZ = 24_000;
/** The same limit as in the test of the service's own socket. */
const MAX_CHARACTER_ERROR_RATE = 0.09;

let service: SharedService;
/** Speech followed by the silence that ends it. */
let pcm: Buffer;

before(async () => {
  service = await sharedService();
  const answer = await fetch(`${service.url}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ model: "tts-1", input: TEXT, response_format: "pcm" }),
  });
  pcm = Buffer.concat([Buffer.from(await answer.arrayBuffer()), Buffer.alloc(2 * SPOKEN_RATE_HZ)]);
});

function connect(apiKey: string, options: Record<string, string>) {
  const base = service.url.replace("http", "ws");
  const client = new DeepgramClient({
    apiKey,
    environment: { base: service.url, production: base, agent: base, agentRest: service.url },
  });
  return client.listen.v1.connect({
    model: "nova-3",
    Authorization: apiKey,
    reconnectAttempts: 0,
    ...options,
  });
}

test("Deepgram's client transcribes live with only the address changed", async () => {
  const socket = await connect(service.key, {
    encoding: "linear16",
    sample_rate: String(SPOKEN_RATE_HZ),
    interim_results: "true",
    vad_events: "true",
  });
  const types: string[] = [];
  const interim: string[] = [];
  const final: string[] = [];
  let duration = 0;
  const isOver = new Promise<void>((resolve) => {
    socket.on("message", (message) => {
      types.push(message.type);
      if (message.type === "Results") {
        const { transcript, words } = message.channel.alternatives[0]!;
        (message.is_final ? final : interim).push(transcript);
        if (message.is_final) assert.equal(words.map(({ word }) => word).join(" "), transcript);
      } else if (message.type === "Metadata") {
        duration = message.duration;
        resolve();
      }
    });
  });
  socket.connect();
  await socket.waitForOpen();
  for (let start = 0; start < pcm.length; start += 9_600) {
    socket.sendMedia(pcm.subarray(start, start + 9_600));
    await pace(20);
  }
  socket.sendKeepAlive({ type: "KeepAlive" });
  socket.sendCloseStream({ type: "CloseStream" });
  await isOver;
  socket.close();
  assert.ok(types.includes("SpeechStarted") && interim.length > 0);
  assert.ok(Math.abs(duration - pcm.length / 2 / SPOKEN_RATE_HZ) < 0.001);
  const pairs = [{ reference: TEXT, hypothesis: final.join(" ") }];
  const { characterErrorRate } = errorRates(pairs);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate}: ${final.join(" | ")}`);
});

test("Deepgram's client gets readable finals", async () => {
  const socket = await connect(service.key, {
    encoding: "linear16",
    sample_rate: String(SPOKEN_RATE_HZ),
    smart_format: "true",
    redact: "phone",
  });
  const finals: string[] = [];
  const isOver = new Promise<void>((resolve) => {
    socket.on("message", (message) => {
      if (message.type === "Metadata") resolve();
      if (message.type !== "Results" || message.channel.alternatives[0]!.transcript === "") return;
      const { transcript, words } = message.channel.alternatives[0]!;
      assert.equal(words.map(({ punctuated_word }) => punctuated_word).join(" "), transcript);
      assert.ok(words.every(({ word, confidence }) => /^[а-яёәғқңөұүһі-]+$/.test(word) && confidence > 0));
      finals.push(transcript);
    });
  });
  socket.connect();
  await socket.waitForOpen();
  socket.sendMedia(pcm);
  socket.sendCloseStream({ type: "CloseStream" });
  await isOver;
  socket.close();
  assert.match(finals.join(" "), /^Кітапхана .*\.$/);
});

test("Deepgram's client finalizes; a wrong key is rejected", async () => {
  const socket = await connect(service.key, { encoding: "linear16", sample_rate: String(SPOKEN_RATE_HZ) });
  const finalized = new Promise<string>((resolve) => {
    socket.on("message", (message) => {
      if (message.type === "Results" && message.from_finalize === true) {
        resolve(message.channel.alternatives[0]!.transcript);
      }
    });
  });
  socket.connect();
  await socket.waitForOpen();
  // The audio ends in the middle of the speech.
  socket.sendMedia(pcm.subarray(0, 2 * SPOKEN_RATE_HZ));
  socket.sendFinalize({ type: "Finalize" });
  assert.match(await finalized, /^[а-яёәғқңөұүһі ]+$/);
  socket.close();
  const refused = await connect(`sk-svc-${"ab".repeat(24)}`, {});
  const failed = once(refused.socket as unknown as EventTarget, "error");
  refused.on("error", () => {});
  refused.connect();
  await failed;
});

test("Deepgram's client gets an error for an MP4 file sent as samples", async () => {
  const socket = await connect(service.key, {});
  const told = new Promise<unknown>((resolve) => socket.on("message", resolve));
  const closed = once(socket.socket as unknown as EventTarget, "close");
  socket.connect();
  await socket.waitForOpen();
  // The first bytes of an MP4 file.
  socket.sendMedia(Buffer.from("0000001c667479706d703432000000006d7034326d70343169736f6d", "hex"));
  const { type, description } = (await told) as Record<string, string>;
  assert.equal(type, "Error");
  assert.match(description ?? "", /live audio must be .* received MP4/);
  const [{ code }] = await closed;
  assert.equal(code, 4400);
});

test("Deepgram's client receives the turns of a conversation", async () => {
  const base = service.url.replace("http", "ws");
  const client = new DeepgramClient({
    apiKey: service.key,
    environment: { base: service.url, production: base, agent: base, agentRest: service.url },
  });
  const socket = await client.listen.v2.connect({
    model: "flux-general-multi",
    Authorization: service.key,
    reconnectAttempts: 0,
    encoding: "linear16",
    sample_rate: String(SPOKEN_RATE_HZ),
    eager_eot_threshold: "0.4",
    eot_threshold: "0.9",
  });
  const types: string[] = [];
  const events: { readonly event: string; readonly transcript: string }[] = [];
  const isOver = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
    socket.on("message", (message) => {
      types.push(message.type);
      if (message.type !== "TurnInfo") return;
      const { event, transcript, words } = message;
      assert.equal(words.map(({ word }) => word).join(" "), transcript);
      events.push({ event, transcript });
    });
  });
  socket.connect();
  await socket.waitForOpen();
  for (let start = 0; start < pcm.length; start += 9_600) {
    socket.sendMedia(pcm.subarray(start, start + 9_600));
    await pace(20);
  }
  socket.sendCloseStream({ type: "CloseStream" });
  await isOver;
  socket.close();
  assert.equal(types[0], "Connected");
  const names = events.map(({ event }) => event);
  assert.deepEqual([names[0], names.at(-1)], ["StartOfTurn", "EndOfTurn"]);
  assert.equal(names.at(-2), "EagerEndOfTurn");
  assert.equal(events.at(-1)!.transcript, events.at(-2)!.transcript);
  const said = events.filter(({ event }) => event === "EndOfTurn").map(({ transcript }) => transcript);
  const { characterErrorRate } = errorRates([{ reference: TEXT, hypothesis: said.join(" ") }]);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate}: ${said.join(" | ")}`);
});
