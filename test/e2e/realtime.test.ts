import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { before, describe, test } from "node:test";
import OpenAI5 from "openai-5";
import { OpenAIRealtimeWS as BetaRealtimeWS } from "openai-5/beta/realtime/ws";
import OpenAI6 from "openai-6";
import { OpenAIRealtimeWS } from "openai-6/realtime/ws";
import { WebSocket } from "ws";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { risen } from "../../bench/support/operator-metrics.js";
import { StreamedPcm } from "../../core/domain/audio/streamed-pcm.js";
import { eventually } from "../support/eventually.js";
import { pace } from "../support/pace.js";
import { append, RealtimeEvents } from "../support/realtime-events.js";
import { metricsOf, type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const SPOKEN_RATE_HZ = 24_000;
/** The same limit as in the test of the service's own socket. */
const MAX_CHARACTER_ERROR_RATE = 0.09;
/** 100 ms of 16-bit samples. */
const PIECE_BYTES = SPOKEN_RATE_HZ / 5;
const TRANSCRIPTION = "conversation.item.input_audio_transcription";

let service: SharedService;
/** Speech followed by the silence that ends it, at 24 kHz. */
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

/** The library always connects with `wss:`. Here the connection underneath is unencrypted. */
function plain() {
  const { hostname, port } = new URL(service.url);
  return { createConnection: () => connect(Number(port), hostname) };
}

function clientOf(apiKey = service.key) {
  return new OpenAI6({ apiKey, baseURL: `${service.url}/v1` });
}

function sendAll(send: (audio: string) => void, bytes: Buffer): void {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    send(bytes.subarray(start, start + PIECE_BYTES).toString("base64"));
  }
}

