import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { writeWav } from "../../core/domain/audio/wav.js";
import { DauysClient } from "../../src/client/node.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startBeside, startServiceProcess } from "../support/service-process.js";

const RATE_HZ = 8_000;

let accepting: ServiceProcess;
let working: ServiceProcess;

before(async () => {
  const settings = await lightModels();
  // This service runs no jobs, and accepts at most two jobs and one megabyte of audio per organization.
  const limits = { JOBS_AT_ONCE: "0", JOBS_PER_ORG: "2", JOBS_STORAGE_MB: "1" };
  accepting = await startServiceProcess({ ...settings, ...limits, JOB_RETENTION_H: "3" });
});
after(async () => {
  assert.equal(await working?.stop(), 0, working?.output());
  assert.equal(await accepting.stop(), 0, accepting.output());
});

function clientOf({ url, key }: ServiceProcess): DauysClient {
  return new DauysClient({ baseUrl: url, apiKey: key, maxRetries: 0 });
}

test("a service accepts jobs within its limits, and another service on the same database runs them", async () => {
  const client = clientOf(accepting);
  const wav = writeWav(new Int16Array(2 * RATE_HZ), RATE_HZ);
  const large = client.jobs.submit(writeWav(new Int16Array(40 * RATE_HZ), RATE_HZ));
  await assert.rejects(large, { code: "storage_full", status: 503 });
  const first = await client.jobs.submit(wav, { fileName: "Бірінші.wav" });
  const second = await client.jobs.submit(wav);
  await assert.rejects(client.jobs.submit(wav), { code: "too_many_requests", status: 429 });
  const waiting = await client.jobs.list({ status: "queued" });
  assert.deepEqual(
    waiting.data.map(({ id, file_name }) => [id, file_name]),
    [
      [second.id, "audio.wav"],
      [first.id, "Бірінші.wav"],
    ],
  );
  working = await startBeside(accepting, { ...(await lightModels()), JOB_RETENTION_H: "3" });
  const done = await client.jobs.wait(first.id);
  assert.deepEqual([done.status, done.credits_charged], ["done", 5]);
  const hours = (Date.parse(done.expires_at!) - Date.parse(done.ended_at!)) / 3_600_000;
  assert.equal(Math.round(hours), 3);
  assert.equal((await clientOf(working).jobs.result(first.id)).audio_seconds, 2);
  await client.jobs.wait(second.id);
});

test("a service that stops puts its job back, and the job ends after the next start", async () => {
  const client = clientOf(accepting);
  // The audio is smaller than half a megabyte, but its transcription takes longer than the stop.
  const { id } = await client.jobs.submit(writeWav(new Int16Array(25 * RATE_HZ), RATE_HZ));
  await eventually("it runs", async () => (await client.jobs.get(id)).status !== "queued");
  assert.equal(await working.stop(), 0, working.output());
  const { status } = await client.jobs.get(id);
  assert.ok(status === "queued" || status === "done", status);
  working = await startBeside(accepting, await lightModels());
  assert.equal((await client.jobs.wait(id)).status, "done");
});
