import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseWavHeader, writeWav } from "../../core/domain/audio/wav.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceStub, STUB_KEY, startStub } from "./service-stub.js";
import { dauys } from "./support.js";

const SENTENCES = [
  Int16Array.from({ length: 2_400 }, (_, i) => i),
  Int16Array.from({ length: 1_200 }, (_, i) => -i),
];

test("speak sends every option and writes the service's audio", async (t) => {
  const wav = writeWav(SENTENCES[0]!, 24_000);
  const stub = await stubFor(t, (_, response) => {
    response
      .writeHead(200, { "content-type": "audio/wav", "x-svc-chars": "10", "x-svc-credits": "4" })
      .end(wav);
  });
  const output = join(await temporaryFolder(), "out.wav");
  const args = [
    "speak",
    "сәлем әлем",
    "-o",
    output,
    "--voice",
    "aru",
    "--speed",
    "1.5",
    "--nfe",
    "16",
    "--json",
  ];
  const { code, stdout, stderr } = await dauys(args, envOf(stub));
  assert.equal(code, 0, stderr);
  assert.deepEqual(await readFile(output), Buffer.from(wav));
  const { first_audio_ms, ...said } = JSON.parse(stdout);
  assert.deepEqual(said, { file: output, characters: 10, credits: 4 });
  assert.ok(first_audio_ms > 0);
  const { path, headers, body } = stub.requests[0]!;
  assert.equal(path, "/v1/tts");
  assert.equal(headers.authorization, `Bearer ${STUB_KEY}`);
  assert.deepEqual(JSON.parse(String(body)), { text: "сәлем әлем", voice: "aru", speed: 1.5, nfe: 16 });
});

test("speak --stream joins the sentences into one WAV, however they are chunked", async (t) => {
  const frames = Buffer.concat(SENTENCES.map(frameOf));
  const stub = await stubFor(t, (_, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    for (let i = 0; i < frames.length; i += 997) response.write(frames.subarray(i, i + 997));
    response.end();
  });
  const output = join(await temporaryFolder(), "out.wav");
  const { code, stderr } = await dauys(["speak", "-", "-o", output, "--stream"], {
    ...envOf(stub),
    stdin: "екі сөйлем\n",
  });
  assert.equal(code, 0, stderr);
  assert.equal(stub.requests[0]!.path, "/v1/tts/stream?frames=chunks");
  assert.equal(JSON.parse(String(stub.requests[0]!.body)).text, "екі сөйлем");
  const joined = Int16Array.of(...SENTENCES[0]!, ...SENTENCES[1]!);
  assert.deepEqual(await readFile(output), Buffer.from(writeWav(joined, 24_000)));
});

test("speak leaves no file when the audio is cut off", async (t) => {
  const frame = frameOf(SENTENCES[0]!);
  const stub = await stubFor(t, (_, response) => {
    response.writeHead(200).end(frame.subarray(0, 100));
  });
  const output = join(await temporaryFolder(), "out.wav");
  const { code, stderr } = await dauysInTurn(["speak", "сәлем", "-o", output, "--stream"], envOf(stub));
  assert.equal(code, 1);
  assert.match(stderr, /ended in the middle of a sentence/);
  assert.ok(!existsSync(output));
});

test("shows a rejection in the service's words", async (t) => {
  const stub = await stubFor(t, (_, response) => {
    response
      .writeHead(429, { "content-type": "application/json" })
      .end('{"detail":"needs 8 credits, 0 left"}');
  });
  const file = join(await temporaryFolder(), "long.wav");
  await writeFile(file, Buffer.alloc(3_000_000));
  for (const args of [
    ["speak", "сәлем", "-o", "-"],
    ["transcribe", file],
  ]) {
    const { code, stdout, stderr } = await dauysInTurn(args, envOf(stub));
    assert.deepEqual([code, stdout, stderr], [1, "", "dauys: needs 8 credits, 0 left (HTTP 429)\n"]);
  }
});

