// Clients that use a service until it is killed, and record what they received.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import WebSocket from "ws";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { WavFrameReader } from "../../core/protocol/wav-frames.js";
import { pace } from "../support/pace.js";
import { synthesisCredits } from "../support/prices.js";
import { SEED, uniform } from "../support/seed.js";
import type { ServiceProcess } from "../support/service-process.js";

const SENTENCES = ["Сәлем, әлем. ", "Бүгін ауа райы жақсы. ", "Ертең жаңбыр жауады."];
const TEXT = SENTENCES.join("");
const FILE_RATE_HZ = 8_000;
export const LIVE_RATE_HZ = 16_000;
const MESSAGE_MS = 100;
const fileLength = uniform(SEED + 1);

/** Results that clients saw in one round, and the charges that must follow from them. */
export interface Seen {
  /** Before the first request. */
  readonly since: Date;
  /** Credits of each complete response, by request id. */
  readonly answered: Map<string, number>;
  /** Credits for the received sentences of each interrupted stream, by request id. */
  readonly broken: Map<string, number>;
  readonly sessions: LiveSeen[];
}

export interface LiveSeen {
  id: string | null;
  sentSamples: number;
  /** The end of the audio that the service reported as transcribed, in seconds. */
  heardSeconds: number;
  doneCredits: number | null;
}

export type Address = Pick<ServiceProcess, "url" | "key">;

/** A client that reconnects until the service is killed; its interrupted work is the subject of the test. */
export async function repeat(gone: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!gone.aborted) {
    await work().catch(async (error: unknown) => {
      if (error instanceof assert.AssertionError) throw error;
      await pace(20);
    });
  }
}

export async function speak(service: Address, seen: Seen): Promise<void> {
  const answer = await fetch(`${service.url}/v1/tts`, { method: "POST", ...speechRequest(service) });
  await answer.arrayBuffer();
  assert.equal(answer.status, 200);
  const credits = synthesisCredits(Number(answer.headers.get("x-svc-chars")));
  seen.answered.set(answer.headers.get("x-request-id")!, credits);
}

function speechRequest(service: Address) {
  return {
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: TEXT, nfe: 4 }),
  };
}

/**
 * Reads frames as they arrive: `fetch` would discard undelivered data when the connection breaks.
 */
export async function speakStreaming(service: Address, seen: Seen): Promise<void> {
  const { headers, body } = speechRequest(service);
  const asked = request(`${service.url}/v1/tts/stream`, { method: "POST", headers });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  const id = String(answer.headers["x-request-id"]);
  const frames = new WavFrameReader();
  let frameCount = 0;
  answer.on("data", (chunk: Buffer) => {
    frameCount += frames.push(chunk).length;
  });
  const isWhole = await new Promise<boolean>((resolve) => {
    answer.once("close", () => resolve(answer.complete));
    answer.on("error", () => {});
  });
  const credits = synthesisCredits(SENTENCES.slice(0, frameCount).join("").length);
  if (isWhole) assert.equal(frameCount, SENTENCES.length);
  (isWhole ? seen.answered : seen.broken).set(id, credits);
}

export async function transcribe(service: Address, seen: Seen): Promise<void> {
  const seconds = 0.5 + fileLength() * 3;
  const wav = writeWav(new Int16Array(Math.round(seconds * FILE_RATE_HZ)), FILE_RATE_HZ);
  const answer = await fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  const body = (await answer.json()) as { credits_charged: number };
  assert.equal(answer.status, 200);
  assert.equal(String(body.credits_charged), answer.headers.get("x-svc-credits"));
  seen.answered.set(answer.headers.get("x-request-id")!, body.credits_charged);
}

export async function listen(
  service: Address,
  seen: Seen,
  speech: Int16Array,
  lengthMs: number,
): Promise<void> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const session: LiveSeen = { id: null, sentSamples: 0, heardSeconds: 0, doneCredits: null };
  socket.on("error", () => {});
  socket.on("message", (data) => {
    const message = JSON.parse(String(data));
    if (message.type === "ready") session.id = message.session_id;
    if (message.type === "partial" || message.type === "final") session.heardSeconds = message.end;
    if (message.type === "done") session.doneCredits = message.credits_charged;
  });
  const closed = once(socket, "close");
  await Promise.race([once(socket, "open"), closed]);
  seen.sessions.push(session);
  const length = (LIVE_RATE_HZ * MESSAGE_MS) / 1_000;
  for (let ms = 0; ms < lengthMs && socket.readyState === WebSocket.OPEN; ms += MESSAGE_MS) {
    const start = session.sentSamples % (speech.length - length);
    socket.send(speech.slice(start, start + length));
    session.sentSamples += length;
    await pace(MESSAGE_MS);
  }
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "close" }));
  await closed;
}

/** Speech for live sessions. */
export async function spokenText(service: Address): Promise<Int16Array> {
  const answer = await fetch(`${service.url}/v1/tts`, { method: "POST", ...speechRequest(service) });
  const wav = new Uint8Array(await answer.arrayBuffer());
  const samples = new WavSampleReader(wav.length).push(wav);
  return toInt16(resample(samples, { fromHz: 24_000, toHz: LIVE_RATE_HZ }));
}
