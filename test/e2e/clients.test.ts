import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { createOpenAI } from "@ai-sdk/openai";
import { decode } from "@msgpack/msgpack";
import { APICallError, experimental_generateSpeech, experimental_transcribe } from "ai";
import OpenAI5, { toFile as toFile5 } from "openai-5";
import OpenAI6, { toFile as toFile6 } from "openai-6";
import { WebSocket } from "ws";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { WavFrameReader } from "../../core/protocol/wav-frames.js";
import { pastedCurlBlocks } from "../support/readme-commands.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Сәлем, әлем!";
const WRONG_KEY = `sk-svc-${"ab".repeat(24)}`;
const run = promisify(execFile);

let service: SharedService;
let spoken: Buffer;

before(async () => {
  service = await sharedService();
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ text: TEXT, nfe: 16 }),
  });
  spoken = Buffer.from(await answer.arrayBuffer());
});

// Both versions have the same calls but incompatible types, so the older version's types are used for both.
const CLIENTS = [
  { version: "5", OpenAI: OpenAI5, toFile: toFile5 },
  { version: "6", OpenAI: OpenAI6 as unknown as typeof OpenAI5, toFile: toFile6 as typeof toFile5 },
];

for (const { version, OpenAI, toFile } of CLIENTS) {
  describe(`the openai client ${version} works with only the address changed`, () => {
    const clientWith = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${service.url}/v1` });
    const file = () => toFile(spoken, "speech.wav");

    test("speaks wav and pcm", async () => {
      const client = clientWith(service.key);
      const request = { model: "tts-1", voice: "aigul", input: TEXT } as const;
      const wav = Buffer.from(
        await (await client.audio.speech.create({ ...request, response_format: "wav" })).arrayBuffer(),
      );
      assert.equal(parseWavHeader(wav, wav.length)?.sampleRateHz, 24_000);
      const pcm = await client.audio.speech.create({ ...request, response_format: "pcm", instructions: "x" });
      assert.equal(pcm.headers.get("content-type"), "audio/pcm");
      assert.equal(
        (await pcm.arrayBuffer()).byteLength,
        wav.length - 44,
        "the same samples without a header",
      );
    });

    test("transcribes into every format", async () => {
      const { transcriptions } = clientWith(service.key).audio;
      const request = { model: "whisper-1", language: "kk" } as const;
      const plain = await transcriptions.create({ ...request, file: await file() }).withResponse();
      assert.deepEqual(Object.keys(plain.data), ["text"]);
      assert.match(plain.data.text, /^[а-яёәғқңөұүһі ]+$/);
      assert.match(plain.response.headers.get("x-svc-credits") ?? "", /^\d+$/);
      const { text } = plain.data;
      const as = async (format: "text" | "srt" | "vtt") =>
        String(await transcriptions.create({ ...request, file: await file(), response_format: format }));
      assert.equal(await as("text"), text);
      assert.match(await as("srt"), /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
      assert.match(await as("vtt"), /^WEBVTT\n\n00:00:0\d\.\d{3} --> /);
      const verbose = await transcriptions.create({
        ...request,
        file: await file(),
        response_format: "verbose_json",
        timestamp_granularities: ["word", "segment"],
      });
      assert.equal(verbose.text, text);
      assert.equal(verbose.words?.map(({ word }) => word).join(" "), text);
      assert.equal(verbose.segments?.map((segment) => segment.text).join(" "), text);
      assert.ok(verbose.segments?.every(({ start, end }) => start < end));
    });

    test("maps failures to its own classes, with the request id", async () => {
      const request = { model: "tts-1", voice: "aigul", input: TEXT } as const;
      const { speech, transcriptions } = clientWith(service.key).audio;
      await assert.rejects(clientWith(WRONG_KEY).audio.speech.create(request), (error) => {
        assert.ok(error instanceof OpenAI.AuthenticationError);
        assert.match(error.requestID ?? "", /^req_/);
        return true;
      });
      for (const wrong of [
        async () => speech.create({ ...request, response_format: "mp3" }),
        async () => speech.create({ ...request, voice: "alloy", response_format: "wav" }),
        async () => speech.create({ ...request, input: "", response_format: "wav" }),
        async () => transcriptions.create({ model: "whisper-9", file: await file() }),
      ]) {
        await assert.rejects(wrong, OpenAI.BadRequestError);
      }
      await assert.rejects(clientWith(service.key).models.retrieve("x"), OpenAI.NotFoundError);
    });
  });
}

describe("the OpenAI provider of the AI SDK", () => {
  const provider = () => createOpenAI({ apiKey: service.key, baseURL: `${service.url}/v1` });

  test("speaks", async () => {
    const { audio } = await experimental_generateSpeech({
      model: provider().speech("tts-1"),
      text: TEXT,
      voice: "dauren",
      outputFormat: "wav",
    });
    assert.equal(parseWavHeader(audio.uint8Array, audio.uint8Array.length)?.sampleRateHz, 24_000);
  });

  test("transcribes with each of its own model names", async () => {
    for (const model of ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]) {
      const result = await experimental_transcribe({ model: provider().transcription(model), audio: spoken });
      assert.match(result.text, /[а-яәғқңөұүһі]/);
    }
  });

  test("transcribes with segments that pass its own validation", async () => {
    const result = await experimental_transcribe({
      model: provider().transcription("whisper-1"),
      audio: spoken,
      providerOptions: { openai: { timestampGranularities: ["segment"] } },
    });
    assert.ok(result.segments.length > 0 && result.durationInSeconds! > 0.5);
    assert.equal(result.language, "kk");
  });

  test("reports a rejected format", async () => {
    const refused = experimental_generateSpeech({
      model: provider().speech("tts-1"),
      text: TEXT,
      voice: "aigul",
    });
    await assert.rejects(refused, (error) => {
      assert.ok(APICallError.isInstance(error) && error.statusCode === 400);
      assert.match(error.responseBody ?? "", /response_format must be one of wav, pcm/);
      return true;
    });
  });
});

test("the commands of README.md and the API pages do what they say", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dauys-readme-"));
  const blocks = pastedCurlBlocks(service.url);
  let output = "";
  for (const block of blocks) {
    // An error response or a failed command ends the block.
    const script = `curl() { command curl --fail-with-body "$@"; }\n${block}`;
    const env = { ...process.env, DAUYS_API_KEY: service.key };
    const done = await run("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, env }).catch(
      (error: { stdout: string; stderr: string }) => assert.fail(`${block}\n${error.stdout}${error.stderr}`),
    );
    output += done.stdout;
  }
  const wav = await readFile(join(folder, "salem.wav"));
  assert.equal(parseWavHeader(wav, wav.length)?.sampleRateHz, 24_000);
  const frames = new WavFrameReader();
  assert.equal([...frames.push(await readFile(join(folder, "frames.bin")))].length, 2);
  assert.match(output, /"words":\[\{"word":/);
  assert.match(output, /"default_voice"/);
  await rm(folder, { recursive: true });
});

test("a browser's token opens a live session in MessagePack", async () => {
  const answer = await fetch(`${service.url}/v1/stream/token`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}` },
  });
  const { token } = (await answer.json()) as { token: string };
  const address = `${service.url.replace("http", "ws")}/v1/stream?encoding=msgpack&token=${token}`;
  const socket = new WebSocket(address);
  const types: unknown[] = [];
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  socket.on("message", (bytes: Buffer) => {
    const message = decode(bytes) as Record<string, unknown>;
    types.push(message["type"]);
    if (message["type"] !== "ready") return;
    socket.send(Buffer.alloc(32_000));
    socket.send('{"type":"close"}');
  });
  assert.equal(await closed, 1000);
  assert.deepEqual(types, ["ready", "done"]);
});

test("only the operator port serves metrics of the work", async () => {
  const metrics = async () => (await fetch(`${service.operatorUrl}/metrics`)).text();
  const dropped = (text: string) => Number(/^text_dropped_characters_total (\d+)$/m.exec(text)?.[1]);
  const before = dropped(await metrics());
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ text: "Иә 😀漢", nfe: 4 }),
  });
  assert.equal(answer.status, 200);
  await answer.arrayBuffer();
  const text = await metrics();
  assert.match(text, /^http_requests_total\{method="POST",route="\/v1\/tts",status="200"\} \d+$/m);
  assert.match(text, /^tts_first_audio_ms_count\{model="svc-kk-v1"\} \d+$/m);
  assert.equal(dropped(text) - before, 2);
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
  assert.equal((await fetch(`${service.url}/metrics`)).status, 404);
});
