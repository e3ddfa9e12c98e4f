// Requests and messages as Pipecat's services and Home Assistant's integrations send them, and the price of
// the same audio on every live protocol.
import assert from "node:assert/strict";
import { once } from "node:events";
import { before, test } from "node:test";
import { WebSocket } from "ws";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { risen } from "../../bench/support/operator-metrics.js";
import { littleEndianBytes, toFloat, toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { eventually } from "../support/eventually.js";
import { metricsOf, type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const SPOKEN_HZ = 24_000;
const LIVE_HZ = 16_000;
/** The same limit as in the test of the service's own socket. */
const MAX_CHARACTER_ERROR_RATE = 0.09;
/** 20 ms at 16 kHz. */
const PIECE_BYTES = 640;

type Json = Readonly<Record<string, unknown>>;

let service: SharedService;
/** Speech followed by a second of silence, at each sample rate. */
let spoken: Uint8Array;
let live: Uint8Array;

before(async () => {
  service = await sharedService();
  const answer = await fetch(`${service.url}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ model: "tts-1", input: TEXT, response_format: "pcm" }),
  });
  const pcm = new Int16Array(await answer.arrayBuffer());
  const padded = new Int16Array(pcm.length + SPOKEN_HZ);
  padded.set(pcm);
  spoken = littleEndianBytes(padded);
  live = littleEndianBytes(toInt16(resample(toFloat(padded), { fromHz: SPOKEN_HZ, toHz: LIVE_HZ })));
});

interface Opened {
  readonly socket: WebSocket;
  readonly messages: Json[];
  readonly sound: Buffer[];
  readonly closed: Promise<unknown>;
  /** Resolves with the first message for which `is` is true. */
  until(what: string, is: (message: Json) => boolean): Promise<Json>;
}

async function opened(path: string, scheme: "Token" | "Bearer", { url, key } = service): Promise<Opened> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, {
    headers: { authorization: `${scheme} ${key}` },
  });
  const messages: Json[] = [];
  const sound: Buffer[] = [];
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) sound.push(data);
    else messages.push(JSON.parse(String(data)) as Json);
  });
  const closed = once(socket, "close");
  await once(socket, "open");
  const until: Opened["until"] = async (what, is) => {
    await eventually(what, () => messages.some(is));
    return messages.find(is)!;
  };
  return { socket, messages, sound, closed, until };
}

function sendPieces({ socket }: Opened, bytes: Uint8Array): void {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    socket.send(bytes.subarray(start, start + PIECE_BYTES));
}

function sendAppends({ socket }: Opened, bytes: Uint8Array): void {
  for (let start = 0; start < bytes.length; start += 4_800) {
    const audio = Buffer.from(bytes.subarray(start, start + 4_800)).toString("base64");
    socket.send(JSON.stringify({ type: "input_audio_buffer.append", audio }));
  }
}

function assertText(text: unknown): void {
  const { characterErrorRate } = errorRates([{ reference: TEXT, hypothesis: String(text) }]);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate}: ${text}`);
}

test("Pipecat's DeepgramSTTService: its query, and a Finalize when its own detector hears the end", async () => {
  const query =
    "detect_entities=false&diarize=false&dictation=false&endpointing=1000&interim_results=true&numerals=false" +
    "&profanity_filter=true&punctuate=true&smart_format=false&model=nova-3-general&language=kk" +
    "&encoding=linear16&channels=1&multichannel=false&sample_rate=16000";
  const stt = await opened(`/v1/listen?${query}`, "Token");
  // The detector reports the end before the silence that would end the utterance.
  sendPieces(stt, live.subarray(0, live.length - 2 * LIVE_HZ));
  stt.socket.send('{"type":"Finalize"}');
  const { channel } = await stt.until("the final", ({ from_finalize }) => from_finalize === true);
  assertText((channel as { alternatives: { transcript: string }[] }).alternatives[0]!.transcript);
  stt.socket.send('{"type":"CloseStream"}');
  await stt.closed;
});

test("Pipecat's DeepgramFluxSTTService: turns, and a rejected change of options", async () => {
  const query =
    "model=flux-general-multi&sample_rate=16000&encoding=linear16&eager_eot_threshold=0.4&eot_threshold=0.7" +
    "&keyterm=кітапхана&tag=agent&language_hint=ru";
  const stt = await opened(`/v2/listen?${encodeURI(query)}`, "Token");
  await stt.until("Connected", ({ type }) => type === "Connected");
  sendPieces(stt, live);
  const { transcript } = await stt.until("the end of the turn", ({ event }) => event === "EndOfTurn");
  assertText(transcript);
  assert.ok(stt.messages.some(({ event }) => event === "EagerEndOfTurn"));
  stt.socket.send('{"type":"Configure","thresholds":{"eot_threshold":0.8}}');
  await stt.until("an answer", ({ type }) => type === "ConfigureFailure");
  stt.socket.send('{"type":"CloseStream"}');
  await stt.closed;
});

test("Pipecat's DeepgramTTSService: sentences, a flush, and a clear when the listener interrupts", async () => {
  const tts = await opened("/v1/speak?model=aigul&encoding=linear16&sample_rate=24000", "Token");
  tts.socket.send(JSON.stringify({ type: "Speak", text: `${TEXT} ` }));
  tts.socket.send('{"type":"Flush"}');
  await tts.until("flushed", ({ type }) => type === "Flushed");
  const bytes = Buffer.concat(tts.sound).length;
  assert.ok(bytes > 4 * SPOKEN_HZ, `${bytes} bytes`);
  tts.socket.send(JSON.stringify({ type: "Speak", text: `${TEXT} `.repeat(20) }));
  tts.socket.send('{"type":"Clear"}');
  await tts.until("cleared", ({ type }) => type === "Cleared");
  tts.socket.send('{"type":"Close"}');
  await tts.closed;
});

test("Pipecat's DeepgramHttpTTSService: a text in, samples out", async () => {
  const query = "model=aigul&encoding=linear16&sample_rate=24000&container=none";
  const answer = await fetch(`${service.url}/v1/speak?${query}`, {
    method: "POST",
    headers: { authorization: `Token ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: TEXT }),
  });
  assert.equal(answer.status, 200);
  assert.ok((await answer.arrayBuffer()).byteLength > 4 * SPOKEN_HZ);
});

test("Pipecat's OpenAIRealtimeSTTService: commits by its own detector", async () => {
  const stt = await opened("/v1/realtime?intent=transcription", "Bearer");
  await stt.until("created", ({ type }) => type === "session.created");
  const input = {
    format: { type: "audio/pcm", rate: SPOKEN_HZ },
    transcription: { model: "gpt-realtime-whisper", language: "kk" },
    turn_detection: null,
  };
  stt.socket.send(
    JSON.stringify({ type: "session.update", session: { type: "transcription", audio: { input } } }),
  );
  await stt.until("updated", ({ type }) => type === "session.updated");
  sendAppends(stt, spoken);
  stt.socket.send('{"type":"input_audio_buffer.commit"}');
  const { transcript } = await stt.until("completed", ({ type }) => String(type).endsWith(".completed"));
  assertText(transcript);
  stt.socket.close();
});

test("Home Assistant's OpenAI STT and Pipecat's OpenAISTTService: a WAV in a form", async () => {
  const wav = writeWav(new Int16Array(live.buffer, live.byteOffset, live.length / 2), LIVE_HZ);
  for (const [name, model, fields] of [
    [
      "whisper_audio.wav",
      "gpt-4o-mini-transcribe",
      { prompt: "", temperature: "0", response_format: "json" },
    ],
    ["audio.wav", "gpt-4o-transcribe", {}],
  ] as const) {
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(wav)], { type: "audio/wav" }), name);
    for (const [field, value] of Object.entries({ model, language: "kk", ...fields }))
      form.append(field, value);
    const answer = await fetch(`${service.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}` },
      body: form,
    });
    const body = (await answer.json()) as { readonly text: string };
    assert.equal(answer.status, 200, JSON.stringify(body));
    assertText(body.text);
  }
});

test("Home Assistant's OpenAI TTS: a voice by its name, as WAV or PCM", async () => {
  for (const response_format of ["wav", "pcm"]) {
    const answer = await fetch(`${service.url}/v1/audio/speech`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "tts-1", input: TEXT, voice: "aigul", response_format, speed: 1 }),
    });
    assert.equal(answer.status, 200);
    assert.ok((await answer.arrayBuffer()).byteLength > 4 * SPOKEN_HZ);
  }
});

test("the same audio costs the same on every live protocol, and is counted by its path", async () => {
  const customer = await sharedService();
  const earlier = await metricsOf(customer);
  const close = async (session: Opened, message: string) => {
    sendPieces(session, live);
    session.socket.send(message);
    await session.closed;
  };
  const options = "encoding=linear16&sample_rate=16000";
  const stream = await opened("/v1/stream", "Bearer", customer);
  await close(stream, '{"type":"close"}');
  await close(await opened(`/v1/listen?${options}`, "Token", customer), '{"type":"CloseStream"}');
  await close(await opened(`/v2/listen?${options}`, "Token", customer), '{"type":"CloseStream"}');
  const realtime = await opened("/v1/realtime?intent=transcription", "Bearer", customer);
  sendAppends(realtime, spoken);
  realtime.socket.send('{"type":"input_audio_buffer.commit"}');
  await realtime.until("the last turn", ({ type }) => String(type).endsWith(".completed"));
  realtime.socket.close();
  const { credits_charged } = stream.messages.find(({ type }) => type === "done")!;
  const paths = ["/v1/stream", "/v1/listen", "/v2/listen", "/v1/realtime"];
  let daysAgo = 1;
  const charged = async () => {
    // Each request asks for another period because responses are cached.
    const from = new Date(Date.now() - 86_400_000 * daysAgo++).toISOString().slice(0, 10);
    const answer = await fetch(`${customer.url}/v1/usage?from=${from}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    });
    const { data } = (await answer.json()) as { data: readonly { endpoint: string; credits: number }[] };
    return Object.fromEntries(data.map(({ endpoint, credits }) => [endpoint, credits]));
  };
  await eventually("all are charged", async () => Object.keys(await charged()).length === paths.length);
  assert.deepEqual(await charged(), Object.fromEntries(paths.map((path) => [path, credits_charged])));
  const after = await metricsOf(customer);
  for (const path of paths) assert.ok(risen(earlier, after, `live_sessions_total{path="${path}"}`) > 0, path);
});
