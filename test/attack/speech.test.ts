// Texts for hours of speech, long responses in all formats, and workers that crash under load.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Sql } from "postgres";
import { freePort } from "../../bench/support/free-port.js";
import { runLive } from "../../bench/support/live-client.js";
import { WavFrameReader } from "../../core/protocol/wav-frames.js";
import { connect } from "../../src/store/postgres/connect.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { joined, silence, speech, wavOf } from "../support/audio.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { FAULTY_MAIN } from "../support/faulty/entries.js";
import { temporaryFolder } from "../support/folders.js";
import { momentOfFault } from "../support/pace.js";
import { fileCredits, synthesisCredits } from "../support/prices.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";
import { RawConnection } from "./support/raw-connection.js";

const LONGEST_TEXT = 5_000;
/** More than half a minute of speech: one sentence without punctuation, sent in one frame. */
const LONG_TEXT = "бүгін күн жылы болады деп айтты әкем маған таңертең ".repeat(8).trim();
/** Workers that crash more often within half a minute are given up. */
const FAULTS = 4;
const SETTLED_WITHIN_MS = 90_000;
/** Room for one response of two minutes and for ordinary requests, but not for two such responses. */
const SPEECH_MEMORY_MB = 11;
/**
 * Two minutes of silence need no model. They are 5.8 MB, more than the socket buffers of a stalled reader
 * hold.
 */
const TWO_MINUTES = `Сәлем. ${"[pause 10s] ".repeat(12)}Сәлем.`;
const LEAST_BYTES = 5_760_000;

let dataDir: string;
let service: ServiceProcess;
let operatorPort: number;
let sql: Sql;

before(async () => {
  dataDir = await temporaryFolder();
  operatorPort = await freePort();
  service = await startServiceProcess(
    {
      MODEL_PRELOAD: "true",
      DATA_DIR: dataDir,
      OPERATOR_PORT: String(operatorPort),
      SPEECH_MEMORY_MB: String(SPEECH_MEMORY_MB),
    },
    { main: FAULTY_MAIN },
  );
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

test("a text for hours of speech is rejected on every path before anything is charged", async () => {
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
  for (const [path, body] of [
    ["/v1/audio/speech", { input: mixed[0] }],
    ["/v1/audio/speech", { input: mixed[0], stream_format: "sse" }],
    ["/v1/speak?speed=0.5", { text: mixed[0] }],
  ] as const) {
    const { status, body: answer } = await post(path, body);
    assert.equal(status, 400, path);
    assert.match(answer.toString(), /text must be at most/, path);
  }
  assert.equal((await chargesSince(since)).size, 0);
});

test("a long response has the same samples and exact length in every format, and repeats byte for byte", async () => {
  const request = { text: LONG_TEXT, nfe: 4 };
  const whole = await post("/v1/tts", request, { "idempotency-key": "long" });
  assert.equal(whole.status, 200, whole.body.toString());
  assert.ok(whole.body.length > 1_000_000, `${whole.body.length} bytes`);
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

/** Creates a new organization with a key. */
async function newCustomer(): Promise<string> {
  const operate = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], { env: { DATA_DIR: dataDir } });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as { readonly id: string; readonly key: string };
  };
  const { id } = await operate("orgs", "create", "customer");
  return (await operate("keys", "create", "--org", id)).key;
}

async function heldBytes(): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
  return Number(/^speech_held_bytes (\S+)$/m.exec(metrics)?.[1]);
}

/** Requests speech and reads only the response headers. */
async function askAndStandStill(path: string, text: string): Promise<RawConnection> {
  const connection = await RawConnection.open(service.port);
  const body = JSON.stringify({ text, nfe: 4 });
  const head = [`POST ${path} HTTP/1.1`, "Host: a.test", `Authorization: Bearer ${service.key}`];
  await connection.write(
    `${[...head, `Content-Length: ${Buffer.byteLength(body)}`].join("\r\n")}\r\n\r\n${body}`,
  );
  assert.ok(await connection.until(({ text }) => text.includes("\r\n\r\n")));
  connection.socket.pause();
  return connection;
}

test("while unread responses fill the budget, new requests are rejected before they cost anything", async () => {
  const since = new Date();
  const customer = await newCustomer();
  const request = { text: TWO_MINUTES, nfe: 4 };
  const paths = ["/v1/tts", "/v1/tts?timestamps=true"];
  for (const [index, path] of paths.entries()) {
    await eventually("nothing is held", async () => (await heldBytes()) === 0, SETTLED_WITHIN_MS);
    const slow = await askAndStandStill(path, TWO_MINUTES);
    assert.match(slow.text, /^HTTP\/1\.1 200 /);
    assert.ok((await heldBytes()) >= LEAST_BYTES, `${await heldBytes()} bytes`);
    const refusals = [...paths, ...paths].map(async (path, each) => {
      const own = await post(path, request, each < 2 ? {} : { "idempotency-key": `own ${index} ${each}` });
      assert.deepEqual([own.status, own.headers.get("x-svc-error")], [429, "too_many_requests"]);
      const other = await post(path, request, { authorization: `Bearer ${customer}` });
      assert.deepEqual([other.status, other.headers.get("x-svc-error")], [503, "engine_busy"]);
      for (const { headers } of [own, other]) assert.match(headers.get("retry-after") ?? "", /^\d+$/);
    });
    await Promise.all(refusals);
    assert.ok((await heldBytes()) <= SPEECH_MEMORY_MB * 2 ** 20);
    const short = await post("/v1/tts", { text: SENTENCE, nfe: 4 }, { authorization: `Bearer ${customer}` });
    assert.equal(short.status, 200, "what fits is served");
    slow.destroy();
    await eventually("nothing is held", async () => (await heldBytes()) === 0, SETTLED_WITHIN_MS);
    const again = await post(path, request, { "idempotency-key": `own ${index} ${paths.length + index}` });
    assert.equal(again.status, 200, "a key that was refused is free");
    assert.equal(again.headers.get("idempotent-replayed"), null);
  }
  assert.equal((await chargesSince(since)).size, 3 * paths.length, "what was refused cost nothing");
});

const SENTENCE = "Бүгін ауа райы жақсы болады деп айтты.";
const RECORDING = joined(
  silence(0.3),
  speech("kazakh-speech-commands/example_1.flac"),
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.flac"),
  silence(0.5),
);
const FILE_RATE_HZ = 8_000;
const FILE_SAMPLES = joined(
  speech("kazakh-speech-commands/example_1.flac", FILE_RATE_HZ),
  silence(0.8, FILE_RATE_HZ),
  speech("asterisk-ru-core/conf-getconfno.flac", FILE_RATE_HZ),
);
const FILE = wavOf(FILE_SAMPLES, FILE_RATE_HZ, 1);

/** Result and cost of one request. */
interface Receipt {
  readonly id: string;
  readonly credits: number;
  /** The part of the result that faults must not change. */
  readonly gave: string;
}

/** Returns null if the request was rejected because its worker was lost. */
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
    receiptOf(await post("/v1/tts", { text: SENTENCE, nfe: 4 }), synthesisCredits(SENTENCE.length), (body) =>
      body.toString("base64"),
    ),
  stream: async () =>
    receiptOf(
      await post("/v1/tts/stream", { text: SENTENCE, nfe: 4 }),
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

test(`${FAULTS} worker deaths of every kind under load fail no request and cost no client a credit`, async (t) => {
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
      await momentOfFault(100);
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
