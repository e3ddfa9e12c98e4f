// Responses contain seconds to the millisecond and ratios to four decimals; only billed amounts are exact.
import assert from "node:assert/strict";
import { once } from "node:events";
import { before, test } from "node:test";
import { decode } from "@msgpack/msgpack";
import { WebSocket } from "ws";
import { freePort } from "../../bench/support/free-port.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { ENDPOINTS } from "../../core/protocol/endpoints.js";
import { takeWords, WavFrameReader } from "../../core/protocol/wav-frames.js";
import { consoleRoutes } from "../../src/console/server/api.js";
import type { ConsoleDeps } from "../../src/console/server/route.js";
import { Visitor } from "../console/running-console.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { pace } from "../support/pace.js";
import { append } from "../support/realtime-events.js";
import { startServiceProcess } from "../support/service-process.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. Ертең балалар келеді.";
const RATE_HZ = 24_000;
const WAV_HEADER_BYTES = 44;
/** Ten messages a second of 2,399 samples each, so that they end between milliseconds. */
const MESSAGE_BYTES = 4_798;
const MESSAGE_MS = 20;
/** Three seconds of silence. */
const SILENT_MESSAGES = 30;

const RATIOS = new Set(["logprob", "rtf", "x_realtime", "confidence", "end_of_turn_confidence", "share"]);
/** The number of samples divided by the rate, so that a client computes the same credits. */
const EXACT = new Set(["audio_seconds"]);

let service: SharedService;
let operatorUrl: string;
let visitor: Visitor;
let organization: string;
let authorization: string;
/** The response of `/v1/tts` with word times. */
let speech: string;
/** The speech as a WAV whose duration is not a whole number of milliseconds. */
let wav: Buffer;
const asked = new Set<string>();

before(async () => {
  service = await sharedService();
  operatorUrl = service.operatorUrl;
  visitor = new Visitor(service.url);
  organization = await visitor.signUp("decimals@example.org");
  const made = await visitor.ask("POST", `/organizations/${organization}/keys`, { name: "decimals" });
  assert.equal(made.status, 201, made.text);
  authorization = `Bearer ${made.json.key}`;
  speech = await (
    await answerOf("POST", "/v1/tts", "?timestamps=true", JSON.stringify({ text: TEXT, nfe: 4 }))
  ).text();
  const spoken = Buffer.from(JSON.parse(speech).audio, "base64");
  const samples = (spoken.length - WAV_HEADER_BYTES) / 2;
  const kept = samples - ((samples - 7) % 24);
  wav = spoken.subarray(0, WAV_HEADER_BYTES + 2 * kept);
  wav.writeUInt32LE(2 * kept, WAV_HEADER_BYTES - 4);
  wav.writeUInt32LE(wav.length - 8, 4);
});

/** Returns the paths of all numbers in a response that have too many decimals for their kind. */
function longNumbers(value: unknown, path = ""): string[] {
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, member]) => longNumbers(member, `${path}.${key}`));
  const name = path.split(".").findLast((part) => !/^\d+$/.test(part)) ?? "";
  if (typeof value !== "number" || EXACT.has(name)) return [];
  const factor = RATIOS.has(name) ? 10_000 : 1_000;
  return value === Math.round(value * factor) / factor ? [] : [`${path}: ${value}`];
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every endpoint
function checkedJson(text: string, path: string): any {
  const body = JSON.parse(text);
  assert.deepEqual(longNumbers(body), [], `${path}: ${text.slice(0, 2_000)}`);
  return body;
}

async function answerOf(
  method: string,
  path: string,
  query = "",
  body?: string | FormData | Uint8Array<ArrayBuffer>,
  headers = {},
) {
  asked.add(`${method} ${path}`);
  const answer = await fetch(service.url + path + query, {
    ...{ method, headers: { authorization, ...headers } },
    ...(body !== undefined && { body }),
  });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer;
}

async function checked(...request: Parameters<typeof answerOf>) {
  const answer = await answerOf(...request);
  return checkedJson(await answer.text(), request[1]);
}

