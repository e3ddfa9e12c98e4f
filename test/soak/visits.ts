import { once } from "node:events";
import WebSocket from "ws";
import { runLive } from "../../bench/support/live-client.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { AttackedService } from "../attack/support/attacked-service.js";
import { chunk } from "../attack/support/floods.js";
import { RawConnection } from "../attack/support/raw-connection.js";
import { frame, OPCODE, WebSocketClient } from "../attack/support/web-socket-client.js";
import { silence, speech } from "../support/audio.js";
import { momentOfFault } from "../support/pace.js";

type Visit = (service: AttackedService) => Promise<void>;

const WAV = new Uint8Array(writeWav(silence(0.5), 16_000));
const SPOKEN = speech("asterisk-ru-core/vm-goodbye.flac");
const SPOKEN_WAV = new Uint8Array(writeWav(SPOKEN, 16_000));

/** A minute of a small service's day. Each visit happens once, and all happen at the same time. */
const VISITS: Readonly<Record<string, Visit>> = {
  speech: async (service) => {
    await (await post(service, "/v1/tts", JSON.stringify({ text: "Ия.", nfe: 4 }))).arrayBuffer();
  },
  "speech that the client cancels": async (service) => {
    const leaving = new AbortController();
    const body = JSON.stringify({ text: "Сәлем.", nfe: 4 });
    const asked = post(service, "/v1/tts/stream", body, { signal: leaving.signal });
    void momentOfFault(20).then(() => leaving.abort());
    await asked.then((answer) => answer.arrayBuffer()).catch(() => {});
  },
  file: async (service) => {
    await (await post(service, "/v1/transcribe", SPOKEN_WAV)).arrayBuffer();
  },
  "a request repeated with its key": async (service) => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    for (let attempt = 0; attempt < 2; attempt++)
      await (await post(service, "/v1/transcribe", WAV, { headers })).arrayBuffer();
  },
  "a damaged file": async (service) => {
    await (await post(service, "/v1/transcribe", new Uint8Array(2_000).fill(7))).arrayBuffer();
  },
  "an upload that is cut off": async (service) => {
    const connection = await RawConnection.open(service.port);
    await connection.write(
      `POST /v1/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${service.key}\r\n` +
        "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    await connection.write(chunk("x".repeat(100_000)));
    connection.destroy();
  },
  "live session": async (service) => {
    await runLive({ url: service.url, key: service.key, pcm: SPOKEN, isPaced: false, messageSamples: 640 });
  },
  "live session over another protocol": async (service) => {
    const address = `${service.url.replace("http", "ws")}/v1/listen?encoding=linear16&sample_rate=16000`;
    const socket = new WebSocket(address, { headers: { authorization: `Token ${service.key}` } });
    const closed = once(socket, "close");
    await once(socket, "open");
    socket.send(new Uint8Array(SPOKEN.buffer, SPOKEN.byteOffset, SPOKEN.byteLength));
    socket.send(JSON.stringify({ type: "CloseStream" }));
    await closed;
  },
  "live session that is cut off": async (service) => {
    const { port, key } = service;
    const client = await WebSocketClient.open({ port, path: "/v1/stream", key });
    await client.write(frame(new Uint8Array(32_000), { opcode: OPCODE.binary }));
    client.connection.destroy();
  },
  "live session with invalid messages": async (service) => {
    const { port, key } = service;
    const client = await WebSocketClient.open({ port, path: "/v1/listen", key });
    for (let i = 0; i < 10; i++) await client.sendText("{");
    await client.ended();
  },
  "a wrong key": async (service) => {
    const headers = { authorization: `Bearer sk-svc-${"0".repeat(48)}` };
    await (await fetch(`${service.url}/v1/usage`, { headers })).arrayBuffer();
  },
  catalog: async (service) => {
    for (const path of ["/health", "/ready", "/v1/models", "/openapi.json"])
      await (await fetch(service.url + path)).arrayBuffer();
  },
};

/** The number of visits in a round. */
export const VISITS_PER_ROUND = Object.keys(VISITS).length;

/** Performs every visit once. @throws with the visit's name if one fails */
export async function visitOnce(service: AttackedService): Promise<void> {
  const visits = Object.entries(VISITS).map(async ([name, visit]) => {
    try {
      await visit(service);
    } catch (cause) {
      throw new Error(`visit failed: ${name}`, { cause });
    }
  });
  await Promise.all(visits);
}

function post(
  service: AttackedService,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  { signal, headers }: { readonly signal?: AbortSignal; readonly headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(service.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.key}`,
      "content-type": typeof body === "string" ? "application/json" : "application/octet-stream",
      ...headers,
    },
    body,
    ...(signal !== undefined && { signal }),
  });
}
