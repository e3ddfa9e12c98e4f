import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { MULAW_SAMPLES } from "../../core/domain/audio/g711.js";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { DOWN_KEY, GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

type Json = Readonly<Record<string, unknown>>;

const AUDIO = Buffer.from("RIFF, as far as these fakes look");

for (const front of FRONTS) {
  describe(`Deepgram's requests on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());

    const post = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
      fetch(`${running.base}${path}`, {
        method: "POST",
        headers: { authorization: `Token ${GOOD_KEY}`, ...headers },
        body,
      });

    test("a file's transcript is in Deepgram's shape", async () => {
      const answer = await post(
        "/v1/listen?model=nova-3&utterances=true&paragraphs=true&detect_language=true",
        AUDIO,
      );
      assert.equal(answer.status, 200);
      const { metadata, results } = (await answer.json()) as Record<"metadata" | "results", Json>;
      const requestId = answer.headers.get("x-request-id");
      const { created, ...rest } = metadata;
      assert.match(String(created), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.deepEqual(rest, {
        transaction_key: "deprecated",
        request_id: requestId,
        sha256: createHash("sha256").update(AUDIO).digest("hex"),
        duration: 3,
        channels: 1,
        models: ["svc-kk-ru-v2"],
        model_info: {
          "svc-kk-ru-v2": { name: "svc-kk-ru-v2", version: "svc-kk-ru-v2", arch: "ctc-two-pass" },
        },
      });
      const word = (text: string, start: number) => ({ word: text, start, end: start + 0.4, confidence: 0 });
      const words = [word("сәлем", 0.1), word("әлем", 0.6), word("привет", 2)];
      const sentences = [
        { text: "сәлем әлем", start: 0.1, end: 1 },
        { text: "привет", start: 2, end: 2.4 },
      ];
      const utterance = (nth: number, own: typeof words) => ({
        ...{ start: sentences[nth]!.start, end: sentences[nth]!.end, confidence: 0, channel: 0 },
        ...{ transcript: sentences[nth]!.text, words: own, id: `${requestId}-${nth}` },
      });
      assert.deepEqual(results, {
        channels: [
          {
            alternatives: [
              {
                transcript: "сәлем әлем привет",
                confidence: 0,
                words,
                paragraphs: {
                  transcript: "\nсәлем әлем привет",
                  paragraphs: [{ sentences, num_words: 3, start: 0.1, end: 2.4 }],
                },
              },
            ],
            detected_language: "kk",
          },
        ],
        utterances: [utterance(0, words.slice(0, 2)), utterance(1, words.slice(2))],
      });
      assert.equal(answer.headers.get("dg-request-id"), requestId);
      assert.equal(answer.headers.get("x-svc-credits"), "8");
      assert.equal(answer.headers.get("x-svc-audio-seconds"), String(24_001 / 8_000));
    });

    test("without options the response has neither utterances nor punctuation", async () => {
      const answer = await post("/v1/listen", AUDIO);
      const { results } = (await answer.json()) as { results: { channels: Json[] } };
      assert.deepEqual(Object.keys(results), ["channels"]);
      assert.deepEqual(Object.keys(results.channels[0]!), ["alternatives"]);
      const smart = await post("/v1/listen?smart_format=true&utt_split=2.5&utterances=1", AUDIO);
      const body = (await smart.json()) as {
        results: { channels: { alternatives: Json[] }[]; utterances: Json[] };
      };
      const [alternative] = body.results.channels[0]!.alternatives;
      assert.equal(alternative!["transcript"], "Сәлем әлем привет.");
      assert.deepEqual(
        (alternative!["words"] as Json[]).map((word) => [word["word"], word["punctuated_word"]]),
        [
          ["сәлем", "Сәлем"],
          ["әлем", "әлем"],
          ["привет", "привет."],
        ],
      );
      assert.deepEqual(alternative!["paragraphs"], {
        transcript: "\nСәлем әлем привет.",
        paragraphs: [
          {
            sentences: [{ text: "Сәлем әлем привет.", start: 0.1, end: 2.4 }],
            ...{ num_words: 3, start: 0.1, end: 2.4 },
          },
        ],
      });
      assert.equal(body.results.utterances.length, 1);
    });

    test("options of readable text reach the transcription", async () => {
      for (const [query, reading] of [
        ["punctuate=true", { display: true, numerals: "none", redact: [] }],
        [
          "numerals=true&redact=phone&redact=iin",
          { display: true, numerals: "auto", redact: ["phone", "iin"] },
        ],
        ["redact=email", { display: false, numerals: "none", redact: ["email"] }],
        ["punctuate=false&redact=false", null],
      ] as const) {
        const answer = await post(`/v1/listen?${query}`, AUDIO);
        assert.equal(answer.headers.get("x-svc-ignored"), null);
        assert.deepEqual(running.conversations.wishes?.reading, reading, query);
      }
    });

    test("hot words, models, languages and multichannel reach the recogniser", async () => {
      const query = "model=svc-kk-ru-v2&language=ru&multichannel=true&keyterm=сәлем&keywords=әлем:2&tag=x";
      const answer = await post(`/v1/listen?${query}`, AUDIO);
      assert.equal(running.conversations.wishes?.channels, "split");
      assert.deepEqual(running.conversations.wishes?.hotWords, [
        { text: "сәлем", characterScore: 1 },
        { text: "әлем", characterScore: 2 },
      ]);
      assert.equal(answer.headers.get("x-svc-ignored"), "language,tag");
    });

    test("raw samples get a header, and files keep theirs", async () => {
      const samples = Buffer.alloc(3_200, 7);
      await post("/v1/listen?encoding=linear16&sample_rate=8000&channels=2", samples);
      const raw = running.conversations.uploads.at(-1)!.bytes;
      const { format, sampleRateHz, channels, dataOffset } = parseWavHeader(raw, raw.length)!;
      assert.deepEqual([format, sampleRateHz, channels], ["pcm", 8_000, 2]);
      assert.deepEqual(raw.subarray(dataOffset), samples);
      await post("/v1/listen?encoding=mulaw", samples.subarray(0, 3));
      const short = running.conversations.uploads.at(-1)!.bytes;
      assert.deepEqual([parseWavHeader(short)!.sampleRateHz, short.length], [8_000, 44 + 3]);
      const flac = Buffer.concat([Buffer.from("fLaC"), Buffer.alloc(64)]);
      await post("/v1/listen?encoding=linear16", flac);
      assert.deepEqual(running.conversations.uploads.at(-1)!.bytes, flac);
    });

    test("the audio may be at a URL, under the rules of /v1/transcribe", async () => {
      const server = createServer((_request, response) => response.end(AUDIO)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.wav`;
      const json = { "content-type": "application/json; charset=utf-8" };
      const answer = await post("/v1/listen", JSON.stringify({ url }), json);
      assert.equal(answer.status, 200);
      assert.deepEqual(running.conversations.uploads.at(-1)!.bytes, AUDIO);
      server.close();
      for (const [body, rule] of [
        [{ url: "http://10.0.0.1/a.wav" }, /address/],
        [{ url: "file:///etc/passwd" }, /http/],
        [{ url: 5 }, /^url must be a string/],
        [{ URL: url }, /unknown field|url must be/],
        [{}, /^url must be a string/],
      ] as const) {
        const refused = await post("/v1/listen", JSON.stringify(body), json);
        assert.equal(refused.status, 400);
        assert.match(String(((await refused.json()) as Json)["err_msg"]), rule, JSON.stringify(body));
      }
    });

    test("unsupported features are rejected in Deepgram's shape", async () => {
      for (const [query, code, rule] of [
        ["callback=https://service.test/", "Bad Request", /^callback is not supported$/],
        ["diarize=true", "Bad Request", /^diarize requires a diarization model, and none is installed/],
        ["diarize_model=latest", "Bad Request", /^diarize_model is not supported$/],
        ["redact=pci&redact=numbers", "Bad Request", /^redact must be a list of phone, .* received "pci"$/],
        ["summarize=v2", "Bad Request", /^summarize is not supported$/],
        ["detect_language=en", "Bad Request", /^detect_language must be true, kk or ru, received "en"$/],
        ["language=en-US", "Bad Request", /^language must be one of multi, kk/],
        ["model=whisper-9", "Bad Request", /^model must be one of svc-kk-ru-v2/],
        ["utt_split=0", "Bad Request", /^utt_split must be/],
        ["utterance=true", "Bad Request", /did you mean "utterances"/],
        ["keyterm=hello", "Bad Request", /model's letters/],
        ["channels=99", "Bad Request", /^channels must be an integer from 1 to 32/],
      ] as const) {
        const answer = await post(`/v1/listen?${query}`, AUDIO);
        const body = (await answer.json()) as Json;
        assert.equal(answer.status, 400, query);
        assert.deepEqual([body["err_code"], body["err_msg"]], [code, body["detail"]], query);
        assert.match(String(body["err_msg"]), rule);
        assert.equal(body["request_id"], answer.headers.get("x-request-id"));
      }
      assert.equal((await post("/v1/listen?diarize=false&redact=", AUDIO)).status, 200);
      const empty = await post("/v1/listen", "");
      assert.match(String(((await empty.json()) as Json)["err_msg"]), /^no audio supplied/);
    });

    test("keys are rejected as on every path, in Deepgram's shape", async () => {
      for (const [authorization, status, code] of [
        [`Bearer ${GOOD_KEY}`, 200, undefined],
        [`token ${GOOD_KEY}`, 200, undefined],
        ["Token nonsense", 401, "INVALID_AUTH"],
        [`Basic ${GOOD_KEY}`, 401, "INVALID_AUTH"],
        [`Token ${DOWN_KEY}`, 503, "SERVICE_UNAVAILABLE"],
      ] as const) {
        for (const [path, body] of [
          ["/v1/listen", AUDIO],
          ["/v1/speak", '{"text":"Сәлем."}'],
        ] as const) {
          const answer = await post(path, body, { authorization });
          assert.equal(answer.status, status, `${path} ${authorization}`);
          if (code !== undefined) assert.equal(((await answer.json()) as Json)["err_code"], code);
          else await answer.arrayBuffer();
        }
      }
      const elsewhere = await post("/v1/transcribe", AUDIO);
      assert.equal(elsewhere.status, 401, "only Deepgram's paths take keys as Token");
    });

    test("a text is synthesized as a streamed WAV, or as samples", async () => {
      const wav = await post("/v1/speak?model=aigul", '{"text":"a.b."}', {
        "content-type": "application/json",
      });
      const bytes = Buffer.from(await wav.arrayBuffer());
      assert.equal(wav.headers.get("content-type"), "audio/wav");
      assert.equal(wav.headers.get("content-length"), null);
      const header = parseWavHeader(bytes, bytes.length)!;
      assert.deepEqual([header.sampleRateHz, header.dataBytes], [24_000, 3 * 480]);
      assert.equal(wav.headers.get("dg-model-name"), "aigul");
      assert.equal(wav.headers.get("dg-model-uuid"), "svc-kk-v1");
      assert.equal(wav.headers.get("dg-char-count"), "4");
      assert.equal(wav.headers.get("dg-request-id"), wav.headers.get("x-request-id"));
      for (const [query, type, length] of [
        ["encoding=mulaw&container=none", "audio/basic;rate=8000", 80],
        ["encoding=alaw&container=none&sample_rate=16000", "audio/x-alaw-basic;rate=16000", 160],
        ["encoding=linear16&container=none", "audio/l16;rate=24000", 480],
        ["encoding=mulaw", "audio/wav", 44 + 80],
      ] as const) {
        const answer = await post(`/v1/speak?${query}`, '{"text":"a"}');
        assert.equal(answer.headers.get("content-type"), type);
        const sound = Buffer.from(await answer.arrayBuffer());
        assert.equal(sound.length, length, query);
        if (type === "audio/basic;rate=8000") assert.ok(Math.abs(MULAW_SAMPLES[sound[40]!]!) < 0.001);
      }
      const aura = await post("/v1/speak?model=aura-2-andromeda-en&mip_opt_out=true", '{"text":"a"}');
      assert.equal(aura.headers.get("dg-model-name"), "aigul");
      assert.equal(aura.headers.get("x-svc-ignored"), "mip_opt_out");
      await aura.arrayBuffer();
    });

    test("failed speech is rejected in Deepgram's shape, or is cut off if it has begun", async () => {
      for (const [query, body, status, rule] of [
        ["", "{}", 400, /^text is required$/],
        ["", '{"text":" "}', 400, /^text is required$/],
        ["", '{"text":5}', 400, /^text must be a string/],
        ["", "{", 400, /valid JSON/],
        ["", JSON.stringify({ text: "а".repeat(5_001) }), 400, /at most 5000 characters/],
        ["encoding=mp3", '{"text":"a"}', 400, /^encoding must be one of linear16, mulaw, alaw/],
        ["container=ogg", '{"text":"a"}', 400, /^container must be one of wav, none/],
        [
          "encoding=mulaw&sample_rate=24000",
          '{"text":"a"}',
          400,
          /^sample_rate of mulaw must be one of 8000, 16000/,
        ],
        ["model=alloy", '{"text":"a"}', 400, /^model must be a voice, one of aigul/],
        ["callback=x", '{"text":"a"}', 400, /^callback is not supported/],
        ["", '{"text":"fail"}', 503, /worker is gone/],
      ] as const) {
        const answer = await post(`/v1/speak?${query}`, body);
        const error = (await answer.json()) as Json;
        assert.equal(answer.status, status, body);
        assert.match(String(error["err_msg"]), rule, body);
        assert.equal(error["err_msg"], error["detail"]);
      }
      const broken = async () => (await post("/v1/speak", '{"text":"a.fail"}')).arrayBuffer();
      await assert.rejects(broken);
    });
  });
}
