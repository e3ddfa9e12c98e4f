import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { JobBody, JobEndBody, JobsBody, WebhookSecretBody } from "../../core/protocol/job-schemas.js";
import { DauysClient } from "../../src/client/node.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { eventually } from "../support/eventually.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { SILENT } from "../support/silent-log.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";
const SUBMIT = "/v1/jobs/transcriptions";

interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

let service: SharedService;
let client: DauysClient;
let wav: Uint8Array<ArrayBuffer>;
let receiver: Server;
let receiverUrl: string;
const received: Received[] = [];
/** The status codes of the next responses to webhooks. Later responses have 200. */
const statuses: number[] = [];

before(async () => {
  service = await sharedService();
  client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  wav = (await client.speak({ text: TEXT, nfe: 4 })).wav;
  receiver = createServer(async (request, response) => {
    if (request.url === "/call.wav") return response.end(wav);
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ path: request.url ?? "", headers: request.headers, body });
    return response.writeHead(statuses.shift() ?? 200).end("ignored");
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
after(() => receiver.close());

function ask(method: string, path: string, init: RequestInit = {}, { key } = service): Promise<Response> {
  return fetch(service.url + path, {
    ...init,
    method,
    headers: { authorization: `Bearer ${key}`, ...init.headers },
  });
}

async function json<T>(answer: Response, status = 200): Promise<T> {
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  return JSON.parse(text) as T;
}

async function submitted(query = "", headers: Record<string, string> = {}): Promise<JobBody> {
  const init = { body: wav, headers: { "x-filename": "call.wav", ...headers } };
  return json<JobBody>(await ask("POST", SUBMIT + query, init), 202);
}

/** Changes the database, in place of the passage of time or another process. */
async function inDatabase<T>(work: (sql: ReturnType<typeof connect>) => Promise<T>): Promise<T> {
  const connection = JSON.parse(await readFile(join(service.dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

function uuidOf({ id }: { readonly id: string }): string {
  return id.replace("job_", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

test("a job is accepted with 202, ends with the transcript of the synchronous path, and is charged once", async () => {
  const direct = await client.transcribe(wav, { timestamps: true });
  const { available } = await client.balance();
  const job = await submitted("?timestamps=true");
  assert.match(job.id, /^job_[0-9a-f]{32}$/);
  assert.deepEqual([job.file_name, job.error, job.credits_charged], ["call.wav", null, null]);
  const done = await client.jobs.wait(job.id);
  assert.deepEqual([done.status, done.share, done.error], ["done", 1, null]);
  assert.equal(done.credits_charged, direct.credits_charged);
  const result = await client.jobs.result(job.id);
  for (const name of ["text", "words", "segments", "audio_seconds", "credits_charged", "model"] as const)
    assert.deepEqual(result[name], direct[name], name);
  assert.match(await client.jobs.resultText(job.id, "srt"), /^1\n00:00:0\d,\d{3} --> /);
  assert.match(await client.jobs.resultText(job.id, "vtt"), /^WEBVTT\n/);
  assert.equal(await client.jobs.resultText(job.id, "txt"), `${direct.text}\n`);
  await inDatabase(async (sql) => {
    const holds = await sql<{ state: string; amount: number; endpoint: string }[]>`
      select state, amount, endpoint from holds where id like ${`${job.id}-%`}`;
    assert.deepEqual([...holds], [{ state: "settled", amount: direct.credits_charged, endpoint: SUBMIT }]);
    const audio = await sql`select from job_audio where job_id = ${uuidOf(job)}`;
    assert.equal(audio.length, 0, "the audio is deleted with the end");
  });
  await eventually("the balance is current", async () => {
    return (await client.balance()).available === available - direct.credits_charged;
  });
});

test("a repeated Idempotency-Key returns the same job, and another request under it is rejected", async () => {
  const key = { "idempotency-key": "job-1" };
  const job = await submitted("", key);
  const again = await ask("POST", SUBMIT, { body: wav, headers: { "x-filename": "call.wav", ...key } });
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal((await json<JobBody>(again, 202)).id, job.id);
  const { data } = await client.jobs.list({ idempotencyKey: "job-1" });
  assert.deepEqual(
    data.map(({ id }) => id),
    [job.id],
  );
  // Replayed submissions do not read their audio. The unread bytes must not make anything fail later.
  for (let nth = 0; nth < 20; nth++) assert.equal((await submitted("", key)).id, job.id);
  const other = await ask("POST", `${SUBMIT}?timestamps=true`, { body: wav, headers: key });
  await json(other, 422);
  assert.equal(other.headers.get("x-svc-error"), "idempotency_key_reused");
  await client.jobs.wait(job.id);
});

test("audio at a URL is fetched when the job runs, and a failed fetch fails the job for free", async () => {
  const job = await client.jobs.submit({ url: `${receiverUrl}/call.wav` }, { fileName: "x.wav" });
  const done = await client.jobs.wait(job.id);
  assert.deepEqual([done.status, done.url], ["done", `${receiverUrl}/call.wav`]);
  const refused = await client.jobs.submit({ url: "http://recordings.invalid/call.wav" });
  const failed = await client.jobs.wait(refused.id);
  assert.deepEqual(
    [failed.status, failed.error?.code, failed.credits_charged],
    ["failed", "url_fetch_failed", null],
  );
  const answer = await ask("GET", `/v1/jobs/${refused.id}/result`);
  const { detail } = await json<{ detail: string }>(answer, 409);
  assert.match(detail, /^the job has no result: its status is failed \(url_fetch_failed: /);
  const unreadable = await client.jobs.submit(new Uint8Array(1_000));
  assert.equal((await client.jobs.wait(unreadable.id)).error?.code, "audio_unreadable");
  await inDatabase(async (sql) => {
    const charges = await sql`
      select from holds where amount > 0 and (id like ${`${refused.id}-%`} or id like ${`${unreadable.id}-%`})`;
    assert.equal(charges.length, 0);
  });
});

test("jobs are listed newest first in pages, by status, and only for their own organization", async () => {
  const ids = [];
  for (let nth = 0; nth < 3; nth++) ids.unshift((await submitted()).id);
  for (const id of ids) await client.jobs.wait(id);
  const first = await client.jobs.list({ limit: 2 });
  assert.deepEqual(
    first.data.map(({ id }) => id),
    ids.slice(0, 2),
  );
  const second = await client.jobs.list({ limit: 1, after: first.next ?? "" });
  assert.deepEqual(
    second.data.map(({ id }) => id),
    ids.slice(2),
  );
  const failed = await client.jobs.list({ status: "failed" });
  assert.ok(failed.data.every(({ status }) => status === "failed"));
  const stranger = await sharedService();
  const own = await json<JobsBody>(await ask("GET", "/v1/jobs", {}, stranger));
  assert.deepEqual(own, { data: [], next: null });
  for (const [method, path] of [
    ["GET", `/v1/jobs/${ids[0]}`],
    ["GET", `/v1/jobs/${ids[0]}/result`],
    ["DELETE", `/v1/jobs/${ids[0]}`],
  ] as const)
    await json(await ask(method, path, {}, stranger), 404);
  assert.equal((await client.jobs.get(ids[0]!)).status, "done");
});

test("cancelling ends a waiting job for free, and deleting removes a job with its result", async () => {
  // A recording of ten minutes keeps the worker busy, so the second job waits.
  const long = new Uint8Array(44 + 16_000 * 2 * 600);
  long.set(header(long.length - 44));
  const running = await client.jobs.submit(long);
  const waiting = await submitted();
  assert.deepEqual(await client.jobs.end(waiting.id), { id: waiting.id, status: "cancelled" });
  const cancelled = await client.jobs.get(waiting.id);
  assert.deepEqual([cancelled.status, cancelled.credits_charged], ["cancelled", null]);
  await client.jobs.end(running.id);
  await inDatabase(async (sql) => {
    await eventually("no hold of a cancelled job is open", async () => {
      const open = await sql`
        select from holds where id like ${`${running.id}-%`} and state in ('open', 'posted')`;
      return open.length === 0;
    });
    assert.equal((await sql`select from holds where id like ${`${running.id}-%`} and amount > 0`).length, 0);
    assert.equal((await sql`select from job_audio where job_id = ${uuidOf(running)}`).length, 0);
    assert.equal((await sql`select from pgboss.job where id = ${uuidOf(waiting)}`).length, 0);
  });
  assert.deepEqual(await client.jobs.end(waiting.id), { id: waiting.id, status: "deleted" });
  await json(await ask("GET", `/v1/jobs/${waiting.id}`), 404);
  await json<JobEndBody>(await ask("DELETE", `/v1/jobs/${waiting.id}`), 404);
});

/** The header of a WAV file: 16-bit PCM, mono, 16 kHz. */
function header(bytes: number): Uint8Array {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + bytes, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(16_000, 24);
  head.writeUInt32LE(32_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(bytes, 40);
  return head;
}

test("a job and its result are removed when their retention ends", async () => {
  const job = await submitted();
  const done = await client.jobs.wait(job.id);
  const hours = (Date.parse(done.expires_at!) - Date.parse(done.ended_at!)) / 3_600_000;
  assert.equal(Math.round(hours), 24);
  await inDatabase((sql) => sql`update jobs set expires_at = now() where id = ${uuidOf(job)}`);
  await json(await ask("GET", `/v1/jobs/${job.id}`), 404);
  await json(await ask("GET", `/v1/jobs/${job.id}/result`), 404);
  await inDatabase((sql) =>
    eventually("the sweep removes its row", async () => {
      return (await sql`select from jobs where id = ${uuidOf(job)}`).length === 0;
    }),
  );
});

async function webhookOf(job: { readonly id: string }, path: string): Promise<readonly Received[]> {
  await eventually(`${path} receives a webhook`, async () => {
    const { webhook } = await client.jobs.get(job.id);
    return webhook !== "pending" && received.some((one) => one.path === path);
  });
  return received.filter((one) => one.path === path);
}

test("a webhook is signed with the organization's secret, and repeated with the same ID until it is accepted", async () => {
  const { secret } = await json<WebhookSecretBody>(await ask("GET", "/v1/jobs/webhook-secret"));
  assert.match(secret, /^whsec_[0-9a-f]{64}$/);
  statuses.push(500);
  const job = await client.jobs.submit(wav, { webhookUrl: `${receiverUrl}/hook` });
  const done = await client.jobs.wait(job.id);
  // The retry is due in some seconds. Make it due now.
  await eventually("the first attempt", () => received.some(({ path }) => path === "/hook"));
  await inDatabase((sql) =>
    eventually("the retry is queued", async () => {
      const rows = await sql`
        update pgboss.job set start_after = now() where id = ${uuidOf(job)} and state = 'retry' returning id`;
      return rows.length > 0;
    }),
  );
  const attempts = await webhookOf(job, "/hook");
  assert.equal(attempts.length, 2);
  const [first, second] = attempts.map(({ headers }) => headers["dauys-webhook-id"]);
  assert.equal(first, job.id.replace("job_", "wh_"));
  assert.equal(second, first);
  for (const { headers, body } of attempts) {
    assert.ok(isSigned(secret, String(headers["dauys-signature"]), body));
    const { id, type, job: told } = JSON.parse(body);
    assert.deepEqual([id, type, told.id, told.status], [first, "job.done", job.id, "done"]);
    assert.equal(told.credits_charged, done.credits_charged);
  }
  assert.equal((await client.jobs.get(job.id)).webhook, "delivered");
});

function isSigned(secret: string, signature: string, body: string): boolean {
  const [time, ...signed] = signature.split(",");
  const message = `${time!.replace("t=", "")}.${body}`;
  return signed.includes(`v1=${createHmac("sha256", secret).update(message).digest("hex")}`);
}

test("after a rotation webhooks are signed with both secrets, and the documented receivers accept them", async () => {
  const old = await client.jobs.webhookSecret();
  const fresh = await client.jobs.rotateWebhookSecret();
  assert.notEqual(fresh.secret, old.secret);
  const job = await client.jobs.submit(wav, { webhookUrl: `${receiverUrl}/rotated` });
  const [{ headers, body } = assert.fail("no webhook")] = await webhookOf(job, "/rotated");
  const signature = String(headers["dauys-signature"]);
  assert.ok(isSigned(old.secret, signature, body) && isSigned(fresh.secret, signature, body));
  const page = await readFile("docs/jobs.md", "utf8");
  const programs = [
    ["js", process.execPath, ["--input-type=module", "-"]],
    ["python", "python3", ["-"]],
  ] as const;
  for (const [language, command, args] of programs) {
    const [, example = ""] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
    assert.match(example, /verify/, `docs/jobs.md has a receiver in ${language}`);
    const check = (given: string) => {
      const quoted = [fresh.secret, given, body].map((text) => JSON.stringify(text)).join(", ");
      const call = language === "js" ? `console.log(verify(${quoted}))` : `print(verify(${quoted}))`;
      const { stdout, stderr } = spawnSync(command, args, {
        input: `${example}\n${call}\n`,
        encoding: "utf8",
      });
      return stdout.trim().toLowerCase() + stderr;
    };
    assert.equal(check(signature), "true", language);
    assert.equal(check(signature.replaceAll(/v1=./g, "v1=x")), "false", language);
    const [, at = ""] = /t=(\d+)/.exec(signature) ?? [];
    const late = Number(at) - 3_600;
    const resigned = createHmac("sha256", fresh.secret).update(`${late}.${body}`).digest("hex");
    assert.equal(check(`t=${late},v1=${resigned}`), "false", `${language}: an old message`);
  }
});

test("bad options and addresses of jobs are rejected before the upload counts", async () => {
  const errors = [
    ["?webhook_url=ftp://hooks.test/", /^webhook_url cannot be used: its scheme must be http or https/],
    [
      "?webhook_url=http://10.0.0.1/",
      /^webhook_url cannot be used: its host must have only public addresses/,
    ],
    ["?hook=1", /^unknown parameter/],
    ["?timestamps=2", /timestamps/],
  ] as const;
  for (const [query, message] of errors) {
    const { detail } = await json<{ detail: string }>(await ask("POST", SUBMIT + query, { body: wav }), 400);
    assert.match(detail, message);
  }
  await json(await ask("POST", SUBMIT), 400);
  await json(await ask("GET", "/v1/jobs?limit=0"), 400);
  await json(await ask("GET", "/v1/jobs?status=over"), 400);
  await json(await ask("GET", "/v1/jobs/none"), 404);
});
