import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { writeWav } from "../../core/domain/audio/wav.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { momentOfFault, pace } from "../support/pace.js";
import { fileCredits, synthesisCredits } from "../support/prices.js";
import { SEED, uniform } from "../support/seed.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";

const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 2);
const TEXT = "Сәлем, әлем. Бүгін ауа райы жақсы.";
const SPEECH = JSON.stringify({ text: TEXT, nfe: 4 });
const FILE_SAMPLES = 16_000;
const FILE = new Uint8Array(writeWav(new Int16Array(FILE_SAMPLES), 8_000));
const RETRY_MS = 100;

/** One request of each kind of work, repeated under its key until it succeeds. */
const WORKS = [
  { path: "/v1/tts", body: SPEECH, credits: synthesisCredits([...TEXT].length) },
  { path: "/v1/tts/stream", body: SPEECH, credits: synthesisCredits([...TEXT].length) },
  { path: "/v1/transcribe", body: FILE, credits: fileCredits(FILE_SAMPLES, 8_000) },
];

test(`over ${ROUNDS} kill -9 every request repeated under its key succeeds and is charged exactly once`, async (t) => {
  const dataDir = await temporaryFolder();
  const settings = { ...(await lightModels()), DATA_DIR: dataDir, MODEL_PRELOAD: "true" };
  const start = () => startServiceProcess(settings);
  let service: ServiceProcess = await start();
  let isOver = false;
  const counts = { answered: 0, repeated: 0, inUse: 0, unpaid: 0 };
  let credits = 0;
  /** Settles with the bytes of the response, or with null if it is incomplete. */
  const ask = async (path: string, body: string | Uint8Array, key: string) => {
    try {
      const answer = await fetch(service.url + path, {
        method: "POST",
        headers: { authorization: `Bearer ${service.key}`, "idempotency-key": key },
        body: typeof body === "string" ? body : new Uint8Array(body),
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (answer.status !== 200) {
        assert.ok([409, 503].includes(answer.status), `${answer.status} ${bytes}`);
        if (answer.status === 409) counts.inUse++;
        return null;
      }
      if (answer.headers.get("idempotent-replayed") === "true") counts.unpaid++;
      return bytes;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return null;
    }
  };
  const client = async ({ path, body, credits: price }: (typeof WORKS)[number], name: string) => {
    for (let count = 0; !isOver; count++) {
      const key = `${name}-${count}`;
      let bytes = await ask(path, body, key);
      for (let tries = 1; bytes === null; tries++) {
        assert.ok(tries < 2_000, `${path} was never answered`);
        counts.repeated++;
        await pace(RETRY_MS);
        bytes = await ask(path, body, key);
      }
      counts.answered++;
      credits += price;
    }
  };
  const clients = WORKS.flatMap((work, index) => [client(work, `a${index}`), client(work, `b${index}`)]);
  const killMoment = uniform(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    await momentOfFault(500 + killMoment() * 2_000);
    service.child.kill("SIGKILL");
    await once(service.child, "exit");
    service = await start();
  }
  // A busy machine may have completed few requests by then.
  await eventually("enough is answered", () => counts.answered > 2 * WORKS.length, 120_000);
  isOver = true;
  await Promise.all(clients);
  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  await eventually("no hold left", async () => {
    return (await sql`select id from holds where state in ('open', 'posted')`).length === 0;
  });
  assert.deepEqual(await brokenRules(sql), []);
  const [row] = await sql<{ charged: string }[]>`select sum(amount) as charged from holds`;
  assert.equal(Number(row?.charged), credits);
  await sql.end();
  assert.equal(await service.stop(), 0, service.output());
  t.diagnostic(JSON.stringify({ ...counts, credits }));
  assert.ok(counts.repeated > 0, "what was asked was cut off");
});
