import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { DeepgramClient } from "@deepgram/sdk";
import { MULAW_SAMPLES } from "../../core/domain/audio/g711.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { creditsFor, SYNTHESIS_TARIFF } from "../../core/domain/usage/tariff.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { eventually } from "../support/eventually.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. Бүгін ауа райы жақсы. Ертең келіңіз!";

/** The number of sentences in a response that the listener interrupts. */
const OTHERS = 150;

let service: SharedService;
/** The same text spoken, as a WAV. */
let spoken: Buffer;

before(async () => {
  service = await sharedService();
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ text: TEXT, nfe: 16 }),
  });
  spoken = Buffer.from(await answer.arrayBuffer());
});

function clientOf({ url, key }: Pick<SharedService, "url" | "key">): DeepgramClient {
  const base = url.replace("http", "ws");
  return new DeepgramClient({
    apiKey: key,
    environment: { base: url, production: base, agent: base, agentRest: url },
    maxRetries: 0,
  });
}

/** Reads `punctuated_word`, which the SDK's types lack for the words of a whole transcript. */
function punctuated(word: object): unknown {
  return "punctuated_word" in word ? word.punctuated_word : undefined;
}

async function creditsOf({ url, key }: SharedService): Promise<number> {
  const answer = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
  const { balance, held } = (await answer.json()) as { balance: number; held: number };
  // Work that has not settled yet has no final price.
  return held === 0 ? balance : Number.NaN;
}

test("Deepgram's client transcribes a file, at the price of /v1/transcribe", async () => {
  const ours = await fetch(`${service.url}/v1/transcribe?timestamps=true&display=true`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/octet-stream" },
    body: spoken,
  });
  const { display_text, display_words } = (await ours.json()) as Transcription;
  const customer = await sharedService();
  const before = await creditsOf(customer);
  const { data, rawResponse } = await clientOf(customer)
    .listen.v1.media.transcribeFile(spoken, {
      model: "nova-3",
      smart_format: true,
      utterances: true,
      detect_language: true,
      keyterm: ["кітапхана"],
    })
    .withRawResponse();
  assert.ok("results" in data);
  const [channel] = data.results.channels;
  const [alternative] = channel!.alternatives!;
  assert.match(display_text!, /^Кітапхана .+\.$/);
  assert.equal(alternative!.transcript, display_text);
  assert.equal(channel!.detected_language, "kk");
  assert.deepEqual(
    alternative!.words!.map((word) => ({ word: punctuated(word), start: word.start, end: word.end })),
    display_words!.map(({ word, start, end }) => ({ word, start, end })),
  );
  assert.ok(alternative!.words!.every(({ confidence }) => confidence! > 0 && confidence! <= 1));
  assert.ok(alternative!.confidence! > 0.3, String(alternative!.confidence));
  assert.equal(data.results.utterances!.map(({ transcript }) => transcript).join(" "), display_text);
  const sentences = alternative!.paragraphs!.paragraphs!.flatMap((paragraph) => paragraph.sentences!);
  assert.equal(sentences.map(({ text }) => text).join(" "), display_text);
  assert.ok(sentences.every(({ text }) => /[.?]$/.test(text!)));
  assert.equal(data.metadata.request_id, rawResponse.headers.get("dg-request-id"));
  const credits = Number(ours.headers.get("x-svc-credits"));
  assert.equal(Number(rawResponse.headers.get("x-svc-credits")), credits);
  await eventually("charged once", async () => (await creditsOf(customer)) === before - credits);
});

test("Deepgram's client gets numbers as digits and personal data masked", async () => {
  const text =
    "Бағасы жүз жиырма мың теңге. Телефоным сегіз жеті жүз бір екі жүз жиырма екі қырық бес алпыс жеті.";
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ text, nfe: 16 }),
  });
  const file = Buffer.from(await answer.arrayBuffer());
  const { media } = clientOf(service).listen.v1;
  const heard = async (options: Parameters<typeof media.transcribeFile>[1]) => {
    const { data, rawResponse } = await media.transcribeFile(file, options).withRawResponse();
    assert.ok("results" in data);
    assert.equal(rawResponse.headers.get("x-svc-ignored"), null);
    return data.results.channels[0]!.alternatives![0]!;
  };
  const smart = await heard({ smart_format: true, redact: "phone" });
  assert.match(smart.transcript!.replaceAll("\u00a0", " "), /^Бағасы 120 000 теңге\. .*\[PHONE\]\.$/);
  assert.equal(punctuated(smart.words!.at(-1)!), "[PHONE].");
  const marked = await heard({ punctuate: true });
  assert.match(marked.transcript!, /^Бағасы жүз жиырма мың теңге\..* жеті\.$/);
  const figures = await heard({ numerals: true });
  assert.match(figures.transcript!.replaceAll("\u00a0", " "), /^бағасы 120 000 теңге /);
  const masked = await heard({ redact: "phone,iin" });
  assert.match(masked.transcript!, /^бағасы жүз жиырма мың теңге .*\[PHONE\]$/);
  await assert.rejects(media.transcribeFile(file, { redact: "ssn" }), (error) =>
    hasCode(error, 400, "Bad Request"),
  );
});

