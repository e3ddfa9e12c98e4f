import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { writeWav } from "../../core/domain/audio/wav.js";
import { DauysClient } from "../../src/client/node.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const RECORDINGS = 6;
const RATE_HZ = 8_000;

let service: SharedService;
let client: DauysClient;
let folder: string;

before(async () => {
  service = await sharedService();
  client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  folder = join(await temporaryFolder(), "lectures");
  await mkdir(folder);
  for (let nth = 0; nth < RECORDINGS; nth++)
    await writeFile(join(folder, `lecture-${nth}.wav`), writeWav(new Int16Array(RATE_HZ + nth), RATE_HZ));
});

async function transcribed(...more: readonly string[]) {
  const env = { DAUYS_URL: service.url, DAUYS_API_KEY: service.key };
  const outcome = await dauysInTurn(["transcribe", "--jobs", folder, "--json", ...more], { env });
  const lines = outcome.stdout.trim().split("\n");
  return { ...outcome, lines: lines.map((line) => JSON.parse(line)) };
}

test("transcribe --jobs writes a result for each recording, and charges each once", async () => {
  const out = await temporaryFolder();
  const first = await transcribed("-o", out);
  assert.equal(first.code, 0, first.stderr);
  const names = Array.from({ length: RECORDINGS }, (_, nth) => `lecture-${nth}.wav.json`);
  assert.deepEqual((await readdir(out)).sort(), names);
  assert.equal(JSON.parse(await readFile(join(out, names[0]!), "utf8")).audio_seconds, 1);
  const { data: jobs } = await client.jobs.list();
  assert.equal(jobs.length, RECORDINGS);
  assert.ok(jobs.every(({ status, file_name }) => status === "done" && /^lecture-\d\.wav$/.test(file_name!)));
  const summary = first.lines.at(-1);
  assert.deepEqual([summary.transcribed, summary.credits_charged], [RECORDINGS, 3 * RECORDINGS]);

  // As after an interruption: some results are missing, but their jobs are not.
  await rm(join(out, names[1]!));
  const second = await transcribed("-o", out);
  assert.equal(second.code, 0, second.stderr);
  const again = second.lines.at(-1);
  assert.deepEqual([again.transcribed, again.passed_over, again.credits_charged], [1, RECORDINGS - 1, 0]);
  assert.deepEqual((await readdir(out)).sort(), names);
  assert.equal((await client.jobs.list()).data.length, RECORDINGS, "nothing was submitted again");
});

test("transcribe --jobs reports recordings that failed, and submits them again the next time", async () => {
  const broken = join(folder, "broken.mp3");
  await writeFile(broken, Buffer.alloc(3_000, 7));
  const out = await temporaryFolder();
  const failed = await transcribed("-o", out);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /failed: .*broken\.mp3: .*\(audio_unreadable, job job_[0-9a-f]{32}\)/);
  assert.equal(failed.lines.at(-1).transcribed, RECORDINGS);
  const [before] = (await client.jobs.list({ status: "failed" })).data;
  await transcribed("-o", out);
  const { data } = await client.jobs.list({ status: "failed" });
  assert.equal(data.length, 1, "the failed job was replaced");
  assert.notEqual(data[0]?.id, before?.id);
});