test("transcribe uploads a file and prints its text or its segments", async (t) => {
  const span = { start: 0.42, end: 61.5 };
  const answer = {
    text: "сәлем он бес әлем",
    display_text: "Сәлем, 15 әлем.",
    words: ["сәлем", "он", "бес", "әлем"].map((word, at) => ({ word, start: at, end: at + 0.9 })),
    display_words: [
      { word: "Сәлем,", start: 0, end: 0.9, spoken: [0, 1] },
      { word: "15", start: 1, end: 2.9, spoken: [1, 3] },
      { word: "әлем.", start: 3, end: 3.9, spoken: [3, 4] },
    ],
    segments: [
      { id: 0, text: "сәлем он", display_text: "Сәлем, 15", ...span },
      { id: 1, text: "бес", display_text: "", ...span },
      { id: 2, text: "әлем", display_text: "әлем.", ...span },
    ],
  };
  const stub = await stubFor(t, (_, response) => response.writeHead(200).end(JSON.stringify(answer)));
  const file = join(await temporaryFolder(), "жазба.MP3");
  await writeFile(file, "not really sound");
  const plain = await dauysInTurn(["transcribe", file], envOf(stub));
  assert.deepEqual([plain.code, plain.stdout], [0, "Сәлем, 15 әлем.\n"]);
  assert.equal(stub.requests[0]!.headers["x-filename"], "audio.MP3");
  assert.equal(String(stub.requests[0]!.body), "not really sound");
  const timed = await dauysInTurn(["transcribe", file, "--timestamps"], envOf(stub));
  const times = "[00:00.42 - 01:01.50]";
  assert.equal(timed.stdout, `${times} Сәлем, 15\n${times} әлем.\n`);
  const srt = await dauysInTurn(["transcribe", file, "--srt"], envOf(stub));
  assert.equal(srt.stdout, "1\n00:00:00,000 --> 00:00:03,900\nСәлем, 15 әлем.\n\n");
  const json = await dauysInTurn(["transcribe", file, "--timestamps", "--json"], envOf(stub));
  assert.deepEqual(JSON.parse(json.stdout), { ...answer, request_id: null, is_replayed: false });
  const { segments, words, display_words, ...plainAnswer } = answer;
  const plainJson = await dauysInTurn(["transcribe", file, "--json"], envOf(stub));
  assert.deepEqual(JSON.parse(plainJson.stdout), { ...plainAnswer, request_id: null, is_replayed: false });
  const keys = stub.requests.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys).size, 1, "whatever is made of it, it is one work");
  await dauysInTurn(["transcribe", "https://example.org/a b.wav"], envOf(stub));
  assert.equal(
    stub.requests.at(-1)!.path,
    "/v1/transcribe?timestamps=true&display=true&url=https%3A%2F%2Fexample.org%2Fa+b.wav",
  );
  const missing = await dauysInTurn(["transcribe", "/nowhere.wav"], envOf(stub));
  assert.deepEqual([missing.code, missing.stderr], [1, "dauys: cannot read /nowhere.wav: no such file\n"]);
});

test("transcribe passes on the options of readable text, and each choice has its own idempotency key", async (t) => {
  const stub = await stubFor(t, (_, response) => response.writeHead(200).end('{"text":"бір"}'));
  const file = join(await temporaryFolder(), "a.wav");
  await writeFile(file, "not really sound");
  const queries = [
    [[], "timestamps=true&display=true"],
    [["--plain"], "timestamps=true"],
    [["--numerals", "all"], "timestamps=true&display=true&numerals=all"],
    [["--redact", "phone,iin"], "timestamps=true&display=true&redact=phone%2Ciin"],
    [["--plain", "--redact", "iin"], "timestamps=true&redact=iin"],
  ] as const;
  for (const [options, query] of queries) {
    const { code, stdout } = await dauysInTurn(["transcribe", file, ...options], envOf(stub));
    assert.deepEqual([code, stdout], [0, "бір\n"], "a service without readable text");
    assert.equal(stub.requests.at(-1)!.path, `/v1/transcribe?${query}`);
  }
  const keys = stub.requests.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys).size, queries.length);
  const wrong = await dauysInTurn(["transcribe", file, "--plain", "--numerals", "all"], envOf(stub));
  assert.deepEqual(
    [wrong.code, wrong.stderr.split("\n")[0]],
    [2, "dauys: --numerals has no effect with --plain"],
  );
});

