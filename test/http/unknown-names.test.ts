import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, test } from "node:test";
import { WebSocket } from "ws";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const AUTHORIZED = { authorization: `Bearer ${GOOD_KEY}` };
const TEXT = { text: "Сәлем" };
const INPUT = { input: "Сәлем" };
const AUDIO = Buffer.alloc(200_000, 1);

/** A client's request, and the rule that its error states. */
const REFUSED_JSON: readonly (readonly [string, object, RegExp])[] = [
  ["/v1/tts", { ...TEXT, Speed: 2 }, /^unknown field "Speed": did you mean "speed"\?$/],
  ["/v1/tts/stream", { ...TEXT, voices: "aigul" }, /did you mean "voice"\?$/],
  ["/v1/tts", { ...TEXT, format: "mp3" }, /^unknown field "format": known are text, model, voice,/],
  ["/v1/tts", JSON.parse('{"text":"a","__proto__":{}}') as object, /^unknown field "__proto__"/],
  [
    "/v1/tts",
    { ...TEXT, pronunciations: [{ word: "a", say: "а", spoken: "б" }] },
    /^pronunciations\[0\]: unknown field "spoken"/,
  ],
  ["/v1/tts?timestamp=true", TEXT, /^unknown parameter "timestamp": did you mean "timestamps"\?$/],
  [
    "/v1/tts/stream?timestamps=1&speed=2",
    TEXT,
    /^unknown parameter "speed": known are timestamps, encoding, sample_rate, frames$/,
  ],
  ["/v1/audio/speech", { ...INPUT, Speed: 2 }, /^unknown field "Speed": did you mean "speed"\?$/],
  ["/v1/audio/speech", { ...INPUT, seeds: 1 }, /did you mean "seed"\?$/],
  ["/v1/audio/speech", { ...INPUT, pronunciation: [] }, /did you mean "pronunciations"\?$/],
  ["/v1/audio/speech", { ...INPUT, format: "mp3" }, /did you mean "response_format"\?$/],
  ["/v1/transcribe?hotword=а", {}, /^unknown parameter "hotword": did you mean "hotwords"\?$/],
  [
    "/v1/transcribe?language=kk",
    {},
    /^unknown parameter "language": known are hotwords, organization_defaults, model, timestamps, url, diarize, speakers, display, numerals, redact, channels, encoding, sample_rate, channel_count$/,
  ],
  ["/v1/stream/token?eou_ms=300", {}, /^unknown parameter "eou_ms": there are none here$/],
];