function assertText(text: string): void {
  const { characterErrorRate } = errorRates([{ reference: TEXT, hypothesis: text }]);
  assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate}: ${text}`);
}

/** Opens a socket the way clients without the library do. */
async function opened(protocols: string[], headers: Record<string, string> = {}, query = "") {
  const url = `${service.url.replace("http", "ws")}/v1/realtime?intent=transcription${query}`;
  const socket = new WebSocket(url, protocols, { headers });
  const events = new RealtimeEvents(socket);
  await once(socket, "open");
  return { socket, events };
}

test("OpenAI's client transcribes with turn detection, and deltas only append text", async () => {
  const realtime = new OpenAIRealtimeWS({ model: "gpt-4o-transcribe", options: plain() }, clientOf());
  const events = new RealtimeEvents(realtime.socket);
  realtime.on("error", (error) => assert.fail(error));
  const created = await events.seen("session.created");
  assert.equal(created["session"].type, "transcription");
  assert.equal(created["session"].audio.input.turn_detection.silence_duration_ms, 500);
  realtime.send({
    type: "session.update",
    session: {
      type: "transcription",
      audio: {
        input: {
          format: { type: "audio/pcm", rate: 24_000 },
          transcription: { model: "gpt-4o-mini-transcribe", language: "kk" },
          turn_detection: { type: "server_vad", silence_duration_ms: 300 },
        },
      },
    },
  });
  const updated = await events.seen("session.updated");
  assert.equal(updated["session"].audio.input.transcription.model, "svc-kk-ru-v2");
  assert.equal(updated["session"].audio.input.turn_detection.silence_duration_ms, 300);
  for (let start = 0; start < pcm.length; start += PIECE_BYTES) {
    const audio = pcm.subarray(start, start + PIECE_BYTES).toString("base64");
    realtime.send({ type: "input_audio_buffer.append", audio });
    await pace(20);
  }
  const completed = await events.seen(`${TRANSCRIPTION}.completed`);
  const ofItem = events.all.filter(
    (event) => event["item_id"] === completed["item_id"] || event["item"]?.id === completed["item_id"],
  );
  const deltas = ofItem.filter(({ type }) => type === `${TRANSCRIPTION}.delta`);
  assert.ok(deltas.length > 0);
  const order = ofItem.map(({ type }) => type).filter((type) => !type.endsWith(".delta"));
  assert.deepEqual(order, [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
    `${TRANSCRIPTION}.completed`,
  ]);
  const transcripts = events.of(`${TRANSCRIPTION}.completed`).map(({ transcript }) => transcript);
  assertText(transcripts.join(" "));
  assert.equal(new Set(events.all.map(({ event_id }) => event_id)).size, events.all.length);
  realtime.close();
});

test("OpenAI's client commits and clears turns itself", async () => {
  const realtime = new OpenAIRealtimeWS({ model: "whisper-1", options: plain() }, clientOf());
  const events = new RealtimeEvents(realtime.socket);
  const errors: (string | null | undefined)[] = [];
  realtime.on("error", ({ error }) => errors.push(error?.code));
  await events.seen("session.created");
  realtime.send({
    type: "session.update",
    session: { type: "transcription", audio: { input: { turn_detection: null } } },
  });
  await events.seen("session.updated");
  realtime.send({ type: "input_audio_buffer.commit" });
  await events.seen("error");
  assert.deepEqual(errors, ["input_audio_buffer_commit_empty"]);
  // The three turns are one without speech, one that is cleared, and one with speech.
  sendAll((audio) => realtime.send({ type: "input_audio_buffer.append", audio }), Buffer.alloc(24_000));
  realtime.send({ type: "input_audio_buffer.commit" });
  const silent = await events.seen(`${TRANSCRIPTION}.completed`);
  assert.deepEqual([silent["transcript"], silent["usage"]], ["", { type: "duration", seconds: 0.5 }]);
  sendAll((audio) => realtime.send({ type: "input_audio_buffer.append", audio }), pcm);
  realtime.send({ type: "input_audio_buffer.clear" });
  await events.seen("input_audio_buffer.cleared");
  sendAll((audio) => realtime.send({ type: "input_audio_buffer.append", audio }), pcm);
  realtime.send({ type: "input_audio_buffer.commit" });
  const spoken = await events.seen(`${TRANSCRIPTION}.completed`, 2);
  assertText(spoken["transcript"]);
  assert.equal(spoken["usage"].type, "duration");
  const heard = pcm.length / 2 / SPOKEN_RATE_HZ;
  assert.ok(Math.abs(spoken["usage"].seconds - heard) < 0.01, `${spoken["usage"].seconds} of ${heard}`);
  const [first, second] = events.of("input_audio_buffer.committed");
  assert.equal(first!["previous_item_id"], null);
  assert.equal(second!["previous_item_id"], first!["item_id"]);
  assert.ok(!events.types.includes("input_audio_buffer.speech_started"));
  realtime.close();
});

test("OpenAI's beta client gets the events of the beta", async () => {
  const client = new OpenAI5({ apiKey: service.key, baseURL: `${service.url}/v1` });
  const realtime = new BetaRealtimeWS({ model: "gpt-4o-realtime-preview", options: plain() }, client);
  const events = new RealtimeEvents(realtime.socket);
  realtime.on("error", (error) => assert.fail(error));
  const created = await events.seen("session.created");
  assert.equal(created["session"].input_audio_format, "pcm16");
  realtime.send({
    type: "transcription_session.update",
    session: {
      input_audio_format: "pcm16",
      input_audio_transcription: { model: "gpt-4o-transcribe" },
      turn_detection: { type: "server_vad", silence_duration_ms: 200 },
    },
  });
  const updated = await events.seen("transcription_session.updated");
  assert.equal(updated["session"].turn_detection.silence_duration_ms, 200);
  sendAll((audio) => realtime.send({ type: "input_audio_buffer.append", audio }), pcm);
  await events.seen(`${TRANSCRIPTION}.completed`);
  assert.ok(events.types.includes("conversation.item.created"));
  assert.ok(!events.types.includes("conversation.item.added"));
  realtime.close();
});

describe("credentials of realtime sockets", () => {
  const opensWith = async (protocols: string[], headers: Record<string, string> = {}) => {
    const { socket, events } = await opened(protocols, headers);
    const [first] = await Promise.race([
      events.seen("session.created"),
      events.seen("transcription_session.created"),
      events.seen("error"),
    ]).then((event) => [event]);
    socket.terminate();
    return { protocol: socket.protocol, type: first!.type, error: first!["error"] };
  };

  test("the key is accepted as a header, and as a subprotocol in any order", async () => {
    const { key } = service;
    const insecure = `openai-insecure-api-key.${key}`;
    const headers = { authorization: `Bearer ${key}` };
    const plainKey = await opensWith([], headers);
    assert.deepEqual([plainKey.protocol, plainKey.type], ["", "session.created"]);
    assert.equal((await opensWith(["realtime"], headers)).protocol, "realtime");
    assert.equal((await opensWith(["realtime", insecure])).type, "session.created");
    const beta = await opensWith([insecure, "openai-beta.realtime-v1", "realtime"]);
    assert.deepEqual([beta.protocol, beta.type], ["realtime", "transcription_session.created"]);
  });

  test("a wrong key in a subprotocol gets OpenAI's error on the open socket", async () => {
    const { type, error } = await opensWith([
      "realtime",
      `openai-insecure-api-key.sk-svc-${"ab".repeat(24)}`,
    ]);
    assert.equal(type, "error");
    assert.deepEqual([error.type, error.code], ["authentication_error", "invalid_api_key"]);
  });

  test("a client secret opens several sessions with its configuration, and nothing else", async () => {
    const secret = await clientOf().realtime.clientSecrets.create({
      expires_after: { anchor: "created_at", seconds: 60 },
      session: {
        type: "transcription",
        audio: { input: { format: { type: "audio/pcmu" }, turn_detection: null } },
      },
    });
    assert.match(secret.value, /^ek_svc_/);
    assert.ok(Number.isInteger(secret.expires_at));
    for (let nth = 0; nth < 2; nth++) {
      const { socket, events } = await opened(["realtime", `openai-insecure-api-key.${secret.value}`]);
      const { session } = await events.seen("session.created");
      assert.deepEqual(session.audio.input.format, { type: "audio/pcmu" });
      assert.equal(session.audio.input.turn_detection, null);
      socket.terminate();
    }
    const changed = `${secret.value.slice(0, -1)}${secret.value.endsWith("A") ? "B" : "A"}`;
    for (const wrong of [changed, "ek_svc_1"]) {
      const { error } = await opensWith(["realtime", `openai-insecure-api-key.${wrong}`]);
      assert.equal(error.code, "invalid_api_key");
    }
    await assert.rejects(
      clientOf(secret.value).audio.speech.create({
        model: "tts-1",
        input: TEXT,
        voice: "aigul",
      }),
      OpenAI6.AuthenticationError,
    );
  });

  test("the beta's transcription session has a secret with the requested lifetime", async () => {
    const { transcriptionSessions } = new OpenAI5({ apiKey: service.key, baseURL: `${service.url}/v1` }).beta
      .realtime;
    const expiry = async (seconds?: number) => {
      const lifetime = seconds === undefined ? {} : { client_secret: { expires_at: { seconds } } };
      const { client_secret, input_audio_format, turn_detection } = await transcriptionSessions.create({
        ...{ input_audio_format: "g711_ulaw", turn_detection: { silence_duration_ms: 300 } },
        ...lifetime,
      });
      assert.deepEqual([input_audio_format, turn_detection?.silence_duration_ms], ["g711_ulaw", 300]);
      return client_secret.expires_at;
    };
    const [short, usual, long] = [await expiry(30), await expiry(), await expiry(7_200)];
    assert.ok(usual - short >= 570 && long - usual >= 6_600, `${[short, usual, long]}`);
    await assert.rejects(expiry(5), OpenAI5.BadRequestError);
  });

  test("invalid bodies of client secrets get OpenAI's errors", async () => {
    const { clientSecrets } = clientOf().realtime;
    assert.match((await clientSecrets.create({})).value, /^ek_svc_/);
    for (const body of [
      { expires_after: { seconds: 5 } },
      { session: { type: "realtime" } },
      { session: { type: "transcription", audio: { input: { transcription: { model: "nova-3" } } } } },
      {
        session: { type: "transcription", audio: { input: { format: { type: "audio/pcm", rate: 16_000 } } } },
      },
    ]) {
      await assert.rejects(
        clientSecrets.create(body as never),
        OpenAI6.BadRequestError,
        JSON.stringify(body),
      );
    }
    await assert.rejects(clientOf("wrong").realtime.clientSecrets.create({}), OpenAI6.AuthenticationError);
  });
});

test("the same audio costs the same as on /v1/stream, and the items' seconds add up to it", async () => {
  const customer = await sharedService();
  const earlier = await metricsOf(customer);
  const authorization = `Bearer ${customer.key}`;
  const url = `${customer.url.replace("http", "ws")}/v1`;
  const heard = new StreamedPcm("linear16", SPOKEN_RATE_HZ, 16_000).push(pcm);
  const stream = new WebSocket(`${url}/stream`, { headers: { authorization } });
  const done = new Promise<{ readonly credits_charged: number }>((resolve) => {
    stream.on("message", (data) => {
      const message = JSON.parse(String(data));
      if (message.type === "done") resolve(message);
    });
  });
  await once(stream, "open");
  stream.send(new Uint8Array(heard.buffer, heard.byteOffset, heard.byteLength));
  stream.send('{"type":"close"}');
  const { credits_charged: expected } = await done;
  const realtime = new WebSocket(`${url}/realtime`, { headers: { authorization } });
  const events = new RealtimeEvents(realtime);
  await once(realtime, "open");
  realtime.send(
    '{"type":"session.update","session":{"type":"transcription","audio":{"input":{"turn_detection":null}}}}',
  );
  for (let start = 0; start < pcm.length; start += PIECE_BYTES) {
    realtime.send(append(pcm.subarray(start, start + PIECE_BYTES)));
    if (start % (10 * PIECE_BYTES) === 0) realtime.send('{"type":"input_audio_buffer.commit"}');
  }
  realtime.send('{"type":"input_audio_buffer.commit"}');
  const commits = 1 + Math.ceil(pcm.length / (10 * PIECE_BYTES));
  await events.seen(`${TRANSCRIPTION}.completed`, commits);
  realtime.close();
  const usages = events.of(`${TRANSCRIPTION}.completed`).map(({ usage }) => usage.seconds as number);
  const total = usages.reduce((sum, seconds) => sum + seconds, 0);
  assert.ok(Math.abs(total - heard.length / 16_000) < 0.001 * commits, `${total}`);
  let daysAgo = 1;
  const charged = async () => {
    const from = new Date(Date.now() - 86_400_000 * daysAgo++).toISOString().slice(0, 10);
    const answer = await fetch(`${customer.url}/v1/usage?from=${from}`, { headers: { authorization } });
    const { data } = (await answer.json()) as { data: readonly { endpoint: string; credits: number }[] };
    return Object.fromEntries(data.map(({ endpoint, credits }) => [endpoint, credits]));
  };
  await eventually("both are charged", async () => Object.keys(await charged()).length === 2);
  assert.deepEqual(await charged(), { "/v1/stream": expected, "/v1/realtime": expected });
  const after = await metricsOf(customer);
  for (const path of ["/v1/stream", "/v1/realtime"])
    assert.ok(risen(earlier, after, `live_sessions_total{path="${path}"}`) > 0, path);
});
