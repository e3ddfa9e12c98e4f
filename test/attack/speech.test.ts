// Texts that would be hours of speech, long answers in all their forms, and workers that die while many ask.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import { runLive } from "../../bench/support/live-client.js";
import {
  creditDevelopment,
  type ServiceProcess,
  startServiceProcess,
} from "../../bench/support/service-process.js";
import { fileCredits, synthesisCredits } from "../../src/domain/usage/tariff.js";
import { WavFrameReader } from "../../src/protocol/wav-frames.js";
import { connect } from "../../src/store/connect.js";
import { brokenRules } from "../store/ledger-support.js";
import { eventually, SILENT, temporaryFolder } from "../store/support.js";
import { joined, silence, speech, wavOf } from "../support/audio.js";

const LONGEST_TEXT = 5_000;
/** A minute and more of one sentence without a mark: what is sent in one frame. */
const LONG_TEXT = "бүгін күн жылы болады деп айтты әкем маған таңертең ".repeat(16).trim();
/** Workers that die more often within half a minute are given up. */
const FAULTS = 4;
const SETTLED_WITHIN_MS = 30_000;

let dataDir: string;
let service: ServiceProcess;
let sql: Sql;

before(async () => {
  dataDir = await temporaryFolder();
  service = await startServiceProcess({ DATA_DIR: dataDir, DAUYS_ALLOW_FAULTS: "1" });
  await creditDevelopment(service, 1_000_000);
  sql = await connect(JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8")), SILENT);
});

after(async () => {
  await sql.end();
  assert.equal(await service.stop(), 0, service.output());
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

async function post(path: string, body: object | Uint8Array, headers = {}): Promise<Answer> {
  const answer = await fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, ...headers },
    body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

async function chargesSince(since: Date): Promise<ReadonlyMap<string, number>> {
  await eventually(
    "no hold left",
    async () => (await sql`select id from holds where state in ('open', 'posted')`).length === 0,
    SETTLED_WITHIN_MS,
  );
  const rows = await sql<{ id: string; amount: string }[]>`
    select id, amount from holds where opened_at > ${since} and amount > 0`;
  return new Map(rows.map(({ id, amount }) => [id, Number(amount)]));
}

test("a text that would be hours of speech is refused on every path, before anything is charged", async () => {
  const since = new Date();
  const rows = "@±≥≤∞≈≠℃₿%=+°$№".split("").map((sign) => sign.repeat(LONGEST_TEXT));
  const mixed = ["@±", "≤≥", "℃@", "∞≠"].map((signs) => signs.repeat(LONGEST_TEXT / 2));
  const slow = ["@ ", "9999 ", "ҚР ", "%9"].map((part) => part.repeat(LONGEST_TEXT).slice(0, LONGEST_TEXT));
  const paths = ["/v1/tts", "/v1/tts?timestamps=true", "/v1/tts/stream"];
  for (const [index, text] of [...rows, ...mixed, ...slow].entries()) {
    for (const path of mixed.includes(text) ? paths : [paths[index % paths.length]!]) {
      const { status, headers, body } = await post(path, { text, nfe: 4, speed: 0.5 });
      assert.equal(status, 400, `${path} ${text.slice(0, 6)}`);
      const { detail } = JSON.parse(body.toString()) as { detail: string };
      const what = `${path} ${text.slice(0, 6)}: ${detail}`;
      if (headers.get("x-svc-error") === "nothing_to_say") continue;
      assert.equal(headers.get("x-svc-error"), "text_too_long", what);
      assert.match(detail, /^text must be at most (?:40000 characters|3600 s).* received .*\d{4}/, what);
    }
  }
  const { status } = await post("/v1/audio/speech", { input: mixed[0] });
  assert.equal(status, 400);
  assert.equal((await chargesSince(since)).size, 0);
});

test("a long answer has the same sound in every form, its exact length, and comes again byte for byte", async () => {
  const request = { text: LONG_TEXT, nfe: 4 };
  const whole = await post("/v1/tts", request, { "idempotency-key": "long" });
  assert.equal(whole.status, 200, whole.body.toString());
  assert.ok(whole.body.length > 2_000_000, `${whole.body.length} bytes`);
  assert.equal(whole.headers.get("content-length"), String(whole.body.length));
  const timed = await post("/v1/tts?timestamps=true", request, { "idempotency-key": "long and timed" });
  assert.equal(timed.headers.get("content-length"), String(timed.body.length));
  const { audio, words, duration } = JSON.parse(timed.body.toString()) as {
    readonly audio: string;
    readonly words: readonly { readonly end: number }[];
    readonly duration: number;
  };
  assert.ok(Buffer.from(audio, "base64").equals(whole.body), "base64 of the same WAV");
  assert.equal(words.length, LONG_TEXT.split(" ").length);
  assert.ok(words.at(-1)!.end <= duration);
  const stream = await post("/v1/tts/stream", request);
  const frames = new WavFrameReader().push(stream.body);
  assert.equal(frames.length, 1, "a sentence is a frame, however long");
  assert.ok(Buffer.from(frames[0]!).equals(whole.body));
  for (const [path, key, first] of [
    ["/v1/tts", "long", whole],
    ["/v1/tts?timestamps=true", "long and timed", timed],
  ] as const) {
    const again = await post(path, request, { "idempotency-key": key });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(again.headers.get("content-length"), String(first.body.length));
    assert.ok(again.body.equals(first.body), `${path} byte for byte`);
  }
});

const SENTENCE = "Бүгін ауа райы жақсы болады деп айтты.";
const RECORDING = joined(
  silence(0.3),
  speech("kazakh-speech-commands/example_1.wav"),
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.wav"),
  silence(0.5),
);
const FILE_RATE_HZ = 8_000;
const FILE_SAMPLES = joined(
  speech("kazakh-speech-commands/example_1.wav", FILE_RATE_HZ),
  silence(0.8, FILE_RATE_HZ),
  speech("asterisk-ru-core/conf-getconfno.wav", FILE_RATE_HZ),
);
const FILE = wavOf(FILE_SAMPLES, FILE_RATE_HZ, 1);

/** What one request gave, and what it cost. */
interface Receipt {
  readonly id: string;
  readonly credits: number;
  /** What an undisturbed request of the same kind gives too. */
  readonly gave: string;
}

/** Null for a request that was refused because the worker was lost. */
async function receiptOf(
  answer: Answer,
  credits: number,
  gave: (body: Buffer) => string,
): Promise<Receipt | null> {
  if (answer.status === 503) {
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    return null;
  }
  assert.equal(answer.status, 200, answer.body.toString());
  return { id: answer.headers.get("x-request-id") ?? "", credits, gave: gave(answer.body) };
}

const asks: Readonly<Record<string, () => Promise<Receipt | null>>> = {
  speak: async () =>
    receiptOf(await post("/v1/tts", { text: SENTENCE, nfe: 16 }), synthesisCredits(SENTENCE.length), (body) =>
      body.toString("base64"),
    ),
  stream: async () =>
    receiptOf(
      await post("/v1/tts/stream", { text: SENTENCE, nfe: 16 }),
      synthesisCredits(SENTENCE.length),
      (body) => body.toString("base64"),
    ),
  transcribe: async () =>
    receiptOf(
      await post("/v1/transcribe", FILE),
      fileCredits(FILE_SAMPLES.length, FILE_RATE_HZ),
      (body) => (JSON.parse(body.toString()) as { text: string }).text,
    ),
  listen: async () => {
    const { url, key } = service;
    const run = await runLive({ url, key, pcm: RECORDING, messageSamples: 1_600, isPaced: true });
    const ids: string[] = [];
    const finals: string[] = [];
    let credits = 0;
    for (const { message } of run.received) {
      if (message.type === "ready") ids.push(message.session_id);
      if (message.type === "final") finals.push(message.text);
      if (message.type === "done") credits = message.credits_charged;
    }
    assert.equal(run.closeCode, 1000, "the session ends by its own wish");
    return { id: ids[0]!, credits, gave: finals.join("|") };
  },
};

test(`workers of every kind that die ${FAULTS} times under load cost no request its end, and nobody a credit`, async (t) => {
  const since = new Date();
  const receipts: Receipt[] = [];
  const undisturbed = new Map<string, string>();
  for (const [name, ask] of Object.entries(asks)) {
    const receipt = await ask();
    assert.ok(receipt !== null && receipt.gave !== "");
    undisturbed.set(name, receipt.gave);
    receipts.push(receipt);
  }
  let isOver = false;
  let refusedCount = 0;
  const client = async (name: string) => {
    do {
      const receipt = await asks[name]!();
      if (receipt === null) refusedCount++;
      else {
        assert.equal(receipt.gave, undisturbed.get(name), name);
        receipts.push(receipt);
      }
    } while (!isOver);
  };
  const clients = Object.keys(asks).flatMap((name) => [client(name), client(name), client(name)]);
  const allDone = Promise.all(clients);
  const faults = (async () => {
    for (let fault = 0; fault < FAULTS; fault++) {
      const before = receipts.length;
      await eventually("more answers", () => receipts.length > before + 5, 60_000);
      service.child.kill("SIGUSR2");
      await sleep(100);
    }
    isOver = true;
  })();
  await Promise.all([allDone, faults]);
  for (const worker of ["synthesis", "live", "file"]) {
    const deaths = service.output().match(new RegExp(`${worker} worker ended`, "g"))?.length ?? 0;
    t.diagnostic(`${deaths} ${worker} workers died`);
    assert.ok(deaths > 0, `${worker} workers died`);
  }
  t.diagnostic(`${receipts.length} answers, ${refusedCount} refused`);
  const charges = await chargesSince(since);
  assert.deepEqual(
    Object.fromEntries([...charges].toSorted()),
    Object.fromEntries(receipts.map(({ id, credits }): [string, number] => [id, credits]).toSorted()),
  );
  assert.deepEqual(await brokenRules(sql), []);
});