for (const front of FRONTS) {
  describe(`unknown names, on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());
    beforeEach(() => {
      running.conversations.uploads.length = 0;
    });

    const post = (path: string, body: object | FormData) =>
      fetch(running.base + path, {
        method: "POST",
        headers: AUTHORIZED,
        body: body instanceof FormData ? body : JSON.stringify(body),
      });

    const refusalOf = async (answer: Response): Promise<string> => {
      const { detail } = (await answer.json()) as { readonly detail: string };
      assert.equal(answer.status, 400, detail);
      assert.equal(answer.headers.get("x-svc-error"), "unknown_parameter", detail);
      return detail;
    };

    for (const [path, body, rule] of REFUSED_JSON) {
      test(`${path} rejects ${JSON.stringify(body).slice(0, 60)}`, async () => {
        assert.match(await refusalOf(await post(path, body)), rule);
      });
    }

    test("a repeated parameter is rejected", async () => {
      for (const path of [
        "/v1/tts?timestamps=true&timestamps=false",
        "/v1/transcribe?hotwords=а&hotwords=б",
      ]) {
        const answer = await post(path, TEXT);
        assert.equal(answer.status, 400);
        assert.match(await answer.text(), /must be given once/);
      }
    });

    test("a missing text is reported before an unknown name", async () => {
      const answer = await post("/v1/tts", { txt: "a" });
      assert.deepEqual([answer.status, await answer.json()], [400, { detail: "text is required" }]);
    });

    test("audio in a part of another name is rejected with the right name", async () => {
      const inAudio = () => {
        const form = new FormData();
        form.append("model", "whisper-1");
        form.append("audio", new Blob([AUDIO]), "speech.wav");
        return form;
      };
      const onlyAudio = new FormData();
      onlyAudio.append("audio", new Blob([AUDIO]), "speech.wav");
      const rule = 'the audio must be in a part named file, received "audio"';
      assert.equal(await refusalOf(await post("/v1/transcribe", onlyAudio)), rule);
      assert.equal(await refusalOf(await post("/v1/audio/transcriptions", inAudio())), rule);
      const small = new FormData();
      small.append("files", new Blob([AUDIO.subarray(0, 100)]), "speech.wav");
      assert.match(await refusalOf(await post("/v1/audio/transcriptions", small)), /received "files"$/);
      // Without a file name the part may be a field, which is then too long.
      const asField = new FormData();
      asField.append("audio", "a".repeat(100_000));
      const long = await post("/v1/audio/transcriptions", asField);
      assert.equal(long.status, 413);
      assert.match(await long.text(), /the audio in a part named file; .*audio/);
      assert.deepEqual(running.conversations.uploads, []);
    });

    test("a form of /v1/transcribe has no fields besides its file", async () => {
      const form = new FormData();
      form.append("timestamps", "true");
      form.append("file", new Blob([AUDIO]), "speech.wav");
      assert.match(await refusalOf(await post("/v1/transcribe", form)), /^unknown field "timestamps"/);
    });

    test("a near miss of a form's field is rejected on /v1/audio/transcriptions", async () => {
      const form = new FormData();
      form.append("file", new Blob([AUDIO]), "speech.wav");
      form.append("responseFormat", "srt");
      const detail = await refusalOf(await post("/v1/audio/transcriptions", form));
      assert.equal(detail, 'unknown field "responseFormat": did you mean "response_format"?');
      assert.deepEqual(running.conversations.uploads, []);
    });

    test("OpenAI routes ignore OpenAI's other fields and names that do not resemble ours", async () => {
      const asked = { instructions: "x", stream_format: "audio", user: "u", lang_code: "a", volume: 2 };
      const spoken = await post("/v1/audio/speech", { ...INPUT, ...asked });
      assert.equal(spoken.status, 200);
      assert.equal(spoken.headers.get("x-svc-ignored"), "instructions,user,lang_code,volume");
      await spoken.arrayBuffer();
      const form = new FormData();
      const fields = [
        "language",
        "prompt",
        "temperature",
        "timestamp_granularities[]",
        "include[]",
        "stream",
      ];
      const more = [
        "chunking_strategy",
        "known_speaker_names[]",
        "known_speaker_references[]",
        "user",
        "vad",
      ];
      for (const name of [...fields, ...more]) form.append(name, "x");
      form.append("file", new Blob([AUDIO]), "speech.wav");
      const heard = await post("/v1/audio/transcriptions", form);
      assert.equal(heard.status, 200, await heard.text());
      const ignored = [...fields, ...more]
        .map((name) => name.replace("[]", ""))
        .filter((name) => name !== "stream");
      assert.equal(heard.headers.get("x-svc-ignored"), ignored.join(","));
    });

    test("open paths accept cache-busting parameters but reject near misses", async () => {
      for (const path of ["/health?_=123", "/v1/models?t=1", "/v1/voices?_=1&nocache=x"]) {
        assert.equal((await fetch(running.base + path)).status, 200, path);
      }
      const answer = await fetch(`${running.base}/v1/voices?Model=svc-kk-v1`);
      assert.match(await refusalOf(answer), /did you mean "model"\?$/);
    });

    for (const [path, rule] of [
      ["/v1/stream?hotword=а", /^unknown parameter "hotword": did you mean "hotwords"\?$/],
      ["/v1/stream?eou=300", /^unknown parameter "eou"/],
      ["/v1/stream?words=1&x=y", /^unknown parameter "x": known are eou_ms, endpointing,/],
      ["/v1/listen?interim_result=true", /did you mean "interim_results"\?$/],
      ["/v1/listen?endpoint=300", /did you mean "endpointing"\?$/],
      ["/v1/listen?keyterms=а", /did you mean "keyterm"\?$/],
      ["/v1/listen?diarise=true", /did you mean "diarize"\?$/],
    ] as const) {
      test(`${path} is rejected before the upgrade, or on an open browser socket`, async () => {
        const answer = await refusedUpgrade(running, path);
        assert.deepEqual([answer.status, answer.error], [400, "unknown_parameter"]);
        assert.match(answer.detail, rule);
        const { message, code } = await toldToBrowser(running, path);
        assert.match(message, /did you mean|known are/);
        assert.equal(code, 4400);
      });
    }

    test("/v1/listen ignores Deepgram's other parameters", async () => {
      const names = ["filler_words", "profanity_filter", "tag", "extra"];
      const more = [
        "version",
        "tier",
        "mip_opt_out",
        "no_delay",
        "diarize_model",
        "callback_method",
        "shiny_new",
      ];
      const query = [...names, ...more].map((name) => `${name}=true`).join("&");
      const socket = new WebSocket(`${running.base}/v1/listen?${query}`, { headers: AUTHORIZED });
      await once(socket, "open");
      socket.terminate();
    });
  });
}

async function refusedUpgrade(
  { base }: RunningTransport,
  path: string,
): Promise<{ readonly status: number; readonly error: string; readonly detail: string }> {
  const socket = new WebSocket(base + path, { headers: AUTHORIZED });
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("open", () => reject(new Error("the socket opened")));
    socket.once("unexpected-response", async (_request, response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      const { detail } = JSON.parse(text) as { readonly detail: string };
      resolve({ status: response.statusCode!, error: String(response.headers["x-svc-error"]), detail });
    });
  });
}

async function toldToBrowser(
  { base }: RunningTransport,
  path: string,
): Promise<{ readonly message: string; readonly code: number }> {
  const names = path.startsWith("/v1/listen") ? ["token", GOOD_KEY] : ["svc-bearer", GOOD_KEY];
  const socket = new WebSocket(base + path, names);
  let message = "";
  socket.on("message", (data) => {
    message += String(data);
  });
  const [code] = (await once(socket, "close")) as [number];
  return { message, code };
}
