import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { writeWav } from "../../core/domain/audio/wav.js";
import { COMPONENTS } from "../../core/protocol/components.js";
import { ENDPOINTS } from "../../core/protocol/endpoints.js";
import type { SpeakOptions } from "../../src/client/client.js";
import { DauysClient } from "../../src/client/node.js";
import type { SpeechRequest } from "../../src/client/speech-types.js";
import { type ServiceStub, STUB_KEY, type StubRequest, startStub } from "../cli/service-stub.js";
import { FAKE_JOB } from "../http/fake-jobs.js";
import { OTHER_VENDORS } from "./other-vendors.js";

/**
 * Every option. If an option is missing, this does not compile; if a parameter is missing, the test below
 * fails.
 */
const REQUEST: Required<SpeechRequest> = {
  text: "сәлем",
  model: "svc-kk-v1",
  voice: "dauren",
  speed: 1.5,
  nfe: 16,
  normalize: false,
  seed: 7,
  pronunciations: [{ word: "a", say: "а" }],
  organization_defaults: false,
  room_tone: false,
};
const TIMED: Pick<Required<SpeakOptions>, "timestamps" | "encoding" | "sampleRateHz"> = {
  timestamps: true,
  encoding: "mulaw",
  sampleRateHz: 8_000,
};
const HOT_WORDS = ["айнұр", { word: "маңғыстау", score: 2.5 }, { word: "ел" }];
const READABLE = { display: true, numerals: "all", redact: ["phone", "iin"] } as const;
const SPLIT = {
  channels: "split",
  raw: { encoding: "mulaw", sampleRateHz: 8_000, channelCount: 2 },
} as const;
const WRITTEN_HOT_WORDS = "айнұр,маңғыстау:2.5,ел";
/** Parameters that the library sets itself: it reads JSON, and sends its key or token as a subprotocol. */
const NOT_WISHES: Readonly<Record<string, readonly string[]>> = {
  "/v1/stream": ["encoding", "token"],
  "/v1/tts/live": ["encoding", "token"],
};

let stub: ServiceStub;
let client: DauysClient;

before(async () => {
  const wav = Buffer.from(writeWav(new Int16Array(240), 24_000));
  stub = await startStub(
    ({ path }, response) => {
      if (path.startsWith("/v1/tts/stream")) response.writeHead(200).end();
      else if (path.startsWith("/v1/tts"))
        response.writeHead(200).end(JSON.stringify({ audio: wav.toString("base64"), words: [] }));
      else response.writeHead(200).end("{}");
    },
    (socket) => {
      socket.on("message", (data) => {
        if (!String(data).includes('"close"')) return;
        socket.send(JSON.stringify({ type: "done", audio_seconds: 0, characters: 0, credits_charged: 0 }));
        socket.close(1000);
      });
      socket.send(JSON.stringify({ type: "ready", session_id: "s", request_id: "r", eou_ms: 300 }));
    },
  );
  client = new DauysClient({ baseUrl: stub.url, apiKey: STUB_KEY });
});
after(() => stub.close());

test("the library can send exactly the parameters and fields of the API", async () => {
  const live = {
    model: "ears",
    endOfUtteranceMs: 300,
    endpointing: "adaptive",
    partials: false,
    words: true,
    hotWords: HOT_WORDS,
    organizationDefaults: false,
    ...READABLE,
    channelCount: 2,
  } as const;
  await client.speak(REQUEST, TIMED);
  for await (const _frame of client.speakStream(REQUEST, { ...TIMED, frames: "chunks" }))
    assert.fail("the stub says nothing");
  const speakers = { diarize: true, speakers: 2 };
  const words = { hotWords: HOT_WORDS, organizationDefaults: false };
  const options = { model: "ears", timestamps: true, ...words, ...READABLE };
  const [transcript, diarized] = [
    { ...options, ...SPLIT },
    { ...options, ...speakers },
  ];
  await client.transcribe(new Uint8Array(10), transcript);
  await client.transcribe({ url: "https://recordings.test/a.wav" }, diarized);
  await client.live(live).close();
  const { text: _text, ...voicing } = REQUEST;
  await client.speakLive({ ...voicing, sampleRateHz: 16_000 }).close();
  await client.voices({ model: "svc-kk-v1" });
  await client.models();
  await client.recognizers();
  await client.health();
  await client.streamToken();
  await client.balance();
  await client.key();
  await client.vocabulary.set({ hotwords: ["айнұр"], pronunciations: [{ word: "a", say: "а" }] });
  await client.vocabulary.get();
  const { id } = FAKE_JOB;
  await client.jobs.submit(new Uint8Array(10), { ...transcript, webhookUrl: "https://hooks.test/" });
  await client.jobs.submit({ url: "https://recordings.test/a.wav" }, diarized);
  await client.jobs.get(id);
  await client.jobs.list({ status: "done", limit: 5, after: id, idempotencyKey: "key" });
  await client.jobs.result(id);
  await client.jobs.resultText(id, "srt");
  await client.jobs.end(id);
  await client.jobs.webhookSecret();
  await client.jobs.rotateWebhookSecret();
  await client.usage({ from: "2026-11-01", to: "2026-11-02" });
  const ours = ENDPOINTS.filter(({ path }) => !OTHER_VENDORS.includes(path) && path !== "/ready");
  for (const { path: template, query, request } of ours) {
    const path = template.replace("{id}", id);
    const asked = [...stub.requests, ...stub.modelRequests].filter((one) => pathOf(one) === path);
    assert.ok(asked.length > 0, `${path} was asked`);
    const known = Object.keys(query?.schema.shape ?? {}).filter((name) => !NOT_WISHES[path]?.includes(name));
    const sent = new Set(asked.flatMap((one) => [...queryOf(one).keys()]));
    assert.deepEqual([...sent].sort(), known.sort(), `the query of ${path}`);
    const component = typeof request === "object" ? request["application/json"] : undefined;
    if (component === undefined) continue;
    const fields = Object.keys(COMPONENTS[component as "SynthesisRequest"].shape);
    assert.deepEqual(
      Object.keys(JSON.parse(String(asked[0]!.body))).sort(),
      fields.sort(),
      `the body of ${path}`,
    );
  }
});

test("hot words are formatted as the service parses them, with scores", () => {
  for (const path of ["/v1/transcribe", "/v1/stream"]) {
    for (const one of stub.requests.filter((candidate) => pathOf(candidate) === path)) {
      assert.equal(queryOf(one).get("hotwords"), WRITTEN_HOT_WORDS);
    }
  }
});

function pathOf({ path }: StubRequest): string {
  return path.split("?")[0]!;
}

function queryOf({ path }: StubRequest): URLSearchParams {
  return new URLSearchParams(path.split("?")[1] ?? "");
}
