// `npm run faults` applies faults on a schedule under paced load, and checks everything that clients saw and
// the ledger holds. It runs on 127.0.0.1 and, as root, in a network namespace.
import { mkdir } from "node:fs/promises";
import { parseArgs } from "node:util";
import { saveResult } from "../../bench/save-result.js";
import { WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { connect } from "../../src/store/postgres/connect.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { eventually } from "../support/eventually.js";
import { momentOfFault, within } from "../support/pace.js";
import { SILENT } from "../support/silent-log.js";
import { violationsOf } from "./checker.js";
import { Clients } from "./clients.js";
import { apply, whyNot } from "./faulty-fleet.js";
import { Fleet } from "./fleet.js";
import { History, readHistory } from "./history.js";
import { FAULT_KINDS, type FaultKind, type ScheduledFault, scheduleOf } from "./schedule.js";
import { summaryOf } from "./summary.js";

const HELP = `npm run faults -- [--seed 1] [--rounds 100] [--minutes 60] [--sessions 3] [--only "engine killed"] [--save]
npm run faults -- --check build/faults/1.jsonl
Runs a fleet (2 gateways, 3 engines, 3 NATS servers, PostgreSQL with a standby) through one fault after another.
The same seed gives the same faults; ends after --rounds or --minutes. --save writes bench/results/faults.json.
The history is saved in build/faults; --check checks one again. Exits with 1 if a promise was broken.`;
const FOLDER = "build/faults";
/** A service settles the work of a lost one after 30 s, so this is ample. */
const SETTLED_WITHIN_MS = 180_000;
const ENDED_WITHIN_MS = 240_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      rounds: { type: "string", default: "100" },
      minutes: { type: "string", default: "60" },
      sessions: { type: "string", default: "3" },
      only: { type: "string", multiple: true },
      check: { type: "string" },
      save: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.check !== undefined) return report(violationsOf(readHistory(values.check)));
  const [seed, rounds, minutes, sessions] = [values.seed, values.rounds, values.minutes, values.sessions].map(
    Number,
  );
  const unknown = values.only?.find((kind) => !FAULT_KINDS.includes(kind as FaultKind));
  if (
    values.help ||
    unknown !== undefined ||
    !Number.isInteger(seed) ||
    !(rounds! > 0 && minutes! > 0 && sessions! > 0)
  ) {
    if (unknown !== undefined)
      console.error(`unknown fault "${unknown}"; use one of: ${FAULT_KINDS.join(", ")}`);
    console.error(HELP);
    return 2;
  }
  if (WITHOUT_NATS !== false) {
    console.error(WITHOUT_NATS);
    return 2;
  }
  const skipped = FAULT_KINDS.map((kind) => ({ kind, reason: whyNot(kind) })).filter(
    ({ reason }) => reason !== false,
  );
  for (const { kind, reason } of skipped) console.log(`${kind}: skipped, ${reason}`);
  const kinds = ((values.only as FaultKind[] | undefined) ?? FAULT_KINDS).filter(
    (kind) => whyNot(kind) === false,
  );
  await mkdir(FOLDER, { recursive: true });
  const history = new History(`${FOLDER}/${seed}.jsonl`);
  const schedule = scheduleOf(seed!, rounds!, kinds);
  await run(history, { seed: seed!, schedule, sessions: sessions!, minutes: minutes! });
  const violations = violationsOf(history.events);
  const summary = summaryOf(history.events);
  console.log(JSON.stringify(summary, null, 1));
  if (values.save)
    console.log(
      await saveResult("faults", { parameters: { seed, sessions }, skipped, violations, ...summary }),
    );
  return report(violations);
}

async function run(
  history: History,
  plan: {
    readonly seed: number;
    readonly schedule: readonly ScheduledFault[];
    readonly sessions: number;
    readonly minutes: number;
  },
): Promise<void> {
  const fleet = await Fleet.start(plan.seed);
  try {
    const clients = new Clients({ url: fleet.front.url, key: fleet.key }, history);
    await clients.recordReferences();
    clients.start(plan.sessions);
    await sufferAll(fleet, plan, history).catch((error: unknown) =>
      history.add({ type: "unsound", detail: String(error).slice(0, 2_000) }),
    );
    await within(ENDED_WITHIN_MS, "every client has ended", clients.end()).catch((error: unknown) =>
      history.add({ type: "unsound", detail: String(error) }),
    );
    await recordLedger(fleet, history);
  } finally {
    const codes = await fleet.stop();
    await history.end();
    if (codes.some((code) => code !== 0))
      console.log(`exit codes of gateways and engines: ${codes.join(", ")}`);
  }
}

async function sufferAll(
  fleet: Fleet,
  { schedule, minutes }: { readonly schedule: readonly ScheduledFault[]; readonly minutes: number },
  history: History,
): Promise<void> {
  const untilMs = performance.now() + 60_000 * minutes;
  for (const fault of schedule) {
    if (performance.now() > untilMs) return;
    await suffer(fleet, fault, history);
  }
}

async function suffer(fleet: Fleet, fault: ScheduledFault, history: History): Promise<void> {
  const { round, kind, target, afterMs, durationMs } = fault;
  const note = (phase: "applied" | "healed" | "sound") =>
    history.add({ type: "fault", round, kind, target, phase });
  await momentOfFault(afterMs);
  console.log(`${round}: ${kind} ${target}, ${durationMs} ms`);
  note("applied");
  const heal = await apply(fleet, kind, target);
  await momentOfFault(durationMs);
  await heal();
  note("healed");
  await fleet.untilSound();
  note("sound");
}

/** Waits until all work is settled, but not forever, because the checker reports what is left. */
async function recordLedger({ database }: Fleet, history: History): Promise<void> {
  const sql = connect(database.url, SILENT);
  try {
    const isSettled = async () =>
      (await sql`select from holds where state in ('open', 'posted')`).length === 0 &&
      (await sql`select from idempotency_keys where state = 'running'`).length === 0;
    await eventually("all work is settled", isSettled, SETTLED_WITHIN_MS).catch(() => {});
    const holds = await sql<{ id: string; kind: string; state: string; credits: number; charges: number }[]>`
      select id, kind, state, amount::float8 as credits,
        (select count(*)::int from transfers where transfers.kind = 'charge' and reference = 'charge:' || holds.id)
          as charges
      from holds order by opened_at`;
    const keys = await sql<{ key: string; state: string; requestId: string; paidRequestId: string | null }[]>`
      select key, state, request_id as "requestId", paid_request_id as "paidRequestId" from idempotency_keys`;
    history.add({
      type: "ledger",
      holds: [...holds],
      keys: [...keys],
      brokenRules: [...(await brokenRules(sql))],
    });
  } finally {
    await sql.end();
  }
}

function report(violations: readonly string[]): number {
  for (const violation of violations) console.log(violation);
  console.log(violations.length === 0 ? "every promise was kept" : `${violations.length} broken promises`);
  return violations.length === 0 ? 0 : 1;
}
