import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sql } from "postgres";
import type { LiveFinal } from "../../src/client/live-types.js";
import { DauysClient } from "../../src/client/node.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { DIALOGUE, listen as listenByClient } from "../client/support.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { openLoadBalancer } from "../support/load-balancer.js";
import { momentOfFault } from "../support/pace.js";
import { liveCredits } from "../support/prices.js";
import { SEED, uniform } from "../support/seed.js";
import { type ServiceProcess, startBeside, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";
import {
  type Address,
  LIVE_RATE_HZ,
  type LiveSeen,
  listen,
  repeat,
  type Seen,
  speak,
  speakStreaming,
  spokenText,
  transcribe,
} from "./kill-clients.js";

/** Length of a piece that `listenByClient` sends. */
const PIECE_SECONDS = 0.1;
/** Returns numbers from 0 to 1. The same seed gives the same numbers. */
const killMoment = uniform(SEED);

export interface KillReport {
  readonly rounds: number;
  readonly answered: number;
  /** The number of streams interrupted after their first sentence. */
  readonly broken: number;
  readonly sessions: number;
  /** The number of sessions interrupted after they received text. */
  readonly heard: number;
}

/** Addresses for clients, and the service to kill. */
interface Target extends Address {
  /** Kills it like kill -9. */
  kill(): Promise<void>;
  /** Restarts the killed service in its data folder. @param settings additional settings */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Stops the services. Resolves with the exit code: 0 if every service ended normally. */
  stop(): Promise<number | null>;
  output(): string;
}

/** Two services, the second of which is killed. */
interface TwoTargets extends Target {
  ports(): readonly [number, number];
}

/**
 * Kills the whole service at random moments under load, restarts it, and compares the ledger with the
 * clients' records.
 */
export async function killRounds(dataDir: string, rounds: number): Promise<KillReport> {
  const service = await oneService({ ...(await settings()), DATA_DIR: dataDir });
  const report = { rounds, answered: 0, broken: 0, sessions: 0, heard: 0 };
  return await endedAfter(service, () => manyRounds(service, dataDir, report));
}

/**
 * Does the same with two services on one database, one of which is killed. That service restarts, except
 * after the last round, where the other one settles its remaining work. The other service knows only what is
 * in the database, so no client pays more than before, and some pay less.
 */
export async function killRoundsOfTwo(dataDir: string, rounds: number): Promise<KillReport> {
  const both = await twoServices({ ...(await settings()), DATA_DIR: dataDir });
  const report = { rounds, answered: 0, broken: 0, sessions: 0, heard: 0 };
  return await endedAfter(both, async () => {
    await manyRounds(both, dataDir, report);
    const speech = await spokenText(both);
    const client = await startAcross(both);
    const seen = await killUnderLoad(both, speech, { afterMs: 1_500, leastAnswers: 1 });
    const sessions = await client.goOn();
    await compare(dataDir, seen, "swept");
    await compareAcross(dataDir, sessions);
    // The service starts only to show what it settles. It gets no requests.
    await both.restart({ MODEL_PRELOAD: "false" });
    await compare(dataDir, seen, "swept");
    return report;
  });
}

async function settings(): Promise<Record<string, string>> {
  return { ...(await lightModels()), MODEL_PRELOAD: "true" };
}

async function endedAfter(target: Target, work: () => Promise<KillReport>): Promise<KillReport> {
  let isOver = false;
  try {
    const report = await work();
    isOver = true;
    return report;
  } finally {
    const code = await target.stop();
    if (isOver) assert.equal(code, 0, target.output());
  }
}

async function oneService(environment: Record<string, string>): Promise<Target> {
  let service = await startServiceProcess(environment);
  return {
    get url() {
      return service.url;
    },
    key: service.key,
    kill: () => killed(service),
    restart: async (settings) => {
      service = await startServiceProcess({ ...environment, ...settings });
    },
    stop: () => service.stop(),
    output: () => service.output(),
  };
}

/** The second service is the one that is killed, because the private database belongs to the first. */
async function twoServices(environment: Record<string, string>): Promise<TwoTargets> {
  const first = await startServiceProcess(environment);
  const beside = { ...environment, DATA_DIR: await temporaryFolder() };
  let second = await startBeside(first, beside);
  const spread = await openLoadBalancer(() => [first.port, second.port], SEED);
  return {
    url: spread.url,
    key: first.key,
    ports: () => [first.port, second.port],
    kill: () => killed(second),
    restart: async (settings) => {
      second = await startBeside(first, { ...beside, ...settings });
    },
    stop: async () => {
      await spread.close();
      const codes = [await second.stop(), await first.stop()];
      return codes.find((code) => code !== 0) ?? 0;
    },
    output: () => first.output() + second.output(),
  };
}

async function killed({ child }: ServiceProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function manyRounds(
  service: Target,
  dataDir: string,
  report: { -readonly [Member in keyof KillReport]: number },
): Promise<KillReport> {
  const { rounds } = report;
  await withDatabase(dataDir, (sql) =>
    new Transfers(sql).topUp("org_development", 10_000_000, "kill rounds"),
  );
  const speech = await spokenText(service);
  for (let round = 0; round < rounds; round++) {
    // On a busy machine there may be no response by any of these times.
    const isIdle = round === rounds - 1 && report.answered === 0;
    const seen = await killUnderLoad(service, speech, {
      afterMs: 500 + killMoment() * 4_000,
      leastAnswers: isIdle ? 1 : 0,
    });
    await service.restart();
    await compare(dataDir, seen);
    report.broken += [...seen.broken.values()].filter((credits) => credits > 0).length;
    report.answered += seen.answered.size;
    report.sessions += seen.sessions.length;
    report.heard += seen.sessions.filter(
      ({ doneCredits, heardSeconds }) => doneCredits === null && heardSeconds > 0,
    ).length;
  }
  return report;
}

async function killUnderLoad(
  service: Target,
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
  await service.kill();
  await Promise.all(clients);
  return seen;
}

/** The sessions of a library client, in order. The first one lost its service. */
interface AcrossSeen {
  readonly sessionIds: readonly string[];
  /** The credits of the sessions that ended normally. */
  readonly creditsCharged: number;
}

/**
 * Streams to the service that will be killed, up to the middle of the second utterance, through a proxy that
 * leads to the other service from then on. Continues after the kill.
 */
async function startAcross(both: TwoTargets): Promise<{ readonly goOn: () => Promise<AcrossSeen> }> {
  let nth = 1;
  const door = await openLoadBalancer(() => [both.ports()[nth]!], SEED);
  const client = new DauysClient({ baseUrl: door.url, apiKey: both.key });
  const undisturbed = await listenByClient(client, DIALOGUE);
  const [, second] = undisturbed.finals;
  assert.ok(second !== undefined, "the dialogue has two utterances");
  const isMidway = deferred<void>();
  const isGone = deferred<void>();
  const listening = listenByClient(client, DIALOGUE, {
    // The proxy leads to the killed service until all other clients have noticed the loss.
    reconnectTimeoutMs: 120_000,
    before: async (piece) => {
      if (piece !== Math.floor((second.start + second.end) * (0.5 / PIECE_SECONDS))) return;
      isMidway.resolve();
      await isGone.promise;
    },
  });
  await Promise.race([isMidway.promise, listening]);
  return {
    goOn: async () => {
      nth = 0;
      isGone.resolve();
      const { finals, done } = await listening;
      await door.close();
      assert.deepEqual(finals.map(asTold), undisturbed.finals.map(asTold), "no word is lost or repeated");
      assert.deepEqual([done.audioSeconds, done.unsettledConnections], [undisturbed.done.audioSeconds, 1]);
      assert.equal(done.sessionIds.length, 2);
      return done;
    },
  };
}

/** Converts times to whole samples, because sums of seconds differ in their last digits. */
function asTold({ text, utterance, start, end }: LiveFinal): unknown {
  return { text, utterance, start: Math.round(start * LIVE_RATE_HZ), end: Math.round(end * LIVE_RATE_HZ) };
}

/** @param by `swept`: another service has settled from the database's records */
async function compare(dataDir: string, seen: Seen, by: "restarted" | "swept" = "restarted"): Promise<void> {
  await withDatabase(dataDir, async (sql) => {
    await eventually(
      "no hold is left",
      async () => {
        return (await sql`select id from holds where state in ('open', 'posted')`).length === 0;
      },
      120_000,
    );
    assert.deepEqual(await brokenRules(sql), []);
    const rows = await sql<{ id: string; kind: string; amount: string }[]>`
      select id, kind, amount from holds where opened_at > ${seen.since}`;
    const charged = new Map(rows.map((row) => [row.id, Number(row.amount)]));
    for (const [id, credits] of [...seen.answered, ...seen.broken]) {
      const isLess = by === "swept" && charged.get(id) === 0;
      assert.ok(
        isLess || charged.get(id) === credits,
        `${id} was charged ${charged.get(id)}, not ${credits}`,
      );
    }
    for (const session of seen.sessions) compareSession(session, charged, by === "swept");
    const unanswered = rows.filter(({ id, kind, amount }) => {
      return kind !== "live" && Number(amount) > 0 && !seen.answered.has(id) && !seen.broken.has(id);
    });
    assert.deepEqual(unanswered, [], "charges without an answer");
  });
}

/**
 * Checks that each service's part of a client's audio is charged once. The second service charges its own
 * part; the sweep charges the part of the first.
 */
async function compareAcross(dataDir: string, { sessionIds, creditsCharged }: AcrossSeen): Promise<void> {
  await withDatabase(dataDir, async (sql) => {
    const rows = await sql<{ id: string; state: string; amount: string; service: string }[]>`
      select id, state, amount, service_id as service from holds where id = any(${[...sessionIds]})`;
    const [lost, last] = sessionIds.map((id) => rows.find((row) => row.id === id)!);
    assert.deepEqual([lost!.state, last!.state], ["settled", "settled"]);
    assert.notEqual(lost!.service, last!.service);
    assert.equal(Number(last!.amount), creditsCharged);
    const most = liveCredits(DIALOGUE.length, LIVE_RATE_HZ);
    assert.ok(Number(lost!.amount) < most, `${lost!.amount} of ${most} for a part of the dialogue`);
  });
}

/** Connects to the private database of the service that runs in `dataDir`. */
async function withDatabase<T>(dataDir: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
  const sql = connect(connection as PostgresConnection, SILENT);
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

/** Checks that the service accepted everything that it transcribed, and no more than was sent. */
function compareSession(
  { id, sentSamples, heardSeconds, doneCredits }: LiveSeen,
  charged: ReadonlyMap<string, number>,
  mayBeLess: boolean,
): void {
  if (id === null) return;
  const credits = charged.get(id) ?? 0;
  if (doneCredits !== null) {
    assert.equal(credits, doneCredits, `charge of ${id}`);
    return;
  }
  const least = mayBeLess ? 0 : liveCredits(Math.round(heardSeconds * LIVE_RATE_HZ), LIVE_RATE_HZ);
  const most = liveCredits(sentSamples, LIVE_RATE_HZ);
  assert.ok(credits >= least && credits <= most, `${id} was charged ${credits}, not ${least} to ${most}`);
}
