// Caps, endpoints, expiry and rotation of keys, over HTTP and on open sockets.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import WebSocket from "ws";
import { DauysClient } from "../../src/client/node.js";
import { Visitor } from "../console/running-console.js";
import { silence, wavOf } from "../support/audio.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** Each request costs 300 credits; a second of live audio costs 100. */
const SETTINGS = {
  ...{ TARIFF_SYNTHESIS: "100/1", TARIFF_FILE: "300/1", TARIFF_LIVE: "100/1" },
  ...{ SYNTHESIS_PER_ORG: "100", FILES_PER_ORG: "100", LIVE_PER_ORG: "100" },
};
const REQUESTS = 100;
const CAP = 4_100;
const TEXT = "Ия.";
const WAV = wavOf(silence(1), 16_000, 1);

let service: ServiceProcess;
let owner: Visitor;
let organization: string;

before(async () => {
  service = await startServiceProcess(SETTINGS);
  owner = new Visitor(service.url);
  organization = await owner.signUp("owner@example.org");
  // Each open session holds 12,000 credits.
  await dauys("orgs", "credit", organization, "10000000");
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

// biome-ignore lint/suspicious/noExplicitAny: tests read members of many responses
async function dauys(...args: readonly string[]): Promise<any> {
  const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], {
    env: { DATA_DIR: service.dataDir },
  });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

interface MadeKey {
  readonly id: string;
  readonly key: string;
  readonly usage: readonly { readonly month: string; readonly credits: number; readonly held: number }[];
}

async function newKey(limits: object): Promise<MadeKey> {
  const { status, json } = await owner.ask("POST", `/organizations/${organization}/keys`, {
    name: "limited",
    ...limits,
  });
  assert.equal(status, 201, JSON.stringify(json));
  return json;
}

async function monthOf(keyId: string): Promise<MadeKey["usage"][number]> {
  const { json } = await owner.ask("GET", `/organizations/${organization}/keys`);
  return json.data.find(({ id }: MadeKey) => id === keyId).usage[0];
}

function post(
  path: string,
  key: string,
  body: string | Uint8Array<ArrayBuffer> | FormData,
  type?: string,
): Promise<Response> {
  const authorization = `Bearer ${key}`;
  const headers = { authorization, ...(type !== undefined && { "content-type": type }) };
  return fetch(service.url + path, { method: "POST", headers, body });
}

const speak = (path: string, key: string, body: object) =>
  post(path, key, JSON.stringify(body), "application/json");

interface Listener {
  readonly socket: WebSocket;
  readonly ready: Promise<void>;
  readonly closed: Promise<{ readonly code: number; readonly error: string | null }>;
}

function listen(key: string, path = "/v1/stream"): Listener {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}${path}`, ["svc-bearer", key]);
  let error: string | null = null;
  const ready = new Promise<void>((resolve, reject) => {
    socket.once("close", (code) => reject(new Error(`closed with ${code}, ${error}, before it was ready`)));
    socket.on("message", (bytes) => {
      const message = JSON.parse(String(bytes));
      if (message.type === "ready") resolve();
      if (message.type === "error") error = message.code;
    });
  });
  ready.catch(() => {});
  const closed = new Promise<{ code: number; error: string | null }>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("close", (code) => resolve({ code, error }));
  });
  return { socket, ready, closed };
}

/** Repeats a request that failed because a busy machine's database did not respond in time. */
async function attempt(key: string, nth: number): Promise<string | null> {
  for (;;) {
    const error = await attemptOnce(key, nth);
    if (error !== "auth_unavailable") return error;
  }
}

/** Runs one request of a kind. Resolves to the name of its error, or null if it succeeded. */
async function attemptOnce(key: string, nth: number): Promise<string | null> {
  if (nth % 6 === 5) {
    const { socket, ready, closed } = listen(key);
    await Promise.race([ready.catch(() => {}), closed]);
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(new Uint8Array(silence(2).buffer));
      socket.send('{"type":"close"}');
    }
    const { code, error } = await closed;
    if (error === null) assert.equal(code, 1000);
    else assert.equal(code, error === "auth_unavailable" ? 4503 : 4429);
    return error;
  }
  const form = new FormData();
  form.set("file", new Blob([Uint8Array.from(WAV)]), "a.wav");
  form.set("model", "whisper-1");
  const answer = await [
    () => speak("/v1/tts", key, { text: TEXT, nfe: 4 }),
    () => speak("/v1/tts/stream", key, { text: TEXT, nfe: 4 }),
    () =>
      speak("/v1/audio/speech", key, { input: TEXT, model: "tts-1", voice: "aigul", response_format: "wav" }),
    () => post("/v1/transcribe", key, Uint8Array.from(WAV)),
    () => post("/v1/audio/transcriptions", key, form),
  ][nth % 6]!();
  const body = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) assert.ok([429, 503].includes(answer.status), `${nth}: ${body}`);
  return answer.headers.get("x-svc-error");
}

test("100 parallel requests of every kind at a key's cap never spend a credit above the cap", async () => {
  const { id, key } = await newKey({ monthly_credits: CAP });
  const errors = await Promise.all(Array.from({ length: REQUESTS }, (_, nth) => attempt(key, nth)));
  assert.deepEqual(new Set(errors), new Set([null, "key_budget_exceeded"]));
  await eventually("all holds are settled", async () => (await monthOf(id)).held === 0);
  const { credits, month } = await monthOf(id);
  assert.ok(credits > 0 && credits <= CAP, `${credits}`);
  assert.equal(month, new Date().toISOString().slice(0, 7));
  // The remaining credits pay for as many requests as fit. One more is rejected with the cap and the day on
  // which it resets.
  for (let left = CAP - credits; left >= 100; left -= 100)
    assert.equal((await speak("/v1/tts", key, { text: "Ә", nfe: 4 })).status, 200);
  await eventually("the cap is used up", async () => (await monthOf(id)).credits === CAP);
  const refused = await speak("/v1/tts", key, { text: "Ә" });
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("x-should-retry"), "false");
  const { detail } = (await refused.json()) as { detail: string };
  assert.match(detail, /cap of this key is 4100 credits: needs 100 credits, 0 left until \d{4}-\d\d-01/);
  const other = await newKey({});
  assert.equal((await speak("/v1/tts", other.key, { text: "Ә", nfe: 4 })).status, 200);
});

test("a key is limited to its endpoints, over HTTP, on sockets and through tokens", async () => {
  const { id, key } = await newKey({ endpoints: ["live"], monthly_credits: 1_000_000 });
  const refused = await speak("/v1/tts", key, { text: TEXT });
  assert.deepEqual([refused.status, refused.headers.get("x-svc-error")], [403, "endpoint_not_allowed"]);
  const { detail } = (await refused.json()) as { detail: string };
  assert.match(detail, /does not allow POST \/v1\/tts, only endpoints of live/);
  assert.equal((await post("/v1/transcribe", key, Uint8Array.from(WAV))).status, 403);
  const authorization = `Bearer ${key}`;
  assert.equal((await fetch(`${service.url}/v1/balance`, { headers: { authorization } })).status, 403);
  assert.equal((await fetch(`${service.url}/v1/models`, { headers: { authorization } })).status, 200);
  const live = listen(key);
  await live.ready;
  const client = new DauysClient({ apiKey: key, baseUrl: service.url });
  // The session is ready before its credits are held.
  await eventually("its credits are held", async () => (await client.key()).held > 0);
  const { month, ...own } = await client.key();
  assert.deepEqual(own, {
    ...{ id, name: "limited", monthly_credits: 1_000_000, credits: 0, held: 12_000 },
    ...{ endpoints: ["live"], expires_at: null },
  });
  assert.equal(month, new Date().toISOString().slice(0, 7));
  live.socket.send('{"type":"close"}');
  assert.equal((await live.closed).code, 1000);
  // A token carries the limits of its key.
  const speaker = await newKey({ endpoints: ["tts"] });
  const { token } = (await (await post("/v1/stream/token", speaker.key, "")).json()) as { token: string };
  const socket = listen(token, "/v1/stream");
  assert.deepEqual(await socket.closed, { code: 4403, error: "endpoint_not_allowed" });
});

test("when a key's cap pays for only one of two jobs, one is charged, and the other fails with key_budget_exceeded", async () => {
  const { id, key } = await newKey({ endpoints: ["jobs"], monthly_credits: 500 });
  const { jobs } = new DauysClient({ apiKey: key, baseUrl: service.url });
  const submitted = [await jobs.submit(WAV), await jobs.submit(WAV)];
  const ended = await Promise.all(submitted.map((job) => jobs.wait(job.id)));
  assert.deepEqual(ended.map(({ status }) => status).sort(), ["done", "failed"]);
  const { error } = ended.find(({ status }) => status === "failed")!;
  assert.equal(error?.code, "key_budget_exceeded");
  assert.match(
    error.detail,
    /cap of this key is 500 credits: needs 300 credits, 200 left until \d{4}-\d\d-01/,
  );
  const { month: _, ...spent } = await monthOf(id);
  assert.deepEqual(spent, { credits: 300, held: 0 });
});

test("a key at its cap can submit no job, with or without an Idempotency-Key, but gets an earlier one", async () => {
  const { id, key } = await newKey({ endpoints: ["jobs"], monthly_credits: 600 });
  const { jobs } = new DauysClient({ apiKey: key, baseUrl: service.url });
  const early = await jobs.submit(WAV, { idempotencyKey: "early" });
  assert.equal((await jobs.wait(early.id)).status, "done");
  const path = `/organizations/${organization}/keys/${id}`;
  assert.equal((await owner.ask("PATCH", path, { monthly_credits: 300 })).status, 200);
  const refused = await post("/v1/jobs/transcriptions", key, Uint8Array.from(WAV));
  assert.deepEqual([refused.status, refused.headers.get("x-svc-error")], [429, "key_budget_exceeded"]);
  const late = jobs.submit(WAV, { idempotencyKey: "late" });
  await assert.rejects(late, { status: 429, code: "key_budget_exceeded" });
  assert.equal((await jobs.submit(WAV, { idempotencyKey: "early" })).id, early.id);
  assert.deepEqual((await jobs.list({ idempotencyKey: "late" })).data, [], "no job was left behind");
});

test("a key reads the vocabulary with account:read, and changes it with account:write", async () => {
  const clientOf = async (endpoints?: readonly string[]) => {
    const { key } = await newKey(endpoints === undefined ? {} : { endpoints });
    return new DauysClient({ apiKey: key, baseUrl: service.url }).vocabulary;
  };
  const refused = { status: 403, code: "endpoint_not_allowed" };
  const words = { hotwords: ["айнұр"], pronunciations: [] };
  const speaker = await clientOf(["tts"]);
  for (const work of [() => speaker.get(), () => speaker.set(words)]) await assert.rejects(work, refused);
  const reader = await clientOf(["tts", "account:read"]);
  await assert.rejects(reader.set(words), refused);
  assert.deepEqual(await (await clientOf(["account:write"])).set(words), words);
  assert.deepEqual(await reader.get(), words);
  assert.deepEqual(await (await clientOf()).set({}), { hotwords: [], pronunciations: [] });
});

test("endpoints of jobs and live speech are limited too, whatever ID the path contains", async () => {
  const { key } = await newKey({ endpoints: ["jobs"] });
  const { jobs } = new DauysClient({ apiKey: key, baseUrl: service.url });
  const { id } = await jobs.wait((await jobs.submit(WAV)).id);
  assert.equal((await jobs.get(id)).status, "done");
  assert.equal((await jobs.list()).data[0]?.id, id);
  assert.equal((await jobs.result(id)).audio_seconds, 1);
  assert.equal((await jobs.webhookSecret()).secret, (await jobs.webhookSecret()).secret);
  await jobs.rotateWebhookSecret();
  assert.equal((await post("/v1/transcribe", key, Uint8Array.from(WAV))).status, 403);
  const other = await newKey({ endpoints: ["tts"] });
  const theirs = new DauysClient({ apiKey: other.key, baseUrl: service.url }).jobs;
  for (const work of [
    () => theirs.submit(WAV),
    () => theirs.list(),
    () => theirs.get(id),
    () => theirs.result(id),
    () => theirs.end(id),
    () => theirs.webhookSecret(),
    () => theirs.rotateWebhookSecret(),
  ])
    await assert.rejects(work, { status: 403, code: "endpoint_not_allowed" });
  await assert.rejects(theirs.get(id), /does not allow GET \/v1\/jobs\/\{id\}, only endpoints of tts/);
  assert.deepEqual(await listen(key, "/v1/tts/live").closed, { code: 4403, error: "endpoint_not_allowed" });
  const speaking = listen(other.key, "/v1/tts/live");
  await speaking.ready;
  speaking.socket.send('{"type":"close"}');
  assert.equal((await speaking.closed).code, 1000);
  assert.equal((await jobs.end(id)).status, "deleted");
});

test("an expired key is rejected, and its open sockets close when it expires", async () => {
  const expiresAt = new Date(Date.now() + 6_000);
  const { key } = await newKey({ expires_at: expiresAt.toISOString() });
  const live = listen(key);
  await live.ready;
  assert.equal((await speak("/v1/tts", key, { text: "Ә", nfe: 4 })).status, 200);
  assert.deepEqual(await live.closed, { code: 4401, error: "unauthorized" });
  // The key is cached for 30 s, but is still rejected on time.
  const refused = await speak("/v1/tts", key, { text: "Ә" });
  assert.deepEqual([refused.status, refused.headers.get("x-svc-error")], [401, "key_invalid"]);
  assert.equal((await listen(key).closed).code, 4401);
});

test("a rotated key works with both secrets until the overlap ends, then the sockets opened with the old secret close", async () => {
  const { id, key: old } = await newKey({ monthly_credits: 50_000 });
  const before = listen(old);
  await before.ready;
  const path = `/organizations/${organization}/keys/${id}/rotate`;
  const { status, json } = await owner.ask("POST", path, { overlap_seconds: 6 });
  assert.equal(status, 200);
  assert.deepEqual([json.id, json.monthly_credits], [id, 50_000]);
  const after = listen(json.key);
  await after.ready;
  for (const secret of [old, json.key])
    assert.equal((await speak("/v1/tts", secret, { text: "Ә", nfe: 4 })).status, 200);
  await eventually("both count for one key", async () => (await monthOf(id)).credits === 200);
  assert.deepEqual(await before.closed, { code: 4401, error: "unauthorized" });
  assert.equal((await speak("/v1/tts", old, { text: "Ә" })).status, 401);
  assert.equal((await speak("/v1/tts", json.key, { text: "Ә", nfe: 4 })).status, 200);
  assert.equal(after.socket.readyState, WebSocket.OPEN);
  // Without an overlap the old secret ends immediately.
  const third = await owner.ask("POST", path, { overlap_seconds: 0 });
  assert.deepEqual(await after.closed, { code: 4401, error: "unauthorized" });
  assert.equal((await speak("/v1/tts", json.key, { text: "Ә" })).status, 401);
  assert.equal((await speak("/v1/tts", third.json.key, { text: "Ә", nfe: 4 })).status, 200);
});

test("a revoked key ends on sockets and over HTTP, and cannot be rotated or changed", async () => {
  const { id, key } = await newKey({});
  const live = listen(key);
  await live.ready;
  const path = `/organizations/${organization}/keys/${id}`;
  assert.equal((await owner.ask("DELETE", path)).status, 200);
  assert.deepEqual(await live.closed, { code: 4401, error: "unauthorized" });
  assert.equal((await speak("/v1/tts", key, { text: "Ә" })).status, 401);
  assert.equal((await owner.ask("POST", `${path}/rotate`, {})).status, 404);
  assert.equal((await owner.ask("PATCH", path, { monthly_credits: 5 })).status, 404);
});

test("the command line makes, limits and rotates keys", async () => {
  const limits = ["--monthly-credits", "500", "--endpoints", "tts,account:read", "--expires", "90d"];
  const made = await dauys("keys", "create", "--org", organization, ...limits);
  assert.deepEqual([made.monthly_credits, made.endpoints], [500, ["tts", "account:read"]]);
  assert.equal(Math.round((Date.parse(made.expires_at) - Date.now()) / 86_400_000), 90);
  assert.equal((await post("/v1/transcribe", made.key, Uint8Array.from(WAV))).status, 403);
  const changed = await dauys("keys", "limit", made.id, "--endpoints", "none", "--expires", "none");
  assert.deepEqual([changed.endpoints, changed.expires_at, changed.monthly_credits], [null, null, 500]);
  const rotated = await dauys("keys", "rotate", made.id, "--overlap", "1h");
  assert.notEqual(rotated.key, made.key);
  for (const key of [made.key, rotated.key])
    assert.equal((await speak("/v1/tts", key, { text: "Ә", nfe: 4 })).status, 200);
  const wrong = await dauysInTurn(["keys", "create", "--endpoints", "speech"], {
    env: { DATA_DIR: service.dataDir },
  });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--endpoints must list some of tts, transcribe, .*received "speech"/);
});
