import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { WebSocket } from "ws";
import { TWO_OF_EACH } from "../support/catalog.js";
import { FakeConversations, GOOD_KEY } from "./fake-conversations.js";
import { type RunningTransport, startTransport } from "./running-transport.js";

const AUTHORIZED = { authorization: `Bearer ${GOOD_KEY}` };
const HOT_WORDS = `hotwords=${encodeURIComponent("сәлем")}`;

let running: RunningTransport;
let conversations: FakeConversations;

before(async () => {
  conversations = new FakeConversations();
  conversations.catalog = TWO_OF_EACH;
  running = await startTransport("node", { conversations });
});
after(() => running.stop());

function post(path: string, body: object): Promise<Response> {
  const isForm = body instanceof FormData;
  return fetch(running.base + path, {
    method: "POST",
    headers: isForm ? AUTHORIZED : { ...AUTHORIZED, "content-type": "application/json" },
    body: isForm ? body : JSON.stringify(body),
  });
}

function form(fields: Readonly<Record<string, string>>): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  made.append("file", new Blob(["audio"]), "a.wav");
  return made;
}

async function refusal(answer: Response): Promise<readonly [number, string | null, string]> {
  const { detail } = (await answer.json()) as { readonly detail: string };
  return [answer.status, answer.headers.get("x-svc-error"), detail];
}

test("the catalog lists every model with its voices, the default first", async () => {
  const models = (await (await fetch(`${running.base}/v1/models`)).json()) as Record<string, Row[]>;
  type Row = { readonly name: string; readonly default: boolean; readonly hot_words?: boolean };
  const shown = (rows: readonly Row[] = []) => rows.map((row) => [row.name, row.default, row.hot_words]);
  assert.deepEqual(shown(models["data"]), [
    ["svc-kk-v1", true, undefined],
    ["voices", false, undefined],
  ]);
  assert.deepEqual(shown(models["transcription"]), [
    ["svc-kk-ru-v2", true, true],
    ["pieces", false, false],
  ]);
  const voices = await fetch(`${running.base}/v1/voices?model=voices`);
  assert.deepEqual(((await voices.json()) as { model: string }).model, "voices");
  const health = (await (await fetch(`${running.base}/health`)).json()) as { models: string[] };
  assert.deepEqual(health.models, ["pieces", "svc-kk-ru-v2", "svc-kk-v1", "voices"]);
});

test("the response names the model that spoke, whether requested or default", async () => {
  for (const [path, field] of [
    ["/v1/tts", "text"],
    ["/v1/tts/stream", "text"],
    ["/v1/audio/speech", "input"],
  ] as const) {
    for (const [asked, model] of [
      [{}, "svc-kk-v1"],
      [{ model: "svc-kk-v1" }, "svc-kk-v1"],
      [{ model: "voices", voice: "iseke" }, "voices"],
    ] as const) {
      const answer = await post(path, { [field]: "a.b", ...asked });
      await answer.arrayBuffer();
      assert.deepEqual([answer.status, answer.headers.get("x-svc-model")], [200, model], path);
    }
  }
  const alias = await post("/v1/audio/speech", { input: "a", model: "tts-1" });
  assert.equal(alias.headers.get("x-svc-model"), "svc-kk-v1");
});

test("voices and word times are those of the requested model", async () => {
  assert.deepEqual(await refusal(await post("/v1/tts", { text: "a", voice: "iseke" })), [
    404,
    "unknown_voice",
    "no voice",
  ]);
  assert.deepEqual(
    await refusal(await post("/v1/audio/speech", { input: "a", model: "voices", voice: "aigul" })),
    [400, "invalid_request", 'voice must be one of iseke, received "aigul"'],
  );
  assert.deepEqual(await refusal(await post("/v1/tts?timestamps=true", { text: "a", model: "voices" })), [
    400,
    "invalid_request",
    "timestamps must be false: voices does not provide word times",
  ]);
});

test("an unknown model is rejected with a list of the installed ones", async () => {
  const detail = (names: string) => `model must be one of ${names}, received "nope"`;
  const unknown = [404, "unknown_model", detail("svc-kk-v1, voices")];
  assert.deepEqual(await refusal(await post("/v1/tts", { text: "a", model: "nope" })), unknown);
  assert.deepEqual(await refusal(await fetch(`${running.base}/v1/voices?model=nope`)), unknown);
  const hearing = detail("svc-kk-ru-v2, pieces");
  const uploads = conversations.uploads.length;
  assert.deepEqual(await refusal(await post("/v1/transcribe?model=nope", form({}))), [
    404,
    "unknown_model",
    hearing,
  ]);
  assert.deepEqual(await refusal(await post("/v1/audio/transcriptions", form({ model: "nope" }))), [
    400,
    "invalid_request",
    hearing,
  ]);
  assert.equal(conversations.uploads.length, uploads);
});

test("the requested model transcribes a file, or else the default model", async () => {
  for (const [path, fields, model] of [
    ["/v1/transcribe", {}, "svc-kk-ru-v2"],
    ["/v1/transcribe?model=pieces", {}, "pieces"],
    ["/v1/audio/transcriptions", {}, "svc-kk-ru-v2"],
    ["/v1/audio/transcriptions", { model: "whisper-1" }, "svc-kk-ru-v2"],
    ["/v1/audio/transcriptions", { model: "pieces" }, "pieces"],
  ] as const) {
    const answer = await post(path, form(fields));
    assert.deepEqual([answer.status, answer.headers.get("x-svc-model")], [200, model], path);
    assert.equal(conversations.wishes?.model, model);
  }
});

test("a model without an alphabet rejects hot words", async () => {
  assert.equal((await post(`/v1/transcribe?${HOT_WORDS}`, form({}))).status, 200);
  assert.deepEqual(await refusal(await post(`/v1/transcribe?model=pieces&${HOT_WORDS}`, form({}))), [
    400,
    "invalid_request",
    "hotwords must be omitted: pieces does not support hot words",
  ]);
});

test("a live session uses the requested model on both paths", async () => {
  for (const [path, expected] of [
    ["/v1/stream", "svc-kk-ru-v2"],
    ["/v1/stream?model=pieces", "pieces"],
    ["/v1/listen?model=nova-2", "svc-kk-ru-v2"],
    ["/v1/listen?model=pieces", "pieces"],
    ["/v1/stream?model=nope", 404],
    ["/v1/listen?model=nope", 400],
    [`/v1/stream?model=pieces&${HOT_WORDS}`, 400],
  ] as const) {
    conversations.options = null;
    const socket = new WebSocket(running.base.replace("http", "ws") + path, { headers: AUTHORIZED });
    if (typeof expected === "string") {
      await once(socket, "open");
      assert.equal((conversations.options as { readonly model: string } | null)?.model, expected, path);
    } else {
      const [, answer] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
      assert.equal(answer.statusCode, expected, path);
    }
    socket.once("error", () => {});
    socket.terminate();
  }
});