test("listen prints one sentence per line, and adds punctuation as it becomes known", async (t) => {
  const said = [
    { text: "мен келдім", display_text: "Мен келдім", display_before: "" },
    { text: "бірақ сен жоқ", display_text: "бірақ сен жоқ", display_before: ", " },
    { text: "қайда болдың", display_text: "Қайда болдың", display_before: ". " },
  ];
  const stub = await startStub(
    () => {},
    (socket) => {
      const say = (message: unknown) => socket.send(JSON.stringify(message));
      say({ type: "ready" });
      socket.on("message", (_data: Buffer, isBinary) => {
        if (isBinary) return;
        for (const [at, one] of said.entries())
          say({ type: "final", utterance: at, ...one, start: at, end: at + 0.6, end_of_turn: 0.5 });
        say({ type: "done", audio_seconds: 0.1, credits_charged: 1, display_end: "?" });
        socket.close(1000);
      });
    },
  );
  t.after(() => stub.close());
  const listened = async (...options: string[]) =>
    dauys(["listen", "-", ...options], { ...envOf(stub), stdin: new Uint8Array(3_200) });
  const readable = await listened("--redact", "phone");
  assert.deepEqual([readable.code, readable.stdout], [0, "Мен келдім, бірақ сен жоқ.\nҚайда болдың?\n"]);
  assert.equal(stub.requests.at(-1)!.path, "/v1/stream?display=true&redact=phone");
  const json = (await listened("--json", "--numerals", "none")).stdout.trim().split("\n");
  const [first, last] = [JSON.parse(json[1]!), JSON.parse(json.at(-1)!)];
  assert.deepEqual([first.display_text, first.display_before, first.end_of_turn], ["Мен келдім", "", 0.5]);
  assert.equal(last.display_end, "?");
  assert.equal(stub.requests.at(-1)!.path, "/v1/stream?display=true&numerals=none");
  await listened("--plain");
  assert.equal(stub.requests.at(-1)!.path, "/v1/stream");
});

