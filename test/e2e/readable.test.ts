import assert from "node:assert/strict";
import { before, test } from "node:test";
import WebSocket from "ws";
import { runLive } from "../../bench/support/live-client.js";
import { speak } from "../../bench/support/spoken-stream.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const RATE_HZ = 16_000;
/** Spoken texts, and what people should read, without punctuation. */
const SPOKEN =
  "Біз екі мың жиырма алтыншы жылы он бесінші наурызда кездестік. Бағасы жүз жиырма мың теңге болды.";
const PHONE = "Менің телефоным сегіз жеті жүз бір екі жүз жиырма екі қырық бес алпыс жеті.";

let service: SharedService;
let spoken: Int16Array;
let phone: Int16Array;

before(async () => {
  service = await sharedService();
  [spoken, phone] = (await Promise.all([SPOKEN, PHONE].map((text) => speak(service, { text })))) as [
    Int16Array,
    Int16Array,
  ];
});

test("a file gets readable text next to its unchanged plain text", async () => {
  const plain = await transcribe(spoken, "timestamps=true");
  const readable = await transcribe(spoken, "timestamps=true&display=true");
  assert.deepEqual(
    [readable.text, readable.words, readable.credits_charged],
    [plain.text, plain.words, plain.credits_charged],
  );
  assert.equal(plain.display_text, undefined);
  const shown = readable.display_text!.replaceAll("\u00a0", " ");
  assert.match(shown, /^Біз 2026 жылы 15 наурызда кездестік/);
  assert.match(shown, /120 000 теңге болды\.$/);
  const [, year] = readable.display_words!;
  const said = readable.words!.slice(...year!.spoken);
  assert.deepEqual([year!.word, year!.start, year!.end], ["2026", said[0]!.start, said.at(-1)!.end]);
  assert.equal(readable.segments!.map(({ display_text }) => display_text).join(" "), readable.display_text);
});

test("numerals=none keeps numbers as words", async () => {
  const { display_text } = await transcribe(spoken, "display=true&numerals=none");
  assert.match(display_text!, /^Біз екі мың жиырма алтыншы жылы/);
});

test("a telephone number is removed from every text of a file and its position reported", async () => {
  const masked = await transcribe(phone, "timestamps=true&display=true&redact=phone,iin");
  assert.doesNotMatch(JSON.stringify(masked), /жеті жүз|алпыс|\d{3} \d{2}/);
  assert.match(masked.text, /\[PHONE\]$/);
  assert.match(masked.display_text!, /\[PHONE\]\.$/);
  const [redaction, ...others] = masked.redactions!;
  assert.deepEqual([redaction!.kind, others], ["phone", []]);
  assert.ok(redaction!.end - redaction!.start > 1);
});

test("unknown values are rejected with a list of the known values", async () => {
  for (const [query, detail] of [
    ["redact=phones", /redact must be a list of phone, iin, card, email, received "phones"/],
    ["numerals=some", /numerals must be one of auto, all, none, received "some"/],
    ["display=perhaps", /display must be true, false, 1 or 0, received "perhaps"/],
  ] as const) {
    const answer = await post(spoken, query);
    assert.equal(answer.status, 400);
    assert.match(((await answer.json()) as { detail: string }).detail, detail);
  }
});

test("live finals join to the same sentences without changing their plain text", async () => {
  const silence = new Int16Array(1.5 * RATE_HZ);
  const [plain, readable] = await Promise.all([
    listen([spoken, silence], "partials=false"),
    listen([spoken, silence], "partials=true&display=true&words=true"),
  ]);
  const finals = readable.filter((message) => message.type === "final");
  assert.deepEqual(
    finals.map(({ text }) => text),
    plain.filter((message) => message.type === "final").map(({ text }) => text),
  );
  const done = readable.at(-1);
  assert.ok(done?.type === "done");
  const joined =
    finals.map((final) => final.display_before! + final.display_text!).join("") + done.display_end!;
  const shown = joined.replaceAll("\u00a0", " ");
  assert.match(shown, /^Біз 2026 жылы 15 наурызда кездестік/);
  assert.match(shown, /120 000 теңге болды\.$/);
  for (const { end_of_turn } of finals) assert.ok(end_of_turn! >= 0 && end_of_turn! <= 1);
  for (const { words = [], display_words = [] } of finals) {
    assert.equal(display_words.at(-1)?.spoken[1], words.length);
  }
});

