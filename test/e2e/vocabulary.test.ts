// Hot words and pronunciations that an organization stores apply to its own requests on every path, as if each
// request had sent them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { toFloat } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { DauysClient } from "../../src/client/node.js";
import type { SpeechRequest } from "../../src/client/speech-types.js";
import { listen } from "../client/support.js";
import { silence } from "../support/audio.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { pace } from "../support/pace.js";
import { append } from "../support/realtime-events.js";
import { startTwoServices } from "../support/service-process.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

/** A rare name that the recogniser gets wrong without hot words. */
const NAME = "зүбайраш";
const SENTENCE = "Бүгін кездесуге Зүбайраш келеді.";
const RATE_HZ = 24_000;
const WAV_HEADER_BYTES = 44;
/** 100 ms of samples. */
const PIECE_BYTES = RATE_HZ / 5;
const PRONUNCIATIONS = [
  { word: "Kaspi", say: "қазақстан республикасы" },
  { word: "GPT", say: "джи пи ти" },
];
const SPEECH = { text: "Kaspi-ге GPT керек.", seed: 7, nfe: 4, voice: "aigul" } as const;

/** One customer stores words, the other sends them. */
let stored: SharedService;
let plain: SharedService;
let storing: DauysClient;
let sending: DauysClient;

before(async () => {
  [stored, plain] = [await sharedService(), await sharedService()];
  [storing, sending] = [stored, plain].map(
    ({ url, key }) => new DauysClient({ baseUrl: url, apiKey: key }),
  ) as [DauysClient, DauysClient];
});

describe("stored hot words", { concurrency: 1 }, () => {
  let wav: Uint8Array<ArrayBuffer>;
  let without: string;
  let withName: string;

  before(async () => {
    ({ wav } = await sending.speak({ text: SENTENCE, voice: "aigul" }));
    without = (await sending.transcribe(wav)).text;
    withName = (await sending.transcribe(wav, { hotWords: [NAME] })).text;
    assert.ok(!without.includes(NAME), without);
    assert.ok(withName.includes(NAME), withName);
    assert.equal((await storing.transcribe(wav)).text, without);
    const words = { hotwords: [NAME], pronunciations: [] };
    assert.deepEqual(await storing.vocabulary.set(words), words);
    assert.deepEqual(await storing.vocabulary.get(), words);
  });

  const form = async ({ url, key }: SharedService, fields: Readonly<Record<string, string>> = {}) => {
    const body = new FormData();
    body.set("file", new Blob([wav]), "a.wav");
    for (const [name, value] of Object.entries({ model: "whisper-1", ...fields })) body.set(name, value);
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: "POST", headers, body });
    return ((await answer.json()) as { text: string }).text;
  };
  const deepgram = async ({ url, key }: SharedService, query = "") => {
    const headers = { authorization: `Token ${key}` };
    const answer = await fetch(`${url}/v1/listen${query}`, { method: "POST", headers, body: wav });
    const { results } = (await answer.json()) as {
      results: { channels: { alternatives: { transcript: string }[] }[] };
    };
    return results.channels[0]!.alternatives[0]!.transcript;
  };

  test("apply to files on every path like those of a request, for the organization alone, at its price", async () => {
    const heard = await storing.transcribe(wav);
    assert.equal(heard.text, withName);
    assert.equal(heard.credits_charged, (await sending.transcribe(wav)).credits_charged);
    assert.deepEqual([await form(stored), await deepgram(stored)], [withName, withName]);
    assert.deepEqual([await form(plain), await deepgram(plain)], [without, without]);
  });

  test("are left out with organization_defaults=false", async () => {
    assert.equal((await storing.transcribe(wav, { organizationDefaults: false })).text, without);
    assert.equal(await form(stored, { organization_defaults: "false" }), without);
    assert.equal(await deepgram(stored, "?organization_defaults=false"), without);
  });

  test("apply to jobs as stored when they were submitted", async () => {
    const textOf = async (client: DauysClient, options = {}) => {
      const { id } = await client.jobs.wait((await client.jobs.submit(wav, options)).id);
      return (await client.jobs.result(id)).text;
    };
    assert.equal(await textOf(storing), withName);
    assert.equal(await textOf(storing, { organizationDefaults: false }), without);
    assert.equal(await textOf(sending), without);
  });

  test("a repetition under an idempotency key is free, whatever is stored by then", async () => {
    const idempotencyKey = "vocabulary";
    const first = await storing.transcribe(wav, { idempotencyKey });
    await storing.vocabulary.set({});
    const again = await storing.transcribe(wav, { idempotencyKey });
    assert.deepEqual([again.text, again.is_replayed], [first.text, true]);
    assert.equal((await storing.transcribe(wav)).text, without);
    await storing.vocabulary.set({ hotwords: [NAME] });
    await assert.rejects(storing.transcribe(wav, { idempotencyKey, organizationDefaults: false }), {
      status: 422,
    });
  });

  test("apply to live sessions", async () => {
    const samples = new Int16Array(wav.slice(WAV_HEADER_BYTES).buffer);
    const slower = resample(toFloat(samples), { fromHz: RATE_HZ, toHz: 16_000 });
    const pcm = Int16Array.from([...silence(0.3), ...slower.map((value) => value * 32_767), ...silence(1)]);
    const live = async (client: DauysClient, options = {}) =>
      (await listen(client, pcm, options)).finals.map(({ text }) => text).join(" ");
    const wanted = await live(sending, { hotWords: [NAME] });
    assert.ok(wanted.includes(NAME), wanted);
    assert.equal(await live(storing), wanted);
    assert.ok(!(await live(storing, { organizationDefaults: false })).includes(NAME));
  });

  /** Sends the recording to a socket in the dialect's messages; returns all text of the replies. */
  const overSocket = async (path: string, messages: readonly (string | Uint8Array)[], isOver: RegExp) => {
    const socket = new WebSocket(stored.url.replace("http", "ws") + path, {
      headers: { authorization: `Bearer ${stored.key}` },
    });
    let replies = "";
    socket.on("message", (data) => {
      replies += `${data}\n`;
    });
    const closed = once(socket, "close");
    await once(socket, "open");
    for (const message of messages) socket.send(message);
    await eventually(`${path} is over`, () => isOver.test(replies));
    socket.close();
    await closed;
    return replies;
  };

  for (const [path, over, messages] of [
    ["/v1/listen?sample_rate=24000&encoding=linear16", /"Metadata"/, ["audio", '{"type":"CloseStream"}']],
    ["/v2/listen?sample_rate=24000&encoding=linear16", /"EndOfTurn"/, ["audio", '{"type":"CloseStream"}']],
    ["/v1/realtime?intent=transcription", /\.completed"/, ["append", '{"type":"input_audio_buffer.commit"}']],
  ] as const) {
    test(`apply to ${path.split("?")[0]}`, async () => {
      const audio = Buffer.from(wav.subarray(WAV_HEADER_BYTES));
      const pieces = Array.from({ length: Math.ceil(audio.length / PIECE_BYTES) }, (_, index) =>
        audio.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
      );
      const sent = messages.flatMap((message): readonly (string | Uint8Array)[] => {
        if (message === "audio") return pieces;
        return message === "append" ? pieces.map(append) : [message];
      });
      assert.ok((await overSocket(path, sent, over)).includes(NAME));
      const replies = await overSocket(`${path}&organization_defaults=false`, sent, over);
      assert.ok(!replies.includes(NAME), replies);
    });
  }
});