const file = () => new Uint8Array(wav);

test("speech with word times", () => {
  const { words, duration } = checkedJson(speech, "/v1/tts");
  assert.ok(words.length > 5 && duration > 1);
});

test("transcripts: seconds to the millisecond, ratios to four decimals, the billed duration exact", async () => {
  const answer = await answerOf("POST", "/v1/transcribe", "?timestamps=true", file());
  const transcript = checkedJson(await answer.text(), "/v1/transcribe");
  const exact = (wav.length - WAV_HEADER_BYTES) / 2 / RATE_HZ;
  assert.ok(longNumbers({ exact }).length === 1, `${exact} has more than three decimals`);
  assert.equal(transcript.audio_seconds, exact);
  assert.equal(Number(answer.headers.get("x-svc-audio-seconds")), exact);
  assert.equal(transcript.credits_charged, Math.ceil(exact * 2.5));
  assert.ok(transcript.words.length > 5 && transcript.rtf > 0 && transcript.x_realtime > 0);
  assert.ok(Math.abs(transcript.rtf * transcript.x_realtime - 1) < 0.01);
});

test("progress events", async () => {
  const accept = "text/event-stream";
  const answer = await answerOf("POST", "/v1/transcribe", "?timestamps=true", file(), { accept });
  const data = [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(([, text]) =>
    checkedJson(text!, "event"),
  );
  assert.ok(data.length >= 2 && data.at(-1).words.length > 5);
});

test("transcripts on the OpenAI-compatible path", async () => {
  const ask = (format: string) => {
    const form = new FormData();
    form.append("file", new Blob([file()]), "a.wav");
    form.append("response_format", format);
    return checked("POST", "/v1/audio/transcriptions", "", form);
  };
  const verbose = await ask("verbose_json");
  assert.ok(verbose.duration > 1 && verbose.segments.length > 0 && verbose.words.length > 5);
  await ask("json");
});

test("words in frames of speech", async () => {
  const body = JSON.stringify({ text: TEXT, nfe: 4 });
  const answer = await answerOf("POST", "/v1/tts/stream", "?timestamps=true&frames=chunks", body);
  const frames = new WavFrameReader().push(new Uint8Array(await answer.arrayBuffer()));
  const words = frames.flatMap((frame) => takeWords(frame)?.words ?? []);
  assert.ok(words.length > 5);
  assert.deepEqual(longNumbers({ words }), []);
  // The response of the OpenAI-compatible path to speech contains no JSON.
  await (await answerOf("POST", "/v1/audio/speech", "", JSON.stringify({ input: "Сәлем" }))).arrayBuffer();
});

for (const encoding of ["json", "msgpack"]) {
  test(`partials and finals of a live session, in ${encoding}`, async () => {
    const socket = await connect("/v1/stream", `?words=true&encoding=${encoding}`);
    const sentBytes = await speakTo(socket, {
      finalize: { type: "finalize" },
      isFinal: ({ type }) => type === "final",
      close: { type: "close" },
    });
    const messages = await socket.closed;
    const of = (type: string) => messages.filter((message) => message["type"] === type);
    assert.ok(of("partial").length > 2);
    assert.ok(of("final").some(({ words }) => words.length > 0));
    assert.deepEqual(longNumbers(messages), []);
    // The service reads the 24 kHz bytes as 16 kHz audio, that is, as slower speech.
    assert.equal(of("done")[0]!["audio_seconds"], sentBytes / 2 / 16_000);
  });
}

test("Deepgram's messages", async () => {
  const query = `encoding=linear16&sample_rate=${RATE_HZ}&interim_results=true&vad_events=true&utterance_end_ms=1000`;
  const socket = await connect("/v1/listen", `?${query}`);
  await speakTo(socket, {
    finalize: { type: "Finalize" },
    isFinal: ({ is_final }) => is_final === true,
    close: { type: "CloseStream" },
  });
  const messages = await socket.closed;
  const types = new Set(messages.map(({ type }) => type));
  for (const type of ["Results", "SpeechStarted", "UtteranceEnd", "Metadata"])
    assert.ok(types.has(type), [...types].join());
  assert.deepEqual(longNumbers(messages), []);
});

test("Deepgram's turns", async () => {
  const socket = await connect("/v2/listen", `?encoding=linear16&sample_rate=${RATE_HZ}`);
  await speakTo(socket, {
    finalize: { type: "ForceEndTurn" },
    isFinal: ({ event }) => event === "EndOfTurn",
    close: { type: "CloseStream" },
  });
  const messages = await socket.closed;
  assert.deepEqual([messages[0]!.type, longNumbers(messages)], ["Connected", []]);
});

test("Deepgram's responses over HTTP", async () => {
  const listened = await checked("POST", "/v1/listen", "?utterances=true&paragraphs=true", file());
  assert.ok(listened.results.channels[0].alternatives[0].words.length > 5);
  await (await answerOf("POST", "/v1/speak", "", JSON.stringify({ text: "Сәлем" }))).arrayBuffer();
  asked.add("GET /v1/speak");
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/speak`, {
    headers: { authorization },
  });
  const texts: string[] = [];
  socket.on("message", (data, isBinary) => !isBinary && texts.push(String(data)));
  await once(socket, "open");
  for (const message of [{ type: "Speak", text: "Сәлем" }, { type: "Flush" }, { type: "Close" }])
    socket.send(JSON.stringify(message));
  await once(socket, "close");
  assert.deepEqual(
    texts.map((text) => checkedJson(text, "/v1/speak").type),
    ["Metadata", "Flushed"],
  );
});

test("live speech", async () => {
  asked.add("GET /v1/tts/live");
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/tts/live?nfe=4&sample_rate=48000`, {
    headers: { authorization },
  });
  const texts: string[] = [];
  socket.on("message", (data, isBinary) => !isBinary && texts.push(String(data)));
  await once(socket, "open");
  for (const message of [{ type: "text", text: TEXT }, { type: "close" }])
    socket.send(JSON.stringify(message));
  await once(socket, "close");
  const types = texts.map((text) => checkedJson(text, "/v1/tts/live").type);
  assert.deepEqual([types[0], types[1], types.at(-2), types.at(-1)], ["ready", "audio", "flushed", "done"]);
});