test("a pause is reported halfway through, with the probability that the sentence is over", async () => {
  const pcm = new Int16Array([...spoken, ...new Int16Array(RATE_HZ)]);
  const query = "?display=true&eou_ms=800";
  const { received } = await runLive({ ...service, pcm, messageSamples: 1_600, isPaced: true, query });
  const partials = received.flatMap(({ message }) => (message.type === "partial" ? [message] : []));
  const pause = partials.findLast(({ end_of_turn }) => end_of_turn !== undefined);
  // The final may correct a letter of this text.
  assert.ok(pause !== undefined && pause.text.length > 20);
  assert.ok(pause.end_of_turn! > 0 && pause.end_of_turn! < 1);
  assert.ok(partials.filter(({ end_of_turn }) => end_of_turn === undefined).length > 5);
});

test("a telephone number is in no message of a live session", async () => {
  const messages = await listen(
    [phone, new Int16Array(RATE_HZ)],
    "display=true&words=true&redact=phone&eou_ms=800",
  );
  assert.doesNotMatch(JSON.stringify(messages), /жеті жүз|алпыс/);
  const finals = messages.filter((message) => message.type === "final");
  assert.deepEqual(
    finals.flatMap(({ redactions = [] }) => redactions.map(({ kind }) => kind)),
    ["phone"],
  );
  assert.ok(messages.some((message) => message.type === "partial"));
});

test("turns of a conversation have digits and punctuation, and mask a telephone number", async () => {
  const heard = await turnsOf([spoken, new Int16Array(RATE_HZ)], "smart_format=true");
  const shown = heard.join(" ").replaceAll("\u00a0", " ");
  assert.match(shown, /^Біз 2026 жылы 15 наурызда кездестік/);
  assert.match(shown, /120 000 теңге болды/);
  const masked = await turnsOf([phone, new Int16Array(RATE_HZ)], "numerals=true&redact=phone");
  assert.match(masked.join(" "), /\[PHONE\]$/);
});

/** Speaks into `/v2/listen`, and returns the transcript of each turn. */
async function turnsOf(parts: readonly Int16Array[], query: string): Promise<readonly string[]> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v2/listen?eot_threshold=1&${query}`, {
    headers: { authorization: `Token ${service.key}` },
  });
  const turns: string[] = [];
  socket.on("message", (data) => {
    const { event, transcript } = JSON.parse(String(data)) as { event?: string; transcript?: string };
    if (event === "EndOfTurn") turns.push(transcript!);
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  for (const pcm of parts) socket.send(Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength));
  socket.send(JSON.stringify({ type: "CloseStream" }));
  assert.equal(await new Promise((resolve) => socket.once("close", resolve)), 1_000);
  return turns;
}

function post(pcm: Int16Array, query: string): Promise<Response> {
  return fetch(`${service.url}/v1/transcribe?${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: Buffer.from(writeWav(pcm, RATE_HZ)),
  });
}

async function transcribe(pcm: Int16Array, query: string): Promise<Transcription> {
  const answer = await post(pcm, query);
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as Transcription;
}

/** Sends the audio at once, closes, and returns all messages. */
async function listen(parts: readonly Int16Array[], query: string): Promise<StreamServerMessage[]> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream?${query}`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const messages: StreamServerMessage[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  for (const pcm of parts) socket.send(Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength));
  socket.send(JSON.stringify({ type: "close" }));
  const code = await new Promise((resolve) => socket.once("close", resolve));
  assert.equal(code, 1_000);
  return messages;
}