test("Deepgram's client transcribes the file at a URL, and raw samples", async () => {
  const server = createServer((_request, response) => response.end(spoken)).listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/speech.wav`;
  const { media } = clientOf(service).listen.v1;
  const remote = await media.transcribeUrl({ url, model: "nova-3", language: "kk" });
  const header = parseWavHeader(spoken, spoken.length)!;
  const samples = spoken.subarray(header.dataOffset);
  const raw = await media.transcribeFile(
    samples,
    { encoding: "linear16" },
    { queryParams: { sample_rate: "24000" } },
  );
  assert.ok("results" in remote && "results" in raw);
  const textOf = ({ results }: typeof raw) => results.channels[0]!.alternatives![0]!.transcript;
  assert.ok(textOf(raw)!.length > 20);
  assert.equal(textOf(remote), textOf(raw));
  assert.equal(raw.metadata.duration, remote.metadata.duration);
  await assert.rejects(media.transcribeUrl({ url: "http://169.254.1.1/x" }), (error) =>
    hasCode(error, 400, "REMOTE_CONTENT_ERROR"),
  );
});

test("Deepgram's client gets failures in Deepgram's shape", async () => {
  const { media } = clientOf(service).listen.v1;
  const { audio } = clientOf(service).speak.v1;
  const stranger = clientOf({ url: service.url, key: `sk-svc-${"ab".repeat(24)}` });
  for (const [failing, status, code] of [
    [() => media.transcribeFile(spoken, { diarize: true }), 400, "Bad Request"],
    [() => media.transcribeFile(spoken, { callback: "https://service.test/" }), 400, "Bad Request"],
    [() => media.transcribeFile(Buffer.from("no audio"), {}), 400, "Bad Request"],
    [() => media.transcribeFile(spoken, { language: "en" }), 400, "Bad Request"],
    [() => stranger.listen.v1.media.transcribeFile(spoken, {}), 401, "INVALID_AUTH"],
    [() => audio.generate({ text: TEXT, encoding: "mp3" }), 400, "Bad Request"],
    [() => audio.generate({ text: TEXT, model: "alloy" as "aura-2-thalia-en" }), 400, "Bad Request"],
    [() => audio.generate({ text: "" }), 400, "Bad Request"],
    [() => stranger.speak.v1.audio.generate({ text: TEXT }), 401, "INVALID_AUTH"],
  ] as const) {
    await assert.rejects(failing as () => Promise<unknown>, (error) => hasCode(error, status, code));
  }
});

function hasCode(error: unknown, status: number, code: string): boolean {
  const { statusCode, body } = error as { statusCode?: number; body?: Record<string, unknown> };
  assert.deepEqual([statusCode, body?.["err_code"]], [status, code], String(error));
  assert.equal(body?.["err_msg"], body?.["detail"]);
  assert.match(String(body?.["request_id"]), /^req_/);
  return true;
}

test("Deepgram's client synthesizes a text, at the price of /v1/tts", async () => {
  const customer = await sharedService();
  const before = await creditsOf(customer);
  const { audio } = clientOf(customer).speak.v1;
  const wav = await audio.generate({ text: TEXT, model: "dauren" as "aura-2-thalia-en" }).withRawResponse();
  const bytes = Buffer.from(await wav.data.arrayBuffer());
  const { format, sampleRateHz } = parseWavHeader(bytes, bytes.length)!;
  assert.deepEqual([format, sampleRateHz], ["pcm", 24_000]);
  assert.equal(wav.rawResponse.headers.get("dg-model-name"), "dauren");
  assert.equal(wav.rawResponse.headers.get("dg-char-count"), String(countCodePoints(TEXT)));
  const telephone = await audio.generate({ text: TEXT, encoding: "mulaw", container: "none" });
  const mulaw = Buffer.from(await telephone.arrayBuffer());
  const seconds = mulaw.length / 8_000;
  assert.ok(seconds > 3 && seconds < 15, String(seconds));
  assert.ok(loudness(Float32Array.from(mulaw, (byte) => MULAW_SAMPLES[byte]!)) > 0.01);
  const price = creditsFor({ units: countCodePoints(TEXT), unitsPerSecond: 1 }, SYNTHESIS_TARIFF);
  await eventually("charged twice", async () => (await creditsOf(customer)) === before - 2 * price);
});

interface Listened {
  readonly types: string[];
  /** The number of audio bytes that arrived before each message. */
  readonly bytesBefore: number[];
  readonly sound: Blob[];
  readonly closed: Promise<number>;
}

async function speaker(customer: Pick<SharedService, "url" | "key">, options: Record<string, string>) {
  const socket = await clientOf(customer).speak.v1.connect({
    Authorization: customer.key,
    reconnectAttempts: 0,
    ...options,
  });
  let close: (code: number) => void = () => {};
  const closed = new Promise<number>((resolve) => {
    close = resolve;
  });
  const heard: Listened = { types: [], bytesBefore: [], sound: [], closed };
  socket.on("close", ({ code }) => close(code));
  socket.on("message", (data: unknown) => {
    if (data instanceof Blob) heard.sound.push(data);
    else {
      heard.types.push((data as { readonly type: string }).type);
      heard.bytesBefore.push(heard.sound.reduce((sum, { size }) => sum + size, 0));
    }
  });
  socket.connect();
  await socket.waitForOpen();
  return { socket, heard };
}

test("Deepgram's client synthesizes text that arrives in pieces, as from an assistant, at the price of /v1/tts", async () => {
  const customer = await sharedService();
  const before = await creditsOf(customer);
  const { socket, heard } = await speaker(customer, { model: "aura-2-thalia-en", sample_rate: "16000" });
  for (const token of TEXT.match(/.{1,4}/gsu)!) socket.sendText({ type: "Speak", text: token });
  socket.sendFlush({ type: "Flush" });
  await eventually("flushed", () => heard.types.includes("Flushed"));
  assert.deepEqual(heard.types, ["Metadata", "Flushed"]);
  const seconds = heard.bytesBefore[1]! / 2 / 16_000;
  assert.ok(seconds > 3 && seconds < 15, String(seconds));
  const price = creditsFor({ units: countCodePoints(TEXT), unitsPerSecond: 1 }, SYNTHESIS_TARIFF);
  await eventually("charged", async () => (await creditsOf(customer)) === before - price);
  socket.sendClose({ type: "Close" });
  assert.equal(await heard.closed, 1000);
});

test("speech that is cleared is charged once, up to the sentence that has started", async () => {
  const customer = await sharedService();
  const before = await creditsOf(customer);
  const { socket, heard } = await speaker(customer, { encoding: "alaw" });
  const first = "Сәлеметсіз бе, бұл бірінші сөйлем. ";
  const other = "Екінші сөйлем ұзақ болады. ";
  socket.sendText({ type: "Speak", text: first + other.repeat(OTHERS) });
  await eventually("sound", () => heard.sound.length > 0);
  socket.sendClear({ type: "Clear" });
  await eventually("cleared", () => heard.types.includes("Cleared"));
  const soundBefore = heard.sound.length;
  const price = (text: string) =>
    creditsFor({ units: countCodePoints(text), unitsPerSecond: 1 }, SYNTHESIS_TARIFF);
  await eventually("settled", async () => (await creditsOf(customer)) < before);
  const spent = before - (await creditsOf(customer));
  const prices = Array.from({ length: OTHERS }, (_, count) => price(first + other.repeat(count)));
  assert.ok(prices.includes(spent), `${spent} of ${prices.slice(0, 5)}, ... ${prices.at(-1)}`);
  socket.sendText({ type: "Speak", text: "Иә, тыңдап тұрмын." });
  socket.sendFlush({ type: "Flush" });
  await eventually("flushed", () => heard.types.includes("Flushed"));
  assert.deepEqual(heard.types, ["Metadata", "Cleared", "Flushed"]);
  assert.ok(heard.sound.length > soundBefore, "only the new answer sounds");
  const all = spent + price("Иә, тыңдап тұрмын.");
  await eventually("charged", async () => (await creditsOf(customer)) === before - all);
  socket.sendClose({ type: "Close" });
  assert.equal(await heard.closed, 1000);
});

function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}
