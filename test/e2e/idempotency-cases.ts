import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { writeWav } from "../../core/domain/audio/wav.js";
import { synthesisCredits } from "../support/prices.js";

/** Only two frames of a stream, because it is synthesized about sixty times. */
export const TEXT = "Сәлем, әлем. Ия.";
export const CREDITS = synthesisCredits([...TEXT].length);
/** Takes more than a second, during which something else happens. */
export const LONG_TEXT =
  "Сәлем, әлем. Бүгін ауа райы жақсы болады. Кітапхана кешке дейін жұмыс істейді.".repeat(2);
export const LONG_CREDITS = synthesisCredits([...LONG_TEXT].length);
/** Three seconds: 8 credits. */
export const FILE = writeWav(new Int16Array(3 * 8_000), 8_000);
const OTHER_FILE = writeWav(new Int16Array(4 * 8_000), 8_000);
export const FILE_CREDITS = 8;
/** Twelve seconds. */
export const LONG_FILE = writeWav(new Int16Array(12 * 8_000), 8_000);
export const LONG_FILE_CREDITS = 30;

function form(file: Uint8Array, fields: Record<string, string> = {}): FormData {
  const parts = new FormData();
  for (const [name, value] of Object.entries(fields)) parts.set(name, value);
  parts.set("file", new Blob([new Uint8Array(file)]), "speech.wav");
  return parts;
}

/** A request, the same request in different notation, and another one. */
interface Case {
  readonly path: string;
  readonly one: () => RequestInit["body"];
  readonly same: () => RequestInit["body"];
  readonly other: () => RequestInit["body"];
  readonly credits: number;
}

export const CASES: readonly Case[] = [
  ...["/v1/tts", "/v1/tts/stream"].map((path) => ({
    path,
    one: () => JSON.stringify({ text: TEXT, nfe: 4 }),
    same: () => ` {"nfe": 4, "speed": 1.0, "text": ${JSON.stringify(TEXT)}}`,
    other: () => JSON.stringify({ text: TEXT, nfe: 4, voice: "dauren" }),
    credits: CREDITS,
  })),
  ...["wav", "pcm"].map((response_format) => ({
    path: "/v1/audio/speech",
    one: () => JSON.stringify({ input: "Сәлем.", model: "tts-1", response_format }),
    same: () => JSON.stringify({ response_format, model: "tts-1", input: "Сәлем." }),
    other: () => JSON.stringify({ input: "Сәлем!", model: "tts-1", response_format }),
    credits: 3,
  })),
  {
    path: "/v1/transcribe?timestamps=true",
    one: () => form(FILE),
    same: () => form(FILE),
    other: () => form(OTHER_FILE),
    credits: FILE_CREDITS,
  },
  {
    path: "/v1/transcribe",
    one: () => new Uint8Array(FILE),
    same: () => new Blob([new Uint8Array(FILE)]).stream(),
    other: () => new Uint8Array(OTHER_FILE),
    credits: FILE_CREDITS,
  },
  {
    path: "/v1/audio/transcriptions",
    one: () => form(FILE, { response_format: "verbose_json", model: "whisper-1" }),
    same: () => form(FILE, { model: "whisper-1", response_format: "verbose_json" }),
    other: () => form(FILE, { response_format: "text", model: "whisper-1" }),
    credits: FILE_CREDITS,
  },
  ...[
    { same: { display: "true" }, other: { display: "false" } },
    { same: { numerals: "auto" }, other: { numerals: "all" } },
    { same: {}, other: { redact: "phone" } },
  ].map(({ same, other }) => ({
    path: "/v1/audio/transcriptions",
    one: () => form(FILE, { response_format: "srt" }),
    same: () => form(FILE, { response_format: "srt", ...same }),
    other: () => form(FILE, { response_format: "srt", ...other }),
    credits: FILE_CREDITS,
  })),
];

export async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A proxy that loses the first response after the service has sent it. */
export async function loseFirstAnswer(port: number) {
  let count = 0;
  const server = createServer(async (incoming, outgoing) => {
    const isLost = ++count === 1;
    const { method, url, headers } = incoming;
    const onward = httpRequest({ host: "127.0.0.1", port, method, path: url, headers });
    incoming.pipe(onward);
    const [answer] = (await once(onward, "response")) as [IncomingMessage];
    if (!isLost) {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
      return;
    }
    await once(answer.resume(), "end");
    incoming.socket.destroy();
  });
  return { base: await listening(server), server, requests: () => count };
}

export function assertReplayed(answer: Response, first: Response): void {
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("idempotent-replayed"), "true");
  assert.equal(answer.headers.get("original-request"), first.headers.get("x-request-id"));
  assert.notEqual(answer.headers.get("x-request-id"), first.headers.get("x-request-id"));
  // Only the request that did the work can have waited for a model.
  const own = ([name]: [string, string]) => /^x-(?!request-id|svc-cold-start)|^content-type/.test(name);
  assert.deepEqual([...answer.headers].filter(own), [...first.headers].filter(own));
}

export async function assertRefused(answer: Response, status: number, name: string): Promise<void> {
  const body = (await answer.json()) as { detail: string };
  assert.deepEqual([answer.status, answer.headers.get("x-svc-error")], [status, name], body.detail);
  assert.deepEqual(Object.keys(body), ["detail"]);
}