test("listen streams a WAV of any rate in real time and prints finals as they arrive", async (t) => {
  let bytes = 0;
  let tookMs = 0;
  const stub = await startStub(
    () => {},
    (socket) => {
      const openedAtMs = performance.now();
      const say = (message: unknown) => socket.send(JSON.stringify(message));
      say({ type: "ready" });
      socket.on("message", (data: Buffer, isBinary) => {
        if (isBinary) {
          bytes += data.length;
          say({ type: "partial", utterance: 0, text: "сәл", start: 0, end: 0.1 });
          return;
        }
        tookMs = performance.now() - openedAtMs;
        assert.deepEqual(JSON.parse(String(data)), { type: "close" });
        say({ type: "final", utterance: 0, text: "сәлем", start: 0, end: 0.6 });
        say({ type: "done", audio_seconds: 0.6, credits_charged: 4 });
        socket.close(1000);
      });
    },
  );
  t.after(() => stub.close());
  const folder = await temporaryFolder();
  const file = join(folder, "a.wav");
  await writeFile(file, writeWav(new Int16Array(0.6 * 24_000).fill(1_000), 24_000));
  const listened = await dauys(["listen", file, "--eou-ms", "300"], envOf(stub));
  assert.deepEqual([listened.code, listened.stdout], [0, "сәлем\n"], listened.stderr);
  assert.equal(bytes, 0.6 * 16_000 * 2);
  assert.ok(tookMs >= 450, `audio of 600 ms was sent in ${tookMs} ms`);
  assert.equal(stub.requests[0]!.path, "/v1/stream?eou_ms=300&display=true");

  await t.test("listen - reads raw samples and, with --json, prints every message", async () => {
    bytes = 0;
    const raw = await dauys(["listen", "-", "--json"], { ...envOf(stub), stdin: new Uint8Array(4_000) });
    const types = raw.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).type);
    assert.deepEqual([types[0], types.at(-2), types.at(-1)], ["ready", "final", "done"]);
    assert.equal(bytes, 4_000);
  });

  await t.test("other formats are rejected with a command to convert them", async () => {
    const mp3 = join(folder, "a.mp3");
    await writeFile(mp3, "ID3...");
    const { code, stderr } = await dauys(["listen", mp3], envOf(stub));
    assert.equal(code, 1);
    assert.match(stderr, /expected a WAV file, or raw .*`ffmpeg -i/);
  });

  await t.test("shows a rejected key in the service's words", async () => {
    const { code, stderr } = await dauys(["listen", file, "--key", "sk-svc-0", "--url", stub.url]);
    assert.deepEqual([code, stderr], [1, "dauys: missing or invalid API key (HTTP 401)\n"]);
  });
});

test("listen ends with 1 when the service reports an error", async (t) => {
  const stub = await startStub(
    () => {},
    (socket) => {
      socket.send(
        '{"type":"error","code":"out_of_credits","detail":"needs 6 credits, 0 left","retryable":false}',
      );
      socket.close(4429);
    },
  );
  t.after(() => stub.close());
  const { code, stderr } = await dauys(["listen", "-"], { ...envOf(stub), stdin: new Uint8Array(64_000) });
  assert.deepEqual([code, stderr], [1, "dauys: needs 6 credits, 0 left (HTTP 429)\n"]);
});

test("the development key of the data folder is used when no key is given", async (t) => {
  const stub = await stubFor(t, (_, response) => {
    response.writeHead(200).end('{"text":""}');
  });
  const dataDir = await temporaryFolder();
  const env = { DAUYS_URL: `${stub.url}/prefix`, DATA_DIR: dataDir };
  const without = await dauys(["transcribe", "-"], { env, stdin: "x" });
  assert.equal(without.code, 2);
  assert.match(without.stderr, /no API key; use --key, set DAUYS_API_KEY/);
  await mkdir(dataDir, { recursive: true });
  await writeFile(join(dataDir, "dev-key"), `${STUB_KEY}\n`);
  assert.equal((await dauys(["transcribe", "-"], { env, stdin: "x" })).code, 0);
  assert.equal(stub.requests[0]!.headers.authorization, `Bearer ${STUB_KEY}`);
  assert.equal(stub.requests[0]!.path, "/prefix/v1/transcribe?timestamps=true&display=true");
});

test("an unreachable service is reported with its address", async () => {
  const { code, stderr } = await dauys([
    "speak",
    "x",
    "-o",
    "-",
    "--url",
    "http://127.0.0.1:1",
    "--key",
    STUB_KEY,
  ]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /cannot reach the service at http:\/\/127\.0\.0\.1:1: ECONNREFUSED; start the service/,
  );
});

test("the advice on a failed connection depends on the system's error code", async (t) => {
  const stub = await stubFor(t, (_, response) => response.end("{}"));
  const noHttp = createServer((socket) => socket.on("error", () => {}).end("220 mail.example.org ready\r\n"));
  noHttp.listen(0, "127.0.0.1");
  await once(noHttp, "listening");
  t.after(() => noHttp.close());
  const mailUrl = `http://127.0.0.1:${(noHttp.address() as AddressInfo).port}`;
  for (const [url, advice] of [
    ["http://localhost:1", /ECONNREFUSED; start the service with `npm start`/],
    [stub.url.replace("http:", "https:"), /the server does not use TLS, try http:\/\/ in --url/],
    [mailUrl, /the server does not answer in plain HTTP, try https:\/\/ in --url/],
    ["http://no-such-host.invalid", /check the host name in --url and the network/],
  ] as const) {
    const { code, stderr } = await dauysInTurn(["status", "--url", url]);
    assert.equal(code, 1);
    assert.match(stderr, advice);
  }
});

async function stubFor(t: TestContext, answer: Parameters<typeof startStub>[0]): Promise<ServiceStub> {
  const stub = await startStub(answer);
  t.after(() => stub.close());
  return stub;
}

function envOf(stub: ServiceStub) {
  return { env: { DAUYS_URL: stub.url, DAUYS_API_KEY: STUB_KEY } };
}

function frameOf(pcm: Int16Array): Buffer {
  const wav = writeWav(pcm, 24_000);
  assert.ok(parseWavHeader(wav));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(wav.length);
  return Buffer.concat([length, wav]);
}