test("OpenAI's realtime events", async () => {
  const { socket, messages, closed } = await connect("/v1/realtime", "?intent=transcription");
  const include = ["item.input_audio_transcription.logprobs"];
  const session = { include, audio: { input: { turn_detection: null } } };
  socket.send(JSON.stringify({ type: "session.update", session }));
  socket.send(append(wav.subarray(WAV_HEADER_BYTES)));
  socket.send('{"type":"input_audio_buffer.commit"}');
  await eventually("a transcript is here", () =>
    messages.some(({ type }) => String(type).endsWith(".completed")),
  );
  socket.close();
  const { usage, logprobs } = (await closed).at(-1)!;
  assert.ok(usage.seconds > 1 && logprobs.length > 5);
  assert.deepEqual(longNumbers(messages), []);
  await checked("POST", "/v1/realtime/client_secrets", "", "{}");
  await checked("POST", "/v1/realtime/transcription_sessions", "", "{}");
});

test("usage, the other endpoints, the console and the operator's port", async () => {
  const usage = await checked("GET", "/v1/usage");
  const { quantity } = usage.data.find(({ kind }: { kind: string }) => kind === "file");
  assert.ok(quantity > 1);
  for (const path of [
    "/v1/balance",
    "/v1/key",
    "/v1/vocabulary",
    "/v1/models",
    "/v1/voices",
    "/v1/audio/models",
    "/v1/audio/voices",
  ])
    await checked("GET", path);
  for (const path of ["/health", "/ready"]) await checked("GET", path);
  for (const path of ["/openapi.json", "/asyncapi.json"]) await checked("GET", path);
  await checked("POST", "/v1/stream/token");
  await checked("PUT", "/v1/vocabulary", "", "{}");
  const job = await checked("POST", "/v1/jobs/transcriptions", "?timestamps=true", file());
  const ofJob = async (method: string, below = "") => {
    asked.add(`${method} /v1/jobs/{id}${below}`);
    const answer = await fetch(`${service.url}/v1/jobs/${job.id}${below}`, {
      ...{ method, headers: { authorization } },
    });
    return checkedJson(await answer.text(), `${method} job${below}`);
  };
  await eventually("the job is done", async () => (await ofJob("GET")).status === "done");
  await checked("GET", "/v1/jobs");
  assert.ok((await ofJob("GET", "/result")).words.length > 5);
  await ofJob("DELETE");
  for (const method of ["GET", "POST"]) await checked(method, "/v1/jobs/webhook-secret");
  const rows = ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(
    rows.filter((row) => !asked.has(row)),
    [],
    "every endpoint is called",
  );

  // This test checks only the values in the rows.
  const routes = consoleRoutes({ store: {} } as ConsoleDeps).filter(({ method }) => method === "GET");
  assert.ok(routes.length > 8);
  for (const { path } of routes) {
    const below = path.replace("/console/api", "").replace(":organization", organization);
    const answer = await visitor.ask("GET", below.endsWith("/usage") ? `${below}?days=30` : below);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    if (!below.endsWith(".csv")) checkedJson(answer.text, path);
  }
  checkedJson(await (await fetch(`${operatorUrl}/health`)).text(), "/health of operators");
});

