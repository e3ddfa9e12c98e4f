import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import type { Sql } from "postgres";
import WebSocket from "ws";
import { toInt16 } from "../../src/domain/audio/pcm.js";
import { resample } from "../../src/domain/audio/resample.js";
import { writeWav } from "../../src/domain/audio/wav.js";
import { WavSampleReader } from "../../src/domain/audio/wav-samples.js";
import { WavFrameReader } from "../../src/protocol/wav-frames.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { momentOfFault, pace } from "../support/pace.js";
import { liveCredits, synthesisCredits } from "../support/prices.js";
import { SEED, uniform } from "../support/seed.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";

const SENTENCES = ["Сәлем, әлем. ", "Бүгін ауа райы жақсы. ", "Ертең жаңбыр жауады."];
const TEXT = SENTENCES.join("");
const FILE_RATE_HZ = 8_000;
const LIVE_RATE_HZ = 16_000;
const MESSAGE_MS = 100;
/** 0 to 1, the same for the same seed. */
const killMoment = uniform(SEED);
const fileLength = uniform(SEED + 1);

/** What clients saw of one round, and what must have been charged for it. */
interface Seen {
  /** Before the first request. */
  readonly since: Date;
  /** Credits of each answer that came whole, by request id. */
  readonly answered: Map<string, number>;
  /** Credits for the sentences that came of each stream that broke off, by request id. */
  readonly broken: Map<string, number>;
  readonly sessions: LiveSeen[];
}

interface LiveSeen {
  id: string | null;
  sentSamples: number;
  /** The end of what the service said it had heard, in seconds. */
  heardSeconds: number;
  doneCredits: number | null;
}

export interface KillReport {
  readonly rounds: number;
  readonly answered: number;
  /** Streams that broke off after their first sentence. */
  readonly broken: number;
  readonly sessions: number;
  /** Sessions that had been told some text when they broke off. */
  readonly heard: number;
}

/** Kills the whole service at random moments under load, starts it again, and compares the ledger with what clients saw. */
export async function killRounds(dataDir: string, rounds: number): Promise<KillReport> {
  const report = { rounds, answered: 0, broken: 0, sessions: 0, heard: 0 };
  const settings = { ...(await lightModels()), DATA_DIR: dataDir, MODEL_PRELOAD: "true" };
  let service = await startServiceProcess(settings);
  await withDatabase(dataDir, (sql) =>
    new Transfers(sql).topUp("org_development", 10_000_000, "kill rounds"),
  );
  try {
    const speech = await spokenText(service);
    for (let round = 0; round < rounds; round++) {
      // On a machine that is busy with something else nothing may have been answered by any of the moments.
      const isIdle = round === rounds - 1 && report.answered === 0;
      const seen = await killUnderLoad(service, speech, {
        afterMs: 500 + killMoment() * 4_000,
        leastAnswers: isIdle ? 1 : 0,
      });
      service = await startServiceProcess(settings);
      await compare(dataDir, seen);
      report.broken += [...seen.broken.values()].filter((credits) => credits > 0).length;
      report.answered += seen.answered.size;
      report.sessions += seen.sessions.length;
      report.heard += seen.sessions.filter(
        ({ doneCredits, heardSeconds }) => doneCredits === null && heardSeconds > 0,
      ).length;
    }
    assert.equal(await service.stop(), 0, service.output());
    return report;
  } finally {
    service.child.kill("SIGKILL");
  }
}

async function killUnderLoad(
  service: ServiceProcess,
  speech: Int16Array,
  { afterMs, leastAnswers }: { readonly afterMs: number; readonly leastAnswers: number },
): Promise<Seen> {
  const seen: Seen = { since: new Date(), answered: new Map(), broken: new Map(), sessions: [] };
  const gone = new AbortController();
  const clients = [
    repeat(gone.signal, () => speak(service, seen)),
    repeat(gone.signal, () => speakStreaming(service, seen)),
    repeat(gone.signal, () => speakStreaming(service, seen)),
    repeat(gone.signal, () => transcribe(service, seen)),
    repeat(gone.signal, () => listen(service, seen, speech, 10_000)),
    repeat(gone.signal, () => listen(service, seen, speech, 700)),
  ];
  await momentOfFault(afterMs);
  await eventually("there was load", () => seen.answered.size >= leastAnswers, 120_000);
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
      await pace(20);
    });
  }
}

async function speak(service: ServiceProcess, seen: Seen): Promise<void> {
  const answer = await fetch(`${service.url}/v1/tts`, { method: "POST", ...speechRequest(service) });
  await answer.arrayBuffer();
  assert.equal(answer.status, 200);
  const credits = synthesisCredits(Number(answer.headers.get("x-svc-chars")));
  seen.answered.set(answer.headers.get("x-request-id")!, credits);
}

