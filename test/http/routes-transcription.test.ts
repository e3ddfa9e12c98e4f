import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { Readable } from "node:stream";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { startCounting } from "../input/url/listeners.js";
import { eventually } from "../support/eventually.js";
import { AUTHORIZED, describeRoutes, detailOf } from "./routes-support.js";

describeRoutes("routes of transcription", (routes) => {
  const { post } = routes;

  test("a raw body is transcribed and deleted", async () => {
    const bytes = Buffer.alloc(3_000_000, 5);
    const answer = await post("/v1/transcribe", bytes, { ...AUTHORIZED, "x-filename": "a/../Voice.OGG" });
    assert.equal(answer.status, 200);
    assert.deepEqual(await answer.json(), {
      text: "сәлем әлем привет",
      model: "svc-kk-ru-v2",
      audio_seconds: 24_001 / 8_000,
      processing_seconds: 0.5,
      rtf: 0.1667,
      x_realtime: 6.0003,
      chunks: 2,
      sample_rate_in: 8_000,
      credits_charged: 8,
    });
    assert.equal(answer.headers.get("x-svc-audio-seconds"), String(24_001 / 8_000));
    assert.equal(answer.headers.get("x-svc-credits"), "8");
    assert.equal(answer.headers.get("x-svc-model"), "svc-kk-ru-v2");
    const [upload] = routes.running.conversations.uploads;
    assert.deepEqual(upload?.bytes, bytes);
    assert.match(upload?.path ?? "", /\/req_[0-9a-f]+\.ogg$/);
    await spoolIsEmpty(routes.running.spoolDir);
  });

  test("a file is expected while it is received, and no longer after its response or a failure", async () => {
    const { conversations } = routes.running;
    let release!: () => void;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const body = async function* () {
      yield Buffer.alloc(100_000, 5);
      await held;
    };
    const answering = fetch(`${routes.running.base}/v1/transcribe`, {
      ...{ method: "POST", headers: AUTHORIZED, duplex: "half" },
      body: Readable.toWeb(Readable.from(body())) as ReadableStream,
    });
    await eventually("the file is expected", () => conversations.expectedFiles === 1);
    release();
    assert.equal((await answering).status, 200);
    await eventually("none is expected any more", () => conversations.expectedFiles === 0);
    conversations.nextTranscription = new ServiceError("AUDIO_UNREADABLE", "not audio");
    assert.equal((await post("/v1/transcribe", Buffer.from("x"))).status, 400);
    await eventually("none is expected any more", () => conversations.expectedFiles === 0);
    assert.deepEqual(conversations.transcribed.slice(-2), [true, false]);
  });

  test("hot words reach the engine; invalid ones are rejected before an upload", async () => {
    const path = (value: string) => `/v1/transcribe?hotwords=${encodeURIComponent(value)}`;
    assert.equal((await post(path("СӘЛЕМ"), Buffer.from("x"))).status, 200);
    assert.deepEqual(routes.running.conversations.wishes?.hotWords, [{ text: "сәлем", characterScore: 1 }]);
    const uploads = routes.running.conversations.uploads.length;
    const detail = await detailOf(await post(path("сәлем:9"), Buffer.from("x")), 400);
    assert.match(detail, /hotwords must have scores of 0 to 5, received "9"/);
    assert.match(
      await detailOf(await post(path("q"), Buffer.from("x")), 400),
      /model's letters, received "q"/,
    );
    assert.equal(routes.running.conversations.uploads.length, uploads);
  });

  test("timestamps add words and segments, in every spelling of true", async () => {
    for (const value of ["true", "TRUE", "1"]) {
      const answer = await post(`/v1/transcribe?timestamps=${value}`, Buffer.from("x"));
      const body = (await answer.json()) as { words: unknown; segments: unknown };
      assert.deepEqual(body.segments, [
        { id: 0, text: "сәлем әлем", start: 0.1, end: 1 },
        { id: 1, text: "привет", start: 2, end: 2.4 },
      ]);
      assert.equal((body.words as unknown[]).length, 3);
    }
    const off = await post("/v1/transcribe?timestamps=0", Buffer.from("x"));
    assert.equal("words" in ((await off.json()) as object), false);
    assert.match(
      await detailOf(await post("/v1/transcribe?timestamps=yes", Buffer.from("x")), 400),
      /timestamps must be true, false, 1 or 0, received "yes"/,
    );
  });

  test("a file part is transcribed like a raw body", async () => {
    const form = new FormData();
    form.set("file", new Blob([Buffer.alloc(500_000, 3)]), "b.mp3");
    const answer = await post("/v1/transcribe", form);
    assert.equal(answer.status, 200);
    const [upload] = routes.running.conversations.uploads;
    assert.deepEqual(upload?.bytes, Buffer.alloc(500_000, 3));
    assert.match(upload?.path ?? "", /\.mp3$/);
    await spoolIsEmpty(routes.running.spoolDir);
  });

  test("no audio, several sources and private urls are rejected with 400", async () => {
    await detailOf(await post("/v1/transcribe", ""), 400, "no_audio");
    await detailOf(await post("/v1/transcribe", new FormData()), 400);
    const empty = new FormData();
    empty.set("file", new Blob([]), "a.wav");
    await detailOf(await post("/v1/transcribe", empty), 400, "no_audio");
    const twice = new FormData();
    twice.append("file", new Blob(["a"]), "a.wav");
    twice.append("file", new Blob(["b"]), "b.wav");
    assert.match(await detailOf(await post("/v1/transcribe", twice), 400), /exactly one/);
    const url = "/v1/transcribe?url=http%3A%2F%2F10.0.0.1%2Fa.wav";
    assert.match(await detailOf(await post(url, ""), 400, "url_fetch_failed"), /public addresses/);
    assert.match(await detailOf(await post(url, Buffer.from("x")), 400), /exactly one of/);
    assert.match(await detailOf(await post(url, twice), 400), /exactly one of/);
    assert.match(await detailOf(await post(`${url}&url=http%3A%2F%2F10.0.0.2`, ""), 400), /exactly one of/);
    await detailOf(await post("/v1/transcribe?url=", ""), 400, "no_audio");
    await spoolIsEmpty(routes.running.spoolDir);
  });

  test("audio from a url is transcribed like an upload, also with an empty body", async () => {
    const bytes = Buffer.alloc(300_000, 7);
    const server = await startCounting("127.0.0.1", (_request, response) => response.end(bytes));
    const url = `/v1/transcribe?url=${encodeURIComponent(`http://127.0.0.1:${server.port}/a.mp3`)}`;
    const chunked = new Readable({ read() {} });
    chunked.push(null);
    const bodies = [undefined, "", chunked];
    for (const body of bodies) {
      const answer = await fetch(routes.running.base + url, {
        method: "POST",
        headers: AUTHORIZED,
        duplex: "half",
        ...(body === undefined ? {} : { body }),
      } as RequestInit);
      assert.equal(answer.status, 200, await answer.text());
      assert.deepEqual(routes.running.conversations.uploads.at(-1)?.bytes, bytes);
    }
    assert.equal(server.connections, bodies.length);
    await server.close();
    await spoolIsEmpty(routes.running.spoolDir);
  });

  test("failures of the transcription keep their status and leave no file behind", async () => {
    routes.running.conversations.nextTranscription = new ServiceError("AUDIO_TOO_LONG", "at most 2 hours");
    await detailOf(await post("/v1/transcribe", Buffer.from("x")), 413, "audio_too_long");
    routes.running.conversations.nextTranscription = new ServiceError(
      "OUT_OF_CREDITS",
      "needs 5 credits, 1 left",
    );
    const broke = await post("/v1/transcribe", Buffer.from("x"));
    assert.equal(broke.headers.get("x-should-retry"), "false");
    assert.equal(broke.headers.get("retry-after"), null);
    assert.equal(await detailOf(broke, 429, "out_of_credits"), "needs 5 credits, 1 left");
    routes.running.conversations.nextTranscription = new ServiceError("TOO_MANY_REQUESTS", "at most 2 files");
    const busy = await post("/v1/transcribe", Buffer.from("x"));
    assert.match(busy.headers.get("retry-after") ?? "", /^\d+$/);
    await detailOf(busy, 429, "too_many_requests");
    await spoolIsEmpty(routes.running.spoolDir);
  });

  test("a client that leaves stops its transcription, with its file deleted", async () => {
    routes.running.conversations.nextTranscription = "wait";
    const abort = new AbortController();
    const answer = fetch(`${routes.running.base}/v1/transcribe`, {
      method: "POST",
      headers: AUTHORIZED,
      body: "x",
      signal: abort.signal,
    });
    await eventually("the upload", () => routes.running.conversations.uploads.length > 0);
    assert.equal(routes.running.conversations.uploads.length, 1);
    abort.abort();
    await assert.rejects(answer);
    await eventually("the end", () => routes.running.conversations.stops.length > 0);
    assert.equal(routes.running.conversations.stops[0], "client-left");
    await spoolIsEmpty(routes.running.spoolDir);
  });

  const transcriptions = (fields: Record<string, string>) => {
    const form = new FormData();
    form.set("file", new Blob(["x"]), "a.wav");
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return post("/v1/audio/transcriptions", form);
  };

  test("OpenAI routes answer in every format, with billing in headers", async () => {
    for (const [format, contentType, pattern] of [
      ["", "application/json", /^\{"text":"сәлем әлем привет"\}$/],
      ["json", "application/json", /^\{"text":"сәлем әлем привет"\}$/],
      ["text", "text/plain; charset=utf-8", /^сәлем әлем привет$/],
      [
        "srt",
        "application/x-subrip; charset=utf-8",
        /^1\n00:00:00,100 --> 00:00:01,100\nСәлем әлем\n\n2\n.*\nпривет\.\n\n$/,
      ],
      ["vtt", "text/vtt; charset=utf-8", /^WEBVTT\n\n00:00:00.100 --> 00:00:01.100\nСәлем әлем\n\n/],
    ] as const) {
      const answer = await transcriptions({ response_format: format, model: "whisper-1", prompt: "x" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-type"), contentType);
      assert.equal(answer.headers.get("x-svc-credits"), "8");
      assert.match(await answer.text(), pattern);
    }
    const verbose = await transcriptions({
      response_format: "verbose_json",
      "timestamp_granularities[]": "word",
    });
    const body = (await verbose.json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(body), ["task", "language", "duration", "text", "segments", "words"]);
    assert.equal(body["task"], "transcribe");
    assert.equal(body["language"], "kazakh");
    assert.equal(body["duration"], 3);
  });

  test("the OpenAI shape returns readable text if the form requests it, and plain subtitles too", async () => {
    const textOf = async (fields: Record<string, string>) => (await transcriptions(fields)).text();
    assert.equal(await textOf({ display: "true" }), '{"text":"Сәлем әлем привет."}');
    assert.equal(await textOf({ display: "1", response_format: "text" }), "Сәлем әлем привет.");
    assert.equal(await textOf({ numerals: "all", response_format: "text" }), "сәлем әлем привет");
    const subtitles = await textOf({ display: "false", response_format: "srt" });
    assert.match(subtitles, /\nсәлем әлем\n\n2\n.*\nпривет\n\n$/);
    assert.equal(routes.running.conversations.wishes?.reading, null);
    const verbose = JSON.parse(
      await textOf({
        display: "true",
        numerals: "none",
        redact: "phone, iin",
        response_format: "verbose_json",
      }),
    );
    assert.equal(verbose.text, "Сәлем әлем привет.");
    assert.deepEqual(
      verbose.segments.map(({ text }: { text: string }) => text),
      ["Сәлем әлем", "привет."],
    );
    assert.ok(verbose.segments.every((segment: object) => !("display_text" in segment)));
    assert.deepEqual(verbose.words, [
      { word: "Сәлем", start: 0.1, end: 0.5 },
      { word: "әлем", start: 0.6, end: 1 },
      { word: "привет.", start: 2, end: 2.4 },
    ]);
    assert.deepEqual(verbose.redactions, []);
    assert.deepEqual(routes.running.conversations.wishes?.reading, {
      ...{ display: true, numerals: "none", redact: ["phone", "iin"] },
    });
  });

  test("the OpenAI shape rejects invalid options of readable text before anything is transcribed", async () => {
    for (const [fields, rule] of [
      [{ display: "yes" }, /^display must be true, false, 1 or 0, received "yes"$/],
      [{ numerals: "some" }, /^numerals must be one of auto, all, none, received "some"$/],
      [{ redact: "phone,name" }, /^redact must be a list of phone, iin, card, email, received "name"$/],
      [{ diplay: "true" }, /did you mean "display"\?$/],
    ] as const) {
      assert.match(await detailOf(await transcriptions(fields), 400), rule);
    }
    assert.deepEqual(routes.running.conversations.uploads, []);
  });

  test("OpenAI routes reject other models and formats before anything is transcribed", async () => {
    assert.match(await detailOf(await transcriptions({ response_format: "xml" }), 400), /one of json, text/);
    assert.match(await detailOf(await transcriptions({ model: "whisper-9" }), 400), /one of svc-kk-ru-v2/);
    await detailOf(await post("/v1/audio/transcriptions", "raw"), 400, "no_audio");
    assert.equal(routes.running.conversations.uploads.length, 0);
    await spoolIsEmpty(routes.running.spoolDir);
  });
});

/** The response may arrive shortly before the upload is deleted. */
async function spoolIsEmpty(spoolDir: string): Promise<void> {
  await eventually("nothing is left", async () => (await readdir(spoolDir)).length === 0);
}
