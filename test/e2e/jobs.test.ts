import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { JobBody } from "../../core/protocol/job-schemas.js";
import { eventually } from "../support/eventually.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.";

let service: SharedService;
let wav: Uint8Array<ArrayBuffer>;

before(async () => {
  service = await sharedService();
  const answer = await ask("POST", "/v1/tts", { body: JSON.stringify({ text: TEXT, nfe: 4 }) });
  assert.equal(answer.status, 200);
  wav = new Uint8Array(await answer.arrayBuffer());
});

function ask(method: string, path: string, init: RequestInit = {}, { key } = service): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, ...init.headers };
  return fetch(service.url + path, { ...init, method, headers });
}

async function submitted(query = "", headers: Record<string, string> = {}): Promise<JobBody> {
  const init = { body: wav, headers: { "x-filename": "call.wav", ...headers } };
  const answer = await ask("POST", `/v1/jobs/transcriptions${query}`, init);
  const text = await answer.text();
  assert.equal(answer.status, 202, text);
  return JSON.parse(text) as JobBody;
}

async function jobOf(id: string): Promise<JobBody> {
  return (await (await ask("GET", `/v1/jobs/${id}`)).json()) as JobBody;
}

async function ended(id: string): Promise<JobBody> {
  await eventually(`${id} ends`, async () => {
    return ["done", "failed", "cancelled"].includes((await jobOf(id)).status);
  });
  return jobOf(id);
}

test("a job answers 202, ends with the transcript of the synchronous path, and is charged once", async () => {
  const direct = (await (
    await ask("POST", "/v1/transcribe?timestamps=true", { body: wav })
  ).json()) as Record<string, unknown>;
  const before = (await (await ask("GET", "/v1/usage")).json()) as { data: { credits: number }[] };
  assert.ok(before.data.length > 0);
  const job = await submitted("?timestamps=true");
  assert.match(job.id, /^job_[0-9a-f]{32}$/);
  assert.deepEqual([job.file_name, job.error, job.credits_charged], ["call.wav", null, null]);
  const done = await ended(job.id);
  assert.deepEqual([done.status, done.share, done.error], ["done", 1, null]);
  assert.equal(done.credits_charged, direct["credits_charged"]);
  const result = (await (await ask("GET", `/v1/jobs/${job.id}/result`)).json()) as Record<string, unknown>;
  for (const name of ["text", "words", "segments", "audio_seconds", "credits_charged", "model"])
    assert.deepEqual(result[name], direct[name], name);
  const srt = await (await ask("GET", `/v1/jobs/${job.id}/result?format=srt`)).text();
  assert.match(srt, /^1\n00:00:0\d,\d{3} --> /);
});