function speechRequest(service: ServiceProcess) {
  return {
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: TEXT, nfe: 4 }),
  };
}

/** Reads frames as they come: `fetch` would throw away what it has not handed on when the connection breaks. */
async function speakStreaming(service: ServiceProcess, seen: Seen): Promise<void> {
  const { headers, body } = speechRequest(service);
  const asked = request(`${service.url}/v1/tts/stream`, { method: "POST", headers });
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  const id = String(answer.headers["x-request-id"]);
  const frames = new WavFrameReader();
  let frameCount = 0;
  answer.on("data", (chunk: Buffer) => {
    frameCount += frames.push(chunk).length;
  });
  const isWhole = await new Promise<boolean>((resolve) => {
    answer.once("close", () => resolve(answer.complete));
    answer.on("error", () => {});
  });
  const credits = synthesisCredits(SENTENCES.slice(0, frameCount).join("").length);
  if (isWhole) assert.equal(frameCount, SENTENCES.length);
  (isWhole ? seen.answered : seen.broken).set(id, credits);
}

async function transcribe(service: ServiceProcess, seen: Seen): Promise<void> {
  const seconds = 0.5 + fileLength() * 3;
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

async function listen(
  service: ServiceProcess,
  seen: Seen,
  speech: Int16Array,
  lengthMs: number,
): Promise<void> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const session: LiveSeen = { id: null, sentSamples: 0, heardSeconds: 0, doneCredits: null };
  socket.on("error", () => {});
  socket.on("message", (data) => {
    const message = JSON.parse(String(data));
    if (message.type === "ready") session.id = message.session_id;
    if (message.type === "partial" || message.type === "final") session.heardSeconds = message.end;
    if (message.type === "done") session.doneCredits = message.credits_charged;
  });
  const closed = once(socket, "close");
  await Promise.race([once(socket, "open"), closed]);
  seen.sessions.push(session);
  const length = (LIVE_RATE_HZ * MESSAGE_MS) / 1_000;
  for (let ms = 0; ms < lengthMs && socket.readyState === WebSocket.OPEN; ms += MESSAGE_MS) {
    const start = session.sentSamples % (speech.length - length);
    socket.send(speech.slice(start, start + length));
    session.sentSamples += length;
    await pace(MESSAGE_MS);
  }
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "close" }));
  await closed;
}

async function compare(dataDir: string, seen: Seen): Promise<void> {
  await withDatabase(dataDir, async (sql) => {
    await eventually("no hold left", async () => {
      return (await sql`select id from holds where state in ('open', 'posted')`).length === 0;
    });
    assert.deepEqual(await brokenRules(sql), []);
    const rows = await sql<{ id: string; kind: string; amount: string }[]>`
      select id, kind, amount from holds where opened_at > ${seen.since}`;
    const charged = new Map(rows.map((row) => [row.id, Number(row.amount)]));
    for (const [id, credits] of seen.answered) assert.equal(charged.get(id), credits, `charge of ${id}`);
    for (const [id, credits] of seen.broken) assert.equal(charged.get(id), credits, `charge of broken ${id}`);
    for (const session of seen.sessions) compareSession(session, charged);
    const unanswered = rows.filter(({ id, kind, amount }) => {
      return kind !== "live" && Number(amount) > 0 && !seen.answered.has(id) && !seen.broken.has(id);
    });
    assert.deepEqual(unanswered, [], "charges without an answer");
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

/** What the service has spoken of it has accepted, and it cannot have accepted more than was sent. */
function compareSession(
  { id, sentSamples, heardSeconds, doneCredits }: LiveSeen,
  charged: ReadonlyMap<string, number>,
): void {
  if (id === null) return;
  const credits = charged.get(id) ?? 0;
  if (doneCredits !== null) {
    assert.equal(credits, doneCredits, `charge of ${id}`);
    return;
  }
  const least = liveCredits(Math.round(heardSeconds * LIVE_RATE_HZ), LIVE_RATE_HZ);
  const most = liveCredits(sentSamples, LIVE_RATE_HZ);
  assert.ok(credits >= least && credits <= most, `${id} was charged ${credits}, not ${least} to ${most}`);
}

/** Speech for live sessions. */
async function spokenText(service: ServiceProcess): Promise<Int16Array> {
  const answer = await fetch(`${service.url}/v1/tts`, { method: "POST", ...speechRequest(service) });
  const wav = new Uint8Array(await answer.arrayBuffer());
  const samples = new WavSampleReader(wav.length).push(wav);
  return toInt16(resample(samples, { fromHz: 24_000, toHz: LIVE_RATE_HZ }));
}
