import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import WebSocket from "ws";
import { runLive } from "../../bench/support/live-client.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { momentOfFault } from "../support/pace.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** At this price five characters cost the whole free grant. */
const TARIFF_SYNTHESIS = "5000/1";
const FREE = 25_000;

let dataDir: string;
let service: ServiceProcess;

before(async () => {
  dataDir = await temporaryFolder();
  service = await startServiceProcess({ DATA_DIR: dataDir, TARIFF_SYNTHESIS });
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

interface Ledger {
  readonly balance: number;
  readonly held: number;
  readonly data: readonly { readonly reference: string; readonly amount: number }[];
}

async function operator(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], { env: { DATA_DIR: dataDir } });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

async function newCustomer(): Promise<{ readonly id: string; readonly key: string }> {
  const { id } = (await operator("orgs", "create", "customer")) as { id: string };
  const { key } = (await operator("keys", "create", "--org", id)) as { key: string };
  return { id, key };
}

async function ledgerOf(id: string): Promise<Ledger> {
  return (await operator("ledger", id)) as Ledger;
}

function post(path: string, key: string, body: string | Uint8Array, type: string): Promise<Response> {
  return fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": type },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
}

function speak(path: string, key: string, text: string): Promise<Response> {
  const body = path === "/v1/audio/speech" ? { input: text } : { text, nfe: 4 };
  return post(path, key, JSON.stringify(body), "application/json");
}

test("reported costs equal the ledger's", async () => {
  const { id, key } = await newCustomer();
  const wav = writeWav(new Int16Array(8_000 * 3 + 1), 8_000);
  const file = await post("/v1/transcribe", key, wav, "application/octet-stream");
  const fileId = file.headers.get("x-request-id");
  assert.equal(file.headers.get("x-svc-credits"), "8");
  assert.equal(((await file.json()) as { credits_charged: number }).credits_charged, 8);
  const live = await runLive({
    url: service.url,
    key,
    pcm: new Int16Array(16_001),
    isPaced: false,
    messageSamples: 1_600,
  });
  const messages = live.received.map(({ message }) => message);
  const done = messages.find((message) => message.type === "done");
  const ready = messages.find((message) => message.type === "ready");
  assert.ok(done?.type === "done" && ready?.type === "ready");
  assert.deepEqual([done.audio_seconds, done.credits_charged], [16_001 / 16_000, 7]);
  const spoken = await speak("/v1/tts/stream", key, "Ия.");
  await spoken.arrayBuffer();
  assert.equal(spoken.headers.get("x-svc-chars"), "3");
  const { balance, held, data } = await ledgerOf(id);
  assert.deepEqual([balance, held], [FREE - 8 - 7 - 15_000, 0]);
  assert.deepEqual(
    data.map(({ reference, amount }) => [reference, amount]),
    [
      [`grant:free:${id}`, FREE],
      [`charge:${fileId}`, -8],
      [`charge:${ready.session_id}`, -7],
      [`charge:${spoken.headers.get("x-request-id")}`, -15_000],
    ],
  );
});

test("work that is rejected or fails costs nothing", async () => {
  const { id, key } = await newCustomer();
  const noise = new Uint8Array(1_000).fill(7);
  assert.equal((await post("/v1/transcribe", key, noise, "application/octet-stream")).status, 400);
  assert.equal((await speak("/v1/tts", key, "")).status, 400);
  assert.equal((await speak("/v1/tts", key, "🙂")).status, 400);
  const { balance, held, data } = await ledgerOf(id);
  assert.deepEqual([balance, held, data.length], [FREE, 0, 1]);
});

test("a client that leaves before the first audio byte pays nothing", async () => {
  const { id, key } = await newCustomer();
  const leaving = new AbortController();
  const asked = fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "Сәлем", nfe: 64 }),
    signal: leaving.signal,
  });
  void momentOfFault(60).then(() => leaving.abort());
  await assert.rejects(asked);
  await eventually("the hold is released", async () => (await ledgerOf(id)).held === 0);
  assert.equal((await ledgerOf(id)).balance, FREE);
});

test("without credits every path returns 429 and tells clients not to retry", async () => {
  const { id, key } = await newCustomer();
  await assertRefused(await speak("/v1/tts", key, "Сәлеме"), "needs 30000 credits, 25000 left");
  assert.equal((await speak("/v1/tts", key, "Сәлем")).status, 200);
  for (const path of ["/v1/tts", "/v1/tts/stream", "/v1/audio/speech"]) {
    await assertRefused(await speak(path, key, "А."), "needs 10000 credits, 0 left");
  }
  const wav = writeWav(new Int16Array(8_000), 8_000);
  const file = await post("/v1/transcribe", key, wav, "application/octet-stream");
  await assertRefused(file, "needs 1 credits, 0 left");
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
    headers: { authorization: `Bearer ${key}` },
  });
  socket.on("error", () => {});
  const [, response] = await once(socket, "unexpected-response");
  assert.equal(response.statusCode, 429);
  assert.equal(response.headers["x-svc-error"], "out_of_credits");
  await operator("orgs", "credit", id, "12");
  const live = await runLive({
    url: service.url,
    key,
    pcm: new Int16Array(16_000 * 3),
    isPaced: false,
    messageSamples: 1_600,
  });
  const errors = live.received.flatMap(({ message }) => (message.type === "error" ? [message.code] : []));
  assert.deepEqual([errors, live.closeCode], [["out_of_credits"], 4429]);
  const { balance, held } = await ledgerOf(id);
  assert.deepEqual([balance, held], [0, 0]);
});

async function assertRefused(answer: Response, detail: string): Promise<void> {
  const body = (await answer.json()) as { detail: string };
  assert.equal(answer.status, 429, body.detail);
  assert.deepEqual(Object.keys(body), ["detail"]);
  assert.ok(body.detail.includes(detail), body.detail);
  assert.equal(answer.headers.get("x-svc-error"), "out_of_credits");
  assert.equal(answer.headers.get("x-should-retry"), "false");
  assert.equal(answer.headers.get("retry-after"), null);
}