describe("stored pronunciations", { concurrency: 1 }, () => {
  const bytesOf = async ({ url, key }: SharedService, path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, await answer.clone().text());
    return { bytes: Buffer.from(await answer.arrayBuffer()), credits: answer.headers.get("x-svc-credits") };
  };
  /** Speaks over `/v1/tts/live`, or Deepgram's socket; returns the samples. */
  const live = async (
    { url, key }: SharedService,
    path: string,
    messages: readonly object[] = [{ type: "text", text: SPEECH.text }, { type: "close" }],
  ) => {
    const socket = new WebSocket(url.replace("http", "ws") + path, {
      headers: { authorization: `Bearer ${key}` },
    });
    const pcm: Buffer[] = [];
    socket.on("message", (data: Buffer, isBinary) => isBinary && pcm.push(data));
    await once(socket, "open");
    for (const message of messages) socket.send(JSON.stringify(message));
    await once(socket, "close");
    return Buffer.concat(pcm);
  };
  const OPENAI = { ...SPEECH, input: SPEECH.text, text: undefined, model: "tts-1" };
  const LIVE = "/v1/tts/live?seed=7&nfe=4&voice=aigul";

  before(async () => {
    // The service may have cached its sentences with the usual readings.
    await bytesOf(stored, "/v1/tts", SPEECH);
    await storing.vocabulary.set({ pronunciations: PRONUNCIATIONS });
  });

  test("make the speech of a request with the same ones, to the last byte, at the same price", async () => {
    for (const [path, body] of [
      ["/v1/tts", SPEECH],
      ["/v1/tts/stream", SPEECH],
      ["/v1/audio/speech", OPENAI],
    ] as const) {
      const wanted = await bytesOf(plain, path, { ...body, pronunciations: PRONUNCIATIONS });
      const usual = await bytesOf(plain, path, body);
      assert.notDeepEqual(usual.bytes, wanted.bytes, path);
      assert.deepEqual(await bytesOf(stored, path, body), wanted, path);
      assert.deepEqual(await bytesOf(stored, path, { ...body, organization_defaults: false }), usual, path);
      assert.equal(usual.credits, wanted.credits, path);
    }
  });

  test("a request's own win on the same word, and the others still apply", async () => {
    const own = [{ word: "kaspi", say: "каспи" }];
    const wanted = await bytesOf(plain, "/v1/tts", {
      ...SPEECH,
      pronunciations: [...own, PRONUNCIATIONS[1]],
    });
    assert.deepEqual(await bytesOf(stored, "/v1/tts", { ...SPEECH, pronunciations: own }), wanted);
  });

  test("apply to speech of text in pieces", async () => {
    const usual = await live(plain, LIVE);
    assert.deepEqual(await live(stored, `${LIVE}&organization_defaults=false`), usual);
    const said = await live(stored, LIVE);
    assert.ok(said.length > 1.2 * usual.length, `${said.length} and ${usual.length} bytes`);
  });

  test("apply to Deepgram's clients", async () => {
    const { text } = SPEECH;
    const messages = [{ type: "Speak", text }, { type: "Flush" }, { type: "Close" }];
    const path = "/v1/speak?model=aigul";
    const usual = await bytesOf(plain, path, { text });
    assert.ok((await bytesOf(stored, path, { text })).bytes.length > 1.2 * usual.bytes.length);
    assert.deepEqual(await bytesOf(stored, `${path}&organization_defaults=false`, { text }), usual);
    const spoken = await live(plain, path, messages);
    assert.ok((await live(stored, path, messages)).length > 1.2 * spoken.length);
    assert.deepEqual(await live(stored, `${path}&organization_defaults=false`, messages), spoken);
  });

  test("never make a text too long", async () => {
    const long = { word: "Kaspi", say: "9".repeat(60) };
    await assert.rejects(sending.speak({ ...SPEECH, pronunciations: [long] } as SpeechRequest), {
      status: 400,
    });
    await storing.vocabulary.set({ pronunciations: [long] });
    assert.deepEqual(await bytesOf(stored, "/v1/tts", SPEECH), await bytesOf(plain, "/v1/tts", SPEECH));
  });
});

