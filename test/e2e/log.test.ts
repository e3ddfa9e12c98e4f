import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";
import WebSocket from "ws";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const SENTENCE = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const PASSWORD = "hunter2-of-the-url";
/** Shorter words and runs of digits occur by chance in many lines. */
const TELLING_CHARACTERS = 5;
/** The limit is longer than any line that the service logs, and shorter than any audio. */
const LONGEST_LINE = 4_000;

let service: ServiceProcess;

before(async () => {
  service = await startServiceProcess({ DATA_DIR: await temporaryFolder(), LOG_LEVEL: "trace" });
});
after(() => service.child.kill("SIGKILL"));

test("at its most verbose level the log contains no key, text or audio", async () => {
  const wrongKey = `sk-svc-${randomBytes(24).toString("hex")}`;
  const spoken = Buffer.from(await (await post("/v1/tts", json({ text: SENTENCE, nfe: 16 }))).arrayBuffer());
  await (await post("/v1/tts/stream", json({ text: SENTENCE, nfe: 4 }))).arrayBuffer();
  await (await post("/v1/audio/speech", json({ input: SENTENCE, response_format: "pcm" }))).arrayBuffer();
  const { text } = (await (await post("/v1/transcribe?timestamps=true", raw(spoken))).json()) as {
    text: string;
  };
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(spoken)]), "құпия.wav");
  form.set("prompt", SENTENCE);
  assert.equal((await post("/v1/audio/transcriptions", { body: form })).status, 200);
  // Failures are logged in more detail than successes.
  const failures: readonly [answer: Promise<Response>, status: number][] = [
    [post("/v1/tts", json({ text: SENTENCE, speed: SENTENCE })), 400],
    [post("/v1/tts", { body: SENTENCE }), 400],
    [post("/v1/tts", json({ text: SENTENCE, voice: SENTENCE })), 404],
    [post("/v1/tts", json({ text: SENTENCE }), wrongKey), 401],
    [post(`/v1/tts?api_key=${wrongKey}`, json({ text: SENTENCE }), `${service.key}0`), 401],
    [post(`/v1/${wrongKey}`, json({})), 404],
    [post("/v1/transcribe", raw(Buffer.from(`OggS${SENTENCE}`.repeat(50)))), 400],
    [post(`/v1/transcribe?url=${encodeURIComponent(`http://u:${PASSWORD}@127.0.0.1/`)}`, {}), 400],
    [post(`/v1/transcribe?url=${encodeURIComponent(`http://127.0.0.1/?key=${wrongKey}`)}`, {}), 400],
    [post("/v1/stream/token", {}, wrongKey), 401],
  ];
  for (const [answer, status] of failures) assert.equal((await answer).status, status);
  const heard = await listen({ headers: { authorization: `Bearer ${service.key}` } }, "", spoken);
  const { token } = (await (await post("/v1/stream/token", {})).json()) as { token: string };
  await listen({}, `?words=true&token=${token}`, spoken);
  await listen({}, `?token=${service.key}`, spoken).catch(() => {});
  await listen({}, "", spoken, ["svc-bearer", wrongKey]);
  assert.equal(await service.stop(), 0, service.output());

  // The first start prints a greeting that contains the key. It is not part of the log.
  const lines = service
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  const log = lines.join("\n");
  // Each request has logged a line, so searching the log means something.
  assert.ok(lines.filter((line) => line.includes('"request served"')).length >= failures.length + 6, log);
  assert.match(log, /live socket opened/);
  const lower = log.toLowerCase();
  for (const word of [SENTENCE, text, heard].flatMap(wordsOf)) {
    assert.ok(
      !lower.includes(word),
      `"${word}" is in the log: ${lines.find((line) => line.toLowerCase().includes(word))}`,
    );
    assert.ok(!lower.includes(encodeURIComponent(word).toLowerCase()), `"${word}" is encoded in the log`);
  }
  for (const secret of [service.key, wrongKey, token].map((key) => key.slice("sk-svc-".length))) {
    for (let at = 0; at + 12 <= secret.length; at++) {
      const part = secret.slice(at, at + 12);
      const line = lines.find((each) => each.toLowerCase().includes(part));
      assert.equal(line, undefined, `${part} of a key`);
    }
  }
  assert.ok(!log.includes(PASSWORD));
  assert.ok(!/RIFF|OggS|"type":"Buffer"|(?:-?[\d.]+,){16}/.test(log), "audio is in the log");
  for (const line of lines) assert.ok(line.length < LONGEST_LINE, line.slice(0, 200));
});

function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().split(/[^\p{L}]+/u);
  const telling = words.filter((word) => word.length >= TELLING_CHARACTERS);
  assert.ok(telling.length >= 4, text);
  return telling;
}

function json(body: unknown): RequestInit {
  return { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

function raw(bytes: Buffer): RequestInit {
  return {
    body: new Uint8Array(bytes),
    headers: { "content-type": "application/octet-stream", "x-filename": "a.wav" },
  };
}

function post(path: string, request: RequestInit, key = service.key): Promise<Response> {
  const headers = { ...(request.headers as Record<string, string>), authorization: `Bearer ${key}` };
  return fetch(service.url + path, { ...request, method: "POST", headers });
}

/** Streams speech into a live session until it closes; returns the text of its finals. */
async function listen(
  options: WebSocket.ClientOptions,
  query: string,
  wav: Buffer,
  protocols: string[] = [],
): Promise<string> {
  const address = `${service.url.replace("http", "ws")}/v1/stream${query}`;
  const socket = new WebSocket(address, protocols, options);
  const finals: string[] = [];
  socket.on("message", (data) => {
    const message = JSON.parse(String(data)) as { type: string; text?: string };
    if (message.type === "final") finals.push(message.text ?? "");
    if (message.type !== "ready") return;
    socket.send(`{"type":"${SENTENCE}"}`);
    socket.send(SENTENCE);
    const samples = new WavSampleReader(wav.length).push(wav);
    const pcm = toInt16(resample(samples, { fromHz: 24_000, toHz: 16_000 }));
    socket.send(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
    socket.send('{"type":"close"}');
  });
  await once(socket, "close");
  return finals.join(" ");
}
