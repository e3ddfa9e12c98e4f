import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import OpenAI5 from "openai-5";
import OpenAI6 from "openai-6";
import { ServiceError } from "../../core/domain/errors.js";
import { DOWN_KEY, GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const CLIENTS = [
  { version: "5", OpenAI: OpenAI5 },
  { version: "6", OpenAI: OpenAI6 as unknown as typeof OpenAI5 },
];
const UNKNOWN_KEY = `sk-svc-${"ab".repeat(24)}`;
const AUTHORIZED = { authorization: `Bearer ${GOOD_KEY}` };
const SPEECH = { model: "tts-1", voice: "aigul", input: "Сәлем" } as const;

for (const front of FRONTS) {
  describe(`errors for OpenAI's clients on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());
    afterEach(() => {
      running.conversations.nextTranscription = "answer";
    });

    for (const { version, OpenAI } of CLIENTS) {
      const clientWith = (apiKey: string) =>
        new OpenAI({ apiKey, baseURL: `${running.base}/v1`, maxRetries: 0 });
      const file = () => new File(["x"], "a.wav");

      test(`the openai client ${version} gets the error's name and message`, async () => {
        const { speech, transcriptions } = clientWith(GOOD_KEY).audio;
        const heard = (error: ServiceError) => () => {
          running.conversations.nextTranscription = error;
          return transcriptions.create({ model: "whisper-1", file: file() });
        };
        const invalid = "invalid_request_error";
        for (const [ask, status, type, code, param, message] of [
          [
            () => speech.create({ ...SPEECH, response_format: "mp3" }),
            400,
            invalid,
            "unsupported_format",
            "response_format",
            /^400 response_format must be one of wav, pcm, received "mp3"$/,
          ],
          [
            () => speech.create({ ...SPEECH, voice: "alloy" }),
            400,
            invalid,
            "invalid_request",
            "voice",
            /^400 voice must be one of aigul, received "alloy"$/,
          ],
          [
            () => speech.create({ ...SPEECH, input: "" }),
            400,
            invalid,
            "text_required",
            "input",
            /input is required/,
          ],
          [
            () =>
              transcriptions.create({
                model: "whisper-1",
                file: file(),
                stream: true,
                response_format: "srt" as "json",
              }),
            400,
            invalid,
            "unsupported_format",
            "stream",
            /stream must be false with response_format srt/,
          ],
          [
            () => transcriptions.create({ model: "whisper-9", file: file() }),
            400,
            invalid,
            "invalid_request",
            "model",
            /model must be one of svc-kk-ru-v2/,
          ],
          [
            () => clientWith(UNKNOWN_KEY).audio.speech.create(SPEECH),
            401,
            "authentication_error",
            "invalid_api_key",
            null,
            /missing or invalid API key/,
          ],
          [
            heard(new ServiceError("OUT_OF_CREDITS", "needs 5 credits, 1 left")),
            429,
            "insufficient_quota",
            "insufficient_quota",
            null,
            /^429 needs 5 credits, 1 left$/,
          ],
          [
            heard(new ServiceError("TOO_MANY_REQUESTS", "at most 2")),
            429,
            "rate_limit_error",
            "rate_limit_exceeded",
            null,
            /at most 2/,
          ],
          [
            heard(new ServiceError("AUDIO_TOO_LONG", "at most two hours")),
            413,
            invalid,
            "audio_too_long",
            null,
            /at most two hours/,
          ],
          [
            () => clientWith(DOWN_KEY).audio.speech.create(SPEECH),
            503,
            "server_error",
            "auth_unavailable",
            null,
            /cannot be asked/,
          ],
          [
            heard(new ServiceError("INTERNAL", "secret")),
            500,
            "server_error",
            "internal",
            null,
            /^500 internal error$/,
          ],
          [
            () => clientWith(GOOD_KEY).models.retrieve("x"),
            404,
            invalid,
            "not_found",
            null,
            /no such endpoint: [A-Z]+ \//,
          ],
        ] as const) {
          await assert.rejects(ask, (error) => {
            assert.ok(error instanceof OpenAI.APIError);
            assert.deepEqual(
              [error.status, error.type, error.code, error.param],
              [status, type, code, param],
              error.message,
            );
            assert.match(error.message, message);
            return true;
          });
        }
      });

      test(`the openai client ${version} lists models, speaks and transcribes`, async () => {
        const client = clientWith(GOOD_KEY);
        const models = [];
        for await (const model of client.models.list()) models.push(model);
        const [model] = models;
        assert.deepEqual([models.length, model?.id, model?.object], [1, "svc-kk-v1", "model"]);
        assert.equal(new Date(model!.created * 1_000).toISOString(), "2026-11-22T00:00:00.000Z");
        const spoken = await client.audio.speech.create({ ...SPEECH, response_format: "wav" });
        assert.equal(Buffer.from(await spoken.arrayBuffer()).toString("latin1", 0, 4), "RIFF");
        const { text } = await client.audio.transcriptions.create({ model: "whisper-1", file: file() });
        assert.equal(text, "сәлем әлем привет");
      });
    }

    /** Failures before and after routing, on both kinds of paths. */
    const failures: [string, string, RequestInit, number][] = [
      ["no JSON", "/v1/audio/speech", { method: "POST", headers: AUTHORIZED, body: "{" }, 400],
      ["no key", "/v1/audio/transcriptions", { method: "POST", body: "x" }, 401],
      ["no such path", "/v1/audio/translations", { method: "POST", body: "x" }, 404],
      ["another method", "/v1/audio/speech", {}, 405],
      ["another method of the catalog", "/v1/models", { method: "DELETE" }, 405],
      ["no such model", "/v1/voices?model=nope", {}, 404],
      [
        "too long",
        "/v1/audio/speech",
        { method: "POST", headers: AUTHORIZED, body: "x".repeat(70_000) },
        413,
      ],
      ["a query that is refused before anything else", "/v1/voices?model=%00", {}, 400],
    ];
    for (const [what, path, request, status] of failures) {
      test(`${what}: OpenAI's clients get error, every other client gets only detail`, async () => {
        const ask = async (more: Record<string, string>) => {
          const answer = await fetch(running.base + path, {
            ...request,
            headers: { ...(request.headers as Record<string, string>), ...more },
          });
          assert.equal(answer.status, status);
          return (await answer.json()) as { detail: string; error?: Record<string, unknown> };
        };
        const plain = await ask({});
        assert.deepEqual(Object.keys(plain), ["detail"]);
        const { detail, error, ...rest } = await ask({ "x-stainless-lang": "js" });
        assert.deepEqual([detail, error?.["message"], rest], [plain.detail, plain.detail, {}]);
        assert.deepEqual(Object.keys(error ?? {}), ["message", "type", "param", "code"]);
      });
    }

    test("on other paths OpenAI's clients get only `detail` too", async () => {
      const headers = { "x-stainless-lang": "js" };
      for (const [method, path] of [
        ["POST", "/v1/tts"],
        ["POST", "/v1/transcribe"],
        ["GET", "/v1/balance"],
        ["GET", "/v1/nothing"],
        ["GET", "/v1/modelsx"],
      ] as const) {
        const body = (await (await fetch(running.base + path, { method, headers })).json()) as object;
        assert.deepEqual(Object.keys(body), ["detail"], path);
      }
    });
  });
}
