import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLive } from "../../bench/support/live-client.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import { newRawKey } from "../../src/store/accounts/key-secret.js";
import { connect } from "../../src/store/postgres/connect.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { momentOfFault, pace } from "../support/pace.js";
import { synthesisCredits } from "../support/prices.js";
import { SEED, uniform } from "../support/seed.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";
import { suspendPostgres } from "../support/suspended-postgres.js";

const ORGANIZATION = "org_development";
const OUTAGES = 3;
/** Time for the server to recover, and for a look-up that was in flight when it stopped. */
const BACK_WITHIN_MS = 90_000;

let dataDir: string;
let service: ServiceProcess;

before(async () => {
  dataDir = await temporaryFolder();
  service = await startServiceProcess({ DATA_DIR: dataDir });
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

test("while the database hangs, known keys work and other requests get a retryable error", async () => {
  assert.equal((await token(service.key)).status, 200);
  const resume = await suspendPostgres(dataDir);
  try {
    assert.equal((await token(service.key)).status, 200, "a key that was seen a moment ago");
    assert.equal((await fetch(`${service.url}/health`)).status, 200);
    // The key is cached, but not its credits; the other key is not cached at all.
    await Promise.all([unavailable(speak(service.key)), unavailable(speak(newRawKey()))]);
    await unavailable(token(newRawKey()));
    const headers = { authorization: `Bearer ${service.key}` };
    for (const path of ["balance", "usage"])
      await unavailable(fetch(`${service.url}/v1/${path}`, { headers }));
  } finally {
    resume();
  }
  await eventually("work again", async () => (await speak(service.key)).status === 200, BACK_WITHIN_MS);
});

test("an abrupt stop of the database under load causes no wrong charge and no crash", async () => {
  const charged = new Map<string, number>();
  let unavailableCount = 0;
  let isOver = false;
  const note = async (answer: Response, credits: number) => {
    await answer.arrayBuffer();
    if (answer.status === 200) charged.set(answer.headers.get("x-request-id") ?? "", credits);
    else if (answer.status === 503) unavailableCount++;
    // The free grant allows two files and four other requests at once, and a client that disconnected may
    // still count.
    else assert.equal(answer.headers.get("x-svc-error"), "too_many_requests");
  };
  const clients: readonly (() => Promise<void>)[] = [
    async () => {
      const answer = await speak(service.key);
      await note(answer, synthesisCredits(Number(answer.headers.get("x-svc-chars"))));
    },
    async () => {
      const answer = await transcribe();
      await note(answer, Number(answer.headers.get("x-svc-credits")));
    },
    async () => {
      const run = await runLive({
        url: service.url,
        key: service.key,
        pcm: new Int16Array(16_000),
        messageSamples: 1_600,
        isPaced: true,
      });
      let session = "";
      for (const { message } of run.received) {
        if (message.type === "ready") session = message.session_id;
        if (message.type === "done") charged.set(session, message.credits_charged);
      }
      if (run.closeCode !== 1000) unavailableCount++;
    },
  ];
  const since = new Date();
  const working = clients.map(async (work) => {
    while (!isOver) {
      await work().catch((error: unknown) => {
        if (error instanceof assert.AssertionError) throw error;
        // The service rejected a live session before its upgrade.
        unavailableCount++;
      });
      await pace(20);
    }
  });
  const random = uniform(SEED);
  for (let outage = 0; outage < OUTAGES; outage++) {
    await momentOfFault(700 + 900 * random());
    // This is the signal that `pg_ctl stop -m immediate` sends. The service restarts its server.
    const server = await postmaster();
    process.kill(server, "SIGQUIT");
    await eventually("another server", async () => ![0, server].includes(await postmaster()), BACK_WITHIN_MS);
    const before = charged.size;
    await eventually("answers again", async () => charged.size > before + 2, BACK_WITHIN_MS);
  }
  isOver = true;
  await Promise.all(working);
  assert.ok(charged.size > 3 * OUTAGES, `${charged.size} answers`);

  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection, SILENT);
  try {
    await eventually(
      "no hold left",
      async () => (await sql`select id from holds where state in ('open', 'posted')`).length === 0,
      BACK_WITHIN_MS,
    );
    assert.deepEqual(await brokenRules(sql), []);
    const rows = await sql<{ id: string; kind: string; amount: string }[]>`
      select id, kind, amount from holds where opened_at > ${since} and amount > 0`;
    const amounts = new Map(rows.map(({ id, amount }) => [id, Number(amount)]));
    for (const [id, credits] of charged) assert.equal(amounts.get(id) ?? 0, credits, `charge of ${id}`);
    // A live session that was cut off is charged for the audio that it had accepted.
    const unanswered = rows.filter(({ id, kind }) => kind !== "live" && !charged.has(id));
    assert.deepEqual(unanswered, [], `charges without an answer, beside ${unavailableCount} refusals`);
    const [account] = await sql`select balance, held from accounts where id = ${ORGANIZATION}`;
    assert.equal(Number(account?.["held"]), 0);
    assert.ok(Number(account?.["balance"]) < FREE_GRANT_CREDITS);
  } finally {
    await sql.end();
  }
});

async function unavailable(asked: Promise<Response>): Promise<void> {
  const answer = await asked;
  const body = (await answer.json()) as object;
  assert.equal(answer.status, 503, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["detail"]);
  assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
  assert.equal(answer.headers.get("x-svc-error"), "auth_unavailable");
}

function token(key: string): Promise<Response> {
  return fetch(`${service.url}/v1/stream/token`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
  });
}

function speak(key: string): Promise<Response> {
  return fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "Сәлем.", nfe: 4 }),
  });
}

function transcribe(): Promise<Response> {
  return fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: new Uint8Array(writeWav(new Int16Array(8_000), 8_000)),
  });
}

async function postmaster(): Promise<number> {
  const text = await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8").catch(() => "0");
  return Number(text.split("\n")[0]);
}
