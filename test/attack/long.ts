// `npm run attack`: the real service on each front, one attack after another, on 127.0.0.1 only.
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { saveResult } from "../../bench/save-result.js";
import { pace } from "../support/pace.js";
import { CASES } from "./cases/all.js";
import type { AttackCase } from "./support/attack-case.js";
import { ATTACKED_FRONTS, type AttackedFront, AttackedService } from "./support/attacked-service.js";
import { startBystander } from "./support/bystander.js";
import { HealthProbe, type HealthReport } from "./support/health-probe.js";

const HELP = `npm run attack -- [--front NAME] [--case WORDS]... [--seconds 10] [--save]
Attacks the service on each front and says how /health, a live client and the ledger fared.
Saving some of the cases keeps the rows of the others. Exits with 1 when a rule was broken.`;
const SAVED = "bench/results/attack.json";
/** Limit of `/health` at the 99th percentile under each flood. */
const HEALTH_P99_MS = 50;

interface Row {
  readonly front: string;
  readonly name: string;
  readonly count: number;
  readonly outcome: string;
  readonly health: HealthReport;
  readonly finals: string;
  readonly residentMib: readonly [before: number, after: number];
  readonly broken: readonly string[];
}

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      front: { type: "string" },
      case: { type: "string", multiple: true, default: [""] },
      seconds: { type: "string", default: "10" },
      save: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const fronts = ATTACKED_FRONTS.filter(({ name }) => values.front === undefined || name === values.front);
  const cases = CASES.filter(({ name }) => values.case.some((words) => name.includes(words)));
  if (values.help || fronts.length === 0 || cases.length === 0) {
    console.error(HELP);
    return 2;
  }
  const rows: Row[] = [];
  for (const front of fronts) rows.push(...(await attackFront(front, cases, Number(values.seconds))));
  if (values.save) {
    const kept = await keptRows(rows);
    console.log(await saveResult("attack", { seconds: Number(values.seconds), rows: [...kept, ...rows] }));
  }
  return rows.some(({ broken }) => broken.length > 0) ? 1 : 0;
}

/** Returns the saved rows that were not measured again. */
async function keptRows(rows: readonly Row[]): Promise<readonly Row[]> {
  const saved = JSON.parse(await readFile(SAVED, "utf8")) as { readonly rows: readonly Row[] };
  const isNew = (kept: Row) => rows.some(({ front, name }) => front === kept.front && name === kept.name);
  return saved.rows.filter((row) => !isNew(row));
}

async function attackFront(
  front: AttackedFront,
  cases: readonly AttackCase[],
  seconds: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  let service = await AttackedService.start(front);
  for (const attack of cases) {
    if (!service.isAlive) service = await AttackedService.start(front);
    const row = await attackOnce(service, attack, seconds);
    console.log(line(row));
    rows.push(row);
  }
  if (service.isAlive) await service.process.stop();
  return rows;
}

async function attackOnce(service: AttackedService, attack: AttackCase, seconds: number): Promise<Row> {
  const broken: string[] = [];
  const [attacker, other] = [await service.newCustomer(), await service.newCustomer()];
  const before = mib(service.process.residentBytes());
  const bystander = startBystander({ url: service.url, key: other.key, utterances: Math.ceil(seconds / 3) });
  const probe = new HealthProbe(service.port);
  const failed = (thrown: unknown) => {
    broken.push(String(thrown));
    return { count: 0, outcome: "failed" };
  };
  // A short attack is observed for as long as the others.
  const [{ count, outcome }] = await Promise.all([
    attack.run({ service, key: attacker.key, seconds }).catch(failed),
    pace(seconds * 1_000),
  ]);
  const health = await probe.stop();
  const { finals, closeCode } = await bystander.result.catch((thrown: unknown) => {
    broken.push(`the live client failed: ${thrown}`);
    return { finals: [], closeCode: 0 };
  });
  if (!service.isAlive) broken.push(`the service ended: ${service.process.output().slice(-2_000)}`);
  else {
    await service.untilIdle().catch((thrown) => broken.push(String(thrown)));
    const rules = await service.brokenRules();
    if (rules.length > 0) broken.push(`ledger: ${JSON.stringify(rules)}`);
  }
  if (health.failures > 0) broken.push(`/health failed ${health.failures} times`);
  if (health.p99Ms > HEALTH_P99_MS) broken.push(`/health p99 over ${HEALTH_P99_MS} ms`);
  if (closeCode !== 1000) broken.push(`the live client was closed with ${closeCode}`);
  return {
    front: service.front.name,
    name: attack.name,
    count,
    outcome,
    health,
    finals: finals.map(({ lagMs }) => Math.round(lagMs)).join("/"),
    residentMib: [before, service.isAlive ? mib(service.process.residentBytes()) : 0],
    broken,
  };
}

function line({ front, name, count, outcome, health, finals, residentMib, broken }: Row): string {
  const { p50Ms, p99Ms, maxMs } = health;
  return [
    `${front} · ${name}: ${count} sent, ${outcome}`,
    `/health ${p50Ms.toFixed(1)}/${p99Ms.toFixed(0)}/${maxMs.toFixed(0)} ms`,
    `finals after ${finals} ms`,
    `RSS ${residentMib.join(" → ")} MiB`,
    ...(broken.length > 0 ? [`BROKEN: ${broken.join("; ")}`] : []),
  ].join(", ");
}

function mib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
