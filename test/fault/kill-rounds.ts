import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import WebSocket from "ws";
import { type ServiceProcess, startServiceProcess } from "../../bench/support/service-process.js";
import { writeWav } from "../../src/domain/audio/wav.js";
import { liveCredits, synthesisCredits } from "../../src/domain/usage/tariff.js";
import { connect } from "../../src/store/connect.js";
import type { PostgresConnection } from "../../src/store/embedded-postgres.js";
import { Transfers } from "../../src/store/transfers.js";
import { brokenRules } from "../store/ledger-support.js";
import { eventually, SILENT } from "../store/support.js";

const TEXT = "Сәлем, әлем. Бүгін ауа райы жақсы.";
const FILE_RATE_HZ = 8_000;
const LIVE_RATE_HZ = 16_000;
const MESSAGE_MS = 100;
/** The journal is written every second; a machine that is busy takes its time to write it. */
const JOURNAL_LAG_MS = 3_000;

/** What clients saw of one round, and what must have been charged for it. */
interface Seen {
  /** Before the first request. */
  readonly since: Date;
  /** Credits of each answer that came whole, by request id. */
  readonly answered: Map<string, number>;
  readonly sessions: LiveSeen[];
}

interface LiveSeen {
  id: string | null;
  /** When each message was sent, and the samples sent by then. */
  readonly sent: { readonly atMs: number; readonly samples: number }[];
  doneCredits: number | null;
}

export interface KillReport {
  readonly rounds: number;
  readonly answered: number;
  readonly sessions: number;
  /** Charges that were committed in the very moment between the charge and its answer. */
  readonly chargedUnanswered: number;
}

/** Kills the whole service at random moments under load, starts it again, and compares the ledger with what clients saw. */
export async function killRounds(dataDir: string, rounds: number): Promise<KillReport> {
  const report = { rounds, answered: 0, sessions: 0, chargedUnanswered: 0 };
  let service = await startServiceProcess({ DATA_DIR: dataDir });
  await withDatabase(dataDir, (sql) =>
    new Transfers(sql).topUp("org_development", 10_000_000, "kill rounds"),
  );
  for (let round = 0; round < rounds; round++) {
    const seen = await killUnderLoad(service, 500 + Math.random() * 4_000);
    service = await startServiceProcess({ DATA_DIR: dataDir });
    report.chargedUnanswered += await compare(dataDir, seen);
    report.answered += seen.answered.size;
    report.sessions += seen.sessions.length;
  }
  assert.equal(await service.stop(), 0);
  return report;
}

async function killUnderLoad(service: ServiceProcess, afterMs: number): Promise<Seen> {
  const seen: Seen = { since: new Date(), answered: new Map(), sessions: [] };
  const gone = new AbortController();
  const clients = [
    repeat(gone.signal, () => speak(service, "/v1/tts", seen)),
    repeat(gone.signal, () => speak(service, "/v1/tts/stream", seen)),
    repeat(gone.signal, () => transcribe(service, seen)),
    repeat(gone.signal, () => listen(service, seen, 10_000)),
    repeat(gone.signal, () => listen(service, seen, 700)),
  ];
  await sleep(afterMs);
  gone.abort();
  service.child.kill("SIGKILL");
  await once(service.child, "exit");
  await Promise.all(clients);
  return seen;
}

/** A client that comes back until the service is gone; what breaks then is what this is about. */
async function repeat(gone: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!gone.aborted) {
    await work().catch(async (error: unknown) => {
      if (error instanceof assert.AssertionError) throw error;
      await sleep(20);
    });
  }
}

async function speak(service: ServiceProcess, path: string, seen: Seen): Promise<void> {
  const answer = await fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: TEXT, nfe: 4 }),
  });
  await answer.arrayBuffer();
  assert.equal(answer.status, 200);
  const credits = synthesisCredits(Number(answer.headers.get("x-svc-chars")));
  seen.answered.set(answer.headers.get("x-request-id")!, credits);
}

async function transcribe(service: ServiceProcess, seen: Seen): Promise<void> {
  const seconds = 0.5 + Math.random() * 3;
  const wav = writeWav(new Int16Array(Math.round(seconds * FILE_RATE_HZ)), FILE_RATE_HZ);
  const answer = await fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  const body = (await answer.json()) as { credits_charged: number };
  assert.equal(answer.status, 200);
  assert.equal(String(body.credits_charged), answer.headers.get("x-svc-credits"));
  seen.answered.set(answer.headers.get("x-request-id")!, body.credits_charged);
}

async function listen(service: ServiceProcess, seen: Seen, lengthMs: number): Promise<void> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const session: LiveSeen = { id: null, sent: [], doneCredits: null };
  socket.on("error", () => {});
  socket.on("message", (data) => {
    const message = JSON.parse(String(data));
    if (message.type === "ready") session.id = message.session_id;
    if (message.type === "done") session.doneCredits = message.credits_charged;
  });
  const closed = once(socket, "close");
  await Promise.race([once(socket, "open"), closed]);
  seen.sessions.push(session);
  const message = Buffer.alloc((2 * LIVE_RATE_HZ * MESSAGE_MS) / 1_000);
  for (let ms = 0; ms < lengthMs && socket.readyState === WebSocket.OPEN; ms += MESSAGE_MS) {
    socket.send(message);
    const samples = (session.sent.at(-1)?.samples ?? 0) + message.length / 2;
    session.sent.push({ atMs: performance.now(), samples });
    await sleep(MESSAGE_MS);
  }
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "close" }));
  await closed;
}

/** Returns how many charges belong to answers that no client saw whole. */
async function compare(dataDir: string, seen: Seen): Promise<number> {
  const killedAtMs = performance.now();
  return await withDatabase(dataDir, async (sql) => {
    await eventually("no hold left", async () => {
      return (await sql`select id from holds where state in ('open', 'posted')`).length === 0;
    });
    assert.deepEqual(await brokenRules(sql), []);
    const rows = await sql<{ id: string; kind: string; amount: string }[]>`
      select id, kind, amount from holds where opened_at > ${seen.since}`;
    const charged = new Map(rows.map((row) => [row.id, Number(row.amount)]));
    for (const [id, credits] of seen.answered) assert.equal(charged.get(id), credits, `charge of ${id}`);
    for (const session of seen.sessions) compareSession(session, charged, killedAtMs);
    const others = rows.filter(({ id, kind, amount }) => {
      return kind !== "live" && Number(amount) > 0 && !seen.answered.has(id);
    });
    return others.length;
  });
}

/** Works on the private database of the service that runs in `dataDir`. */
async function withDatabase<T>(dataDir: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

function compareSession(
  { id, sent, doneCredits }: LiveSeen,
  charged: ReadonlyMap<string, number>,
  nowMs: number,
): void {
  if (id === null) return;
  const credits = charged.get(id) ?? 0;
  if (doneCredits !== null) {
    assert.equal(credits, doneCredits, `charge of ${id}`);
    return;
  }
  const samplesBy = (atMs: number) => sent.findLast((message) => message.atMs <= atMs)?.samples ?? 0;
  const lastMs = sent.at(-1)?.atMs ?? nowMs;
  assert.ok(credits <= liveCredits(samplesBy(nowMs), LIVE_RATE_HZ), `${id} was charged ${credits}`);
  assert.ok(
    credits >= liveCredits(samplesBy(lastMs - JOURNAL_LAG_MS), LIVE_RATE_HZ),
    `${id} was charged only ${credits}`,
  );
}