test("the work waiting for engines, as reported by a gateway", { skip: WITHOUT_NATS }, async (t) => {
  const nats = await NatsServer.start();
  t.after(() => nats.kill());
  const operatorPort = await freePort();
  const gateway = await startServiceProcess({
    ...(await lightModels()),
    ...{
      ROLE: "gateway",
      KEY_PEPPER: "pepper of a fleet",
      BUS_URL: nats.url,
      OPERATOR_PORT: String(operatorPort),
    },
  });
  for (const path of ["demand", "health"])
    checkedJson(await (await fetch(`http://127.0.0.1:${operatorPort}/${path}`)).text(), path);
  assert.equal(await gateway.stop(), 0, gateway.output());
});

// biome-ignore lint/suspicious/noExplicitAny: messages of two protocols
type Message = Record<string, any>;

async function connect(path: string, query: string) {
  asked.add(`GET ${path}`);
  const socket = new WebSocket(service.url.replace("http", "ws") + path + query, {
    headers: { authorization },
  });
  const messages: Message[] = [];
  socket.on("message", (data: Buffer, isBinary) => {
    messages.push(isBinary ? (decode(data) as Message) : JSON.parse(data.toString()));
  });
  const closed = once(socket, "close").then(() => messages);
  await once(socket, "open");
  return { socket, messages, closed };
}

/**
 * Sends speech in messages of odd length, a finalize message, and silence after its final. Returns the number
 * of audio bytes that were sent.
 */
async function speakTo(
  { socket, messages }: { readonly socket: WebSocket; readonly messages: readonly Message[] },
  said: { finalize: object; isFinal: (message: Message) => boolean; close: object },
): Promise<number> {
  const silence = new Uint8Array(MESSAGE_BYTES);
  const pcm = wav.subarray(WAV_HEADER_BYTES);
  for (let start = 0; start < pcm.length; start += MESSAGE_BYTES) {
    socket.send(pcm.subarray(start, start + MESSAGE_BYTES));
    await pace(MESSAGE_MS);
  }
  socket.send(JSON.stringify(said.finalize));
  await eventually("a final is here", () => messages.some(said.isFinal));
  for (let nth = 0; nth < SILENT_MESSAGES; nth++) {
    socket.send(silence);
    await pace(MESSAGE_MS);
  }
  socket.send(JSON.stringify(said.close));
  return pcm.length + SILENT_MESSAGES * MESSAGE_BYTES;
}
