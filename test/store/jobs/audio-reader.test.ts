import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { AudioReader, PART_BYTES } from "../../../src/store/jobs/audio-reader.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { preparedFolder } from "../../support/prepared-database.js";
import { SILENT } from "../../support/silent-log.js";
import { type LedgerTables, newLedger } from "../ledger/ledger-support.js";

let server: EmbeddedPostgres;
let tables: LedgerTables;
let reader: AudioReader;

before(async () => {
  server = await EmbeddedPostgres.start({ dataDir: await preparedFolder(), purpose: "service", log: SILENT });
  tables = await newLedger(server);
  const [row] = await tables.sql<{ name: string }[]>`select current_database() as name`;
  reader = new AudioReader({ ...server.connection, database: row!.name });
});
after(async () => {
  await reader.stop();
  await tables.sql.end({ timeout: 5 });
  await server.stop();
});

async function stored(parts: readonly Uint8Array[]): Promise<string> {
  const { sql, organizations } = tables;
  const { id: organization } = await organizations.create("jobs");
  const job = randomUUID();
  await sql`
    insert into jobs (id, organization_id, key_id, status, service_id, options)
    values (${job}, ${organization}, 'key', 'running', 'svc_a', '{}')`;
  for (const [part, bytes] of parts.entries())
    await sql`insert into job_audio (job_id, part, bytes) values (${job}, ${part}, ${bytes})`;
  return job;
}

async function whole(job: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of reader.parts(job)) parts.push(part.slice());
  return Buffer.concat(parts);
}

/** Otherwise a collection of what the test has stored could hide what the reader allocates. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // Memory that the first frees is counted as free when the second starts.
  collect();
  collect();
}

test("jobs read at the same time, and after the thread has stopped, get their own audio", async () => {
  const audio = [3, 2, 1].map((count) =>
    [...Array(count).fill(PART_BYTES), 1_000].map((n) => randomBytes(n)),
  );
  const jobs = await Promise.all(audio.map(stored));
  const read = await Promise.all(jobs.map(whole));
  assert.deepEqual(
    read,
    audio.map((parts) => Buffer.concat(parts)),
  );
  await reader.stop();
  assert.deepEqual(await whole(jobs[0]!), read[0]);
  assert.equal((await whole(randomUUID())).length, 0);
});

test("reading leaves no garbage on this thread, whose collection would delay requests", async () => {
  const job = await stored(Array.from({ length: 12 }, () => randomBytes(PART_BYTES)));
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  let bytes = 0;
  let most = 0;
  for await (const part of reader.parts(job)) {
    bytes += part.length;
    // A collection may run at any time, so only the highest value counts.
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  assert.equal(bytes, 12 * PART_BYTES);
  assert.ok(most <= 2 * PART_BYTES, `${most} bytes for a room of ${PART_BYTES}`);
});

test("a part that does not fit its room fails, and the next job is read", async () => {
  const tooLarge = await stored([randomBytes(PART_BYTES + 1)]);
  await assert.rejects(whole(tooLarge), RangeError);
  const audio = randomBytes(10);
  assert.deepEqual(await whole(await stored([audio])), audio);
});

test("a database that rejects the thread's connection fails the read", async () => {
  const refused = new AudioReader({ ...server.connection, password: "wrong" });
  await assert.rejects(refused.parts(randomUUID()).next(), /password authentication failed/);
  await refused.stop();
});