test("the command line shows and replaces the words", async () => {
  const env = { DAUYS_URL: stored.url, DAUYS_API_KEY: stored.key };
  const words = { hotwords: ["айнұр", "маңғыстау:2"], pronunciations: PRONUNCIATIONS };
  const file = join(await temporaryFolder(), "words.json");
  await writeFile(file, JSON.stringify(words));
  const set = await dauysInTurn(["vocabulary", "set", file], { env });
  assert.deepEqual([set.code, set.stdout], [0, "2 hot words and 2 pronunciations stored\n"], set.stderr);
  const got = await dauysInTurn(["vocabulary", "get"], { env });
  assert.deepEqual(JSON.parse(got.stdout), words);
  await writeFile(file, JSON.stringify({ hotwords: ["☃"] }));
  const refused = await dauysInTurn(["vocabulary", "set", file], { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /hotwords must be written in the model's letters, received "☃"/);
  await writeFile(file, "[]");
  assert.equal((await dauysInTurn(["vocabulary", "set", file], { env })).code, 2);
  assert.deepEqual(await storing.vocabulary.get(), words);
});

describe("on two services", () => {
  const stops: (() => Promise<unknown>)[] = [];
  after(async () => {
    for (const stop of stops) await stop();
  });

  test("a change applies at once where it was made, and within 30 s on the other", async () => {
    const service = await startTwoServices(await lightModels());
    stops.push(async () => assert.equal(await service.stop(), 0, service.output()));
    const [here, there] = service.services.map(
      ({ url }) => new DauysClient({ baseUrl: url, apiKey: service.key }),
    ) as [DauysClient, DauysClient];
    const speak = async (client: DauysClient) => (await client.speak({ text: "GPT", nfe: 4 })).wav;
    const usual = await speak(here);
    assert.deepEqual(await speak(there), usual);
    await here.vocabulary.set({ pronunciations: [{ word: "GPT", say: "қазақстан" }] });
    const said = await speak(here);
    assert.notDeepEqual(said, usual);
    assert.deepEqual((await there.vocabulary.get()).pronunciations, [{ word: "GPT", say: "қазақстан" }]);
    const isKnown = async () => {
      if (said.length === (await speak(there)).length) return true;
      await pace(1_000);
      return false;
    };
    await eventually("the other service knows", isKnown, 35_000);
    assert.deepEqual(await speak(there), said);
  });
});
