import assert from "node:assert/strict";
import { test } from "node:test";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { takeWords, WavFrameReader } from "../../core/protocol/wav-frames.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { DOWN_KEY } from "./fake-conversations.js";
import { AUTHORIZED, describeRoutes, detailOf } from "./routes-support.js";

describeRoutes("routes", (routes) => {
  const { post } = routes;

  /**
   * Speech after a pause follows once the client has the part before; if that were held back, only after
   * ten seconds.
   */
  const pauseSynthesis = () => {
    const { promise, resolve } = deferred<boolean>();
    const late = setTimeout(() => resolve(false), 10_000);
    routes.running.conversations.pause = promise.finally(() => clearTimeout(late));
    return { goOn: () => resolve(true), wasInTime: () => promise };
  };

  test("models and voices are listed without a key", async () => {
    const models = await fetch(`${routes.running.base}/v1/models`);
    const entry = { object: "model", owned_by: "dauys" };
    assert.deepEqual(await models.json(), {
      object: "list",
      data: [
        {
          ...entry,
          id: "svc-kk-v1",
          created: Date.UTC(2026, 10, 22) / 1_000,
          name: "svc-kk-v1",
          notes: "Speaks <Kazakh> only. Other languages sound wrong.",
          default: true,
          lang: "kk",
          sample_rate: 24_000,
          voices: ["aigul"],
          default_voice: "aigul",
          word_times: true,
          solver_steps: true,
        },
      ],
      transcription: [
        {
          ...entry,
          id: "svc-kk-ru-v2",
          created: 0,
          name: "svc-kk-ru-v2",
          notes: null,
          default: true,
          lang: "kk-ru",
          sample_rate: 16_000,
          live_partials: true,
          hot_words: true,
          diarize: false,
        },
      ],
    });
    const voices = await fetch(`${routes.running.base}/v1/voices`);
    assert.deepEqual(await voices.json(), {
      model: "svc-kk-v1",
      voices: [{ name: "aigul", gender: "female", style: null, best_for: "news" }],
    });
    await detailOf(await fetch(`${routes.running.base}/v1/voices?model=nope`), 404, "unknown_model");
    const health = await fetch(`${routes.running.base}/health`);
    assert.deepEqual(await health.json(), { status: "ok", models: ["svc-kk-ru-v2", "svc-kk-v1"] });
    assert.equal((await fetch(`${routes.running.base}/ready`)).status, 200);
  });

  test("an unknown path is 404, a wrong method 405 with Allow, HEAD is GET without a body", async () => {
    await detailOf(await fetch(`${routes.running.base}/nope`), 404, "not_found");
    const wrong = await fetch(`${routes.running.base}/v1/tts`);
    assert.equal(wrong.headers.get("allow"), "POST, OPTIONS");
    await detailOf(wrong, 405, "method_not_allowed");
    const head = await fetch(`${routes.running.base}/health`, { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), "");
  });

  test("a preflight reflects the requested headers", async () => {
    const answer = await fetch(`${routes.running.base}/v1/tts`, {
      method: "OPTIONS",
      headers: {
        origin: "https://x.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, x-stainless-os",
      },
    });
    assert.equal(answer.status, 204);
    assert.equal(
      answer.headers.get("access-control-allow-headers"),
      "authorization, content-type, x-stainless-os",
    );
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.equal(answer.headers.get("access-control-allow-methods"), "POST, OPTIONS");
    assert.equal(answer.headers.get("access-control-max-age"), "86400");
    assert.equal(answer.headers.get("access-control-allow-credentials"), null);
    const got = await post("/v1/tts", { text: "a" });
    await got.arrayBuffer();
    const exposed = (got.headers.get("access-control-expose-headers") ?? "").toLowerCase().split(", ");
    // Pages of any origin can read all headers of our own.
    const ours = [...got.headers.keys()].filter((name) => /^x-|^retry-after$/.test(name));
    assert.ok(ours.includes("x-svc-chars") && ours.includes("x-request-id"));
    assert.deepEqual(
      ours.filter((name) => !exposed.includes(name)),
      [],
    );
  });

  test("missing, malformed and unknown keys get the same 401", async () => {
    const lookUps = routes.running.keys.lookUps;
    const unknown = `sk-svc-${"ab".repeat(24)}`;
    const wrong = [undefined, "Bearer", "Basic abc", "Bearer sk-svc-12", `Bearer ${unknown.toUpperCase()}`];
    const details = new Set<string>();
    for (const value of [...wrong, `Bearer ${unknown}`]) {
      const headers: Record<string, string> = value === undefined ? {} : { authorization: value };
      details.add(await detailOf(await post("/v1/tts", { text: "a" }, headers), 401, "key_invalid"));
    }
    assert.equal(details.size, 1);
    assert.equal(routes.running.keys.lookUps, lookUps + 1, "only the well-formed key is looked up");
  });

  test("an unavailable key store gives 503 with Retry-After", async () => {
    const answer = await post("/v1/tts", { text: "a" }, { authorization: `Bearer ${DOWN_KEY}` });
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    await detailOf(answer, 503, "auth_unavailable");
  });

  test("speech is one WAV with the right length, charged by characters", async () => {
    const answer = await post("/v1/tts", { text: "сәлем.😀", voice: null });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "audio/wav");
    assert.equal(answer.headers.get("x-svc-chars"), "7");
    const wav = Buffer.from(await answer.arrayBuffer());
    const header = parseWavHeader(wav, wav.length);
    assert.equal(header?.sampleRateHz, 24_000);
    assert.equal(header?.dataBytes, 960);
    assert.equal(answer.headers.get("content-length"), String(wav.length));
  });

  for (const [what, body, status, pattern] of [
    ["no text", {}, 400, /^text is required$/],
    ["blank text", { text: "  \n" }, 400, /^text is required$/],
    ["a text that is a number", { text: 5 }, 400, /text must be a string, received number/],
    [
      "a text of 5001 code points",
      { text: "😀".repeat(5001) },
      400,
      /at most 5000 characters, received 5001/,
    ],
    ["a lone surrogate", '{"text":"\\ud800"}', 400, /well-formed/],
    ["too fast", { text: "a", speed: 2.1 }, 400, /speed must be 0.5 to 2, received 2.1/],
    ["speed as text", { text: "a", speed: "1" }, 400, /speed must be a number, received string/],
    ["few steps", { text: "a", nfe: 3 }, 400, /nfe must be an integer from 4 to 64, received 3/],
    ["half a step", { text: "a", nfe: 16.5 }, 400, /nfe must be an integer from 4 to 64, received 16.5/],
    ["a seed below zero", { text: "a", seed: -1 }, 400, /seed must be an integer from 0 to 4294967295/],
    ["a seed as text", { text: "a", seed: "1" }, 400, /seed must be an integer, received string/],
    ["normalize as text", { text: "a", normalize: "yes" }, 400, /normalize must be true or false/],
    [
      "a pause of 11 s",
      { text: "a [pause 11s]" },
      400,
      /^text: a pause must be .* received "\[pause 11s\]"$/,
    ],
    [
      "pronunciations that are no list",
      { text: "a", pronunciations: { a: "b" } },
      400,
      /^pronunciations must be a list of {"word", "say"}, received object$/,
    ],
    ["an array", "[]", 400, /must be a JSON object, received array/],
    ["no JSON", "{text", 400, /must be valid JSON/],
    ["nothing", "", 400, /empty body/],
    ["an unknown model", { text: "a", model: "x" }, 404, /model must be one of svc-kk-v1, received "x"/],
    ["an unknown voice", { text: "a", voice: "x" }, 404, /no voice/],
    ["a body of 65 KiB", { text: "a", x: "y".repeat(65_536) }, 413, /at most 65536 bytes/],
  ] as const) {
    test(`speech from ${what} is rejected with ${status}`, async () => {
      for (const path of ["/v1/tts", "/v1/tts/stream"]) {
        assert.match(await detailOf(await post(path, body), status), pattern);
      }
    });
  }

  test("5000 code points are allowed", async () => {
    assert.equal((await post("/v1/tts", { text: "😀".repeat(5000) })).status, 200);
  });

  test("the stream has one frame per sentence, each sent when ready", async () => {
    const { goOn, wasInTime } = pauseSynthesis();
    const answer = await post("/v1/tts/stream", { text: "one.slow two.three" });
    assert.equal(answer.headers.get("content-type"), "application/octet-stream");
    assert.equal(answer.headers.get("x-svc-stream"), "wav-frames-v1");
    assert.equal(answer.headers.get("x-svc-chars"), "18");
    const reader = new WavFrameReader();
    let frameCount = 0;
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      for (const wav of reader.push(chunk)) {
        assert.equal(parseWavHeader(wav, wav.length)?.dataBytes, 480);
        frameCount++;
        goOn();
      }
    }
    assert.equal(frameCount, 3);
    assert.ok(reader.isAtBoundary);
    assert.ok(await wasInTime(), "the first frame does not wait for the second");
  });

  test("pcm is sent within a sentence, while frames and WAV wait for all of it", async () => {
    const { goOn, wasInTime } = pauseSynthesis();
    const answer = await post("/v1/audio/speech", { input: "halves", response_format: "pcm" });
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      // 10 ms of 24 kHz.
      if (bytes === 480) goOn();
    }
    assert.equal(bytes, 960);
    assert.ok(await wasInTime(), "the first half does not wait for the second");
    const frames = await post("/v1/tts/stream", { text: "halves.one" });
    const reader = new WavFrameReader();
    const lengths = [...reader.push(new Uint8Array(await frames.arrayBuffer()))].map(
      (wav) => parseWavHeader(wav, wav.length)?.dataBytes,
    );
    assert.deepEqual(lengths, [960, 480]);
    assert.equal((await (await post("/v1/tts", { text: "halves" })).arrayBuffer()).byteLength, 44 + 960);
  });

  test("with frames=chunks each part of a sentence is a frame, sent as it is synthesized", async () => {
    const { goOn, wasInTime } = pauseSynthesis();
    const answer = await post("/v1/tts/stream?frames=chunks&timestamps=true", { text: "halves.one" });
    assert.equal(answer.headers.get("x-svc-stream"), "wav-frames-v1");
    const reader = new WavFrameReader();
    const lengths: (number | null | undefined)[] = [];
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      for (const file of reader.push(chunk)) {
        const { wav, words } = takeWords(file)!;
        assert.deepEqual(words, []);
        lengths.push(parseWavHeader(wav, wav.length)?.dataBytes);
        goOn();
      }
    }
    assert.deepEqual(lengths, [480, 480, 480], "and no frame without sound");
    assert.ok(await wasInTime(), "the first half does not wait for the second");
    for (const [path, code, pattern] of [
      ["/v1/tts/stream?frames=words", "invalid_request", /^frames must be one of sentences, chunks/],
      ["/v1/tts?frames=chunks", "unknown_parameter", /frames/],
    ] as const) {
      assert.match(await detailOf(await post(path, { text: "a" }), 400, code), pattern);
    }
  });

  test("a failure before the first sentence gets a response, a later one breaks the connection", async () => {
    await detailOf(await post("/v1/tts/stream", { text: "fail" }), 503, "worker_lost");
    const answer = await post("/v1/tts/stream", { text: "one.slow.fail" });
    assert.equal(answer.status, 200);
    await assert.rejects(answer.arrayBuffer());
  });

  test("a client that leaves ends its work", async () => {
    const abort = new AbortController();
    const answer = await fetch(`${routes.running.base}/v1/tts/stream`, {
      method: "POST",
      headers: AUTHORIZED,
      body: JSON.stringify({ text: `one.${"slow.".repeat(20)}` }),
      signal: abort.signal,
    });
    assert.equal(answer.status, 200);
    abort.abort();
    await eventually("the end", () => routes.running.conversations.stops.length > 0);
    assert.equal(routes.running.conversations.stops[0], "client-left");
  });

  test("OpenAI routes accept OpenAI's model names and answer with wav or pcm", async () => {
    for (const model of ["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "svc-kk-v1", undefined]) {
      const answer = await post("/v1/audio/speech", { input: "a.b", model, instructions: "x" });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-type"), "audio/wav");
      assert.equal(Buffer.from(await answer.arrayBuffer()).length, 44 + 960);
    }
    const pcm = await post("/v1/audio/speech", { input: "a.b", response_format: "pcm" });
    assert.equal(pcm.headers.get("content-type"), "audio/pcm");
    assert.equal(pcm.headers.get("x-sample-rate"), "24000");
    assert.equal(pcm.headers.get("x-channels"), "1");
    assert.equal(pcm.headers.get("x-bit-depth"), "16");
    assert.equal(pcm.headers.get("x-svc-chars"), "3");
    const bytes = Buffer.from(await pcm.arrayBuffer());
    assert.equal(bytes.length, 960);
    assert.equal(bytes.readInt16LE(0), 1);
    assert.equal(bytes.readInt16LE(480), 2);
  });

  test("OpenAI routes reject unsupported options with 400", async () => {
    for (const [body, pattern] of [
      [{}, /^input is required$/],
      [{ input: "a", nfe: 65 }, /^nfe must be an integer from 4 to 64, received 65$/],
      [{ input: "a", nfe: "16" }, /^nfe must be an integer, received string$/],
      [{ input: "a", room_tone: "no" }, /^room_tone must be true or false, received string$/],
      [{ input: "a", response_format: "mp3" }, /must be one of wav, pcm, received "mp3"/],
      [{ input: "a", speed: 0.25 }, /speed must be 0.5 to 2/],
      [{ input: "a", model: "tts-9" }, /model must be one of svc-kk-v1, received "tts-9"/],
      [{ input: "a", voice: "alloy" }, /voice must be one of aigul, received "alloy"/],
    ] as const) {
      assert.match(await detailOf(await post("/v1/audio/speech", body), 400), pattern);
    }
  });

  test("the log has a line with the id of every request, without keys or texts", async () => {
    routes.running.logLines.length = 0;
    const answer = await post("/v1/tts", { text: "құпия" });
    await answer.arrayBuffer();
    const requestId = answer.headers.get("x-request-id") ?? "none";
    await eventually("its line", () => routes.running.logLines.some((line) => line.includes(requestId)));
    const lines = routes.running.logLines.join("");
    assert.ok(!lines.includes("sk-svc-"));
    assert.ok(!lines.includes("құпия"));
  });
});
