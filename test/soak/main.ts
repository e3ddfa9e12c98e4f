// `npm run soak` runs an hour of paced traffic, or with `--fast` a day of it as fast as the service handles
// it, on 127.0.0.1 only. It reads memory, handles, files, connections and the event loop's delay, and fails
// if one of them grows.
import { chmod, mkdir } from "node:fs/promises";
import { parseArgs } from "node:util";
import { saveResult } from "../../bench/save-result.js";
import { freePort } from "../../bench/support/free-port.js";
import { ATTACKED_FRONTS, type AttackedFront, AttackedService } from "../attack/support/attacked-service.js";
import { temporaryFolder } from "../support/folders.js";
import { pace } from "../support/pace.js";
import { creditDevelopment } from "../support/service-process.js";
import { type Drift, driftsOf, MOST_DRIFT } from "./drift.js";
import { GarbageCollector } from "./garbage.js";
import { type Observed, QUANTITIES, type Reading, read } from "./readings.js";
import { VISITS_PER_ROUND, visitOnce } from "./visits.js";

const HELP = `npm run soak -- [--minutes 60] [--every 10] [--front uws] [--fast] [--rounds 1440] [--save]
A round is a minute of a small service's day: requests, uploads, live sessions, clients that leave, wrong keys.
Without --fast a round starts every 10 s for --minutes; with it, --rounds follow one another without a pause.
--every: seconds between readings, 2 with --fast. --save writes bench/results/soak.json (soak-fast.json).
Exits with 1 if a quantity drifts by more than ${100 * MOST_DRIFT} % of its median from the second quarter on.`;
const CREDITS = 500_000_000;
const ROUND_MS = 10_000;

interface Plan {
  readonly isFast: boolean;
  readonly minutes: number;
  readonly rounds: number;
  readonly everyMs: number;
}

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      front: { type: "string", default: ATTACKED_FRONTS[0]!.name },
      minutes: { type: "string", default: "60" },
      rounds: { type: "string", default: "1440" },
      every: { type: "string" },
      fast: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const front = ATTACKED_FRONTS.find(({ name }) => name === values.front);
  const plan: Plan = {
    isFast: values.fast,
    minutes: Number(values.minutes),
    rounds: Number(values.rounds),
    everyMs: 1_000 * Number(values.every ?? (values.fast ? 2 : 10)),
  };
  if (values.help || front === undefined || !(plan.minutes > 0 && plan.rounds > 0 && plan.everyMs > 0)) {
    console.error(HELP);
    return 2;
  }
  const readings = await soak(front, plan);
  const drifts = driftsOf(readings);
  for (const drift of drifts) console.log(lineOf(drift));
  if (values.save) {
    const rounds = readings.at(-1)!.round;
    const parameters = { ...plan, front: front.name, rounds, visits: rounds * VISITS_PER_ROUND };
    console.log(await saveResult(plan.isFast ? "soak-fast" : "soak", dataOf(parameters, drifts, readings)));
  }
  return drifts.some(({ isLeak }) => isLeak) ? 1 : 0;
}

/**
 * Runs the plan and returns its readings. In the end the service must have no work, no files and no broken
 * rules.
 */
async function soak(front: AttackedFront, plan: Plan): Promise<readonly Reading[]> {
  const temporaryDir = await temporaryFolder();
  // The private database runs as another user, who needs access.
  await mkdir(temporaryDir, { recursive: true });
  await chmod(temporaryDir, 0o1777);
  const operatorPort = await freePort();
  const inspectorPort = await freePort();
  const settings = {
    OPERATOR_PORT: String(operatorPort),
    TMPDIR: temporaryDir,
    NODE_OPTIONS: `--inspect-port=127.0.0.1:${inspectorPort}`,
  };
  const service = await AttackedService.start(front, settings);
  await creditDevelopment(service.process, CREDITS);
  const { child, dataDir } = service.process;
  const collector = await GarbageCollector.open(child.pid!, inspectorPort);
  const observed: Observed = { pid: child.pid!, dataDir, temporaryDir, operatorPort, collector };
  const readings: Reading[] = [];
  const startedAtMs = performance.now();
  const state = { round: 0, isOver: false };
  const reading = readRegularly(observed, plan.everyMs, state, readings);
  while (plan.isFast ? state.round < plan.rounds : performance.now() - startedAtMs < 60_000 * plan.minutes) {
    const roundAtMs = performance.now();
    await visitOnce(service);
    state.round++;
    const restMs = ROUND_MS - (performance.now() - roundAtMs);
    if (!plan.isFast && restMs > 0) await pace(restMs);
  }
  state.isOver = true;
  await reading;
  collector.close();
  await service.stopSound();
  return readings;
}

async function readRegularly(
  observed: Observed,
  everyMs: number,
  state: { readonly round: number; readonly isOver: boolean },
  readings: Reading[],
): Promise<void> {
  const startedAtMs = performance.now();
  while (!state.isOver) {
    const seconds = (performance.now() - startedAtMs) / 1_000;
    readings.push({ seconds, round: state.round, ...(await read(observed)) });
    if (readings.length % 30 === 1) console.log(JSON.stringify(readings.at(-1)));
    await pace(everyMs);
  }
}

function lineOf({ quantity, median, share, interval, isLeak }: Drift): string {
  const [low, high] = interval.map((end) => (100 * end).toFixed(1));
  return `${QUANTITIES[quantity]}: median ${median.toFixed(1)}, drift ${(100 * share).toFixed(1)} % (${low} to ${high})${
    isLeak ? ": GROWS" : ""
  }`;
}

/** The readings of each quantity, at most 360 each, so that the file stays small. */
function dataOf(parameters: object, drifts: readonly Drift[], all: readonly Reading[]) {
  const step = Math.ceil(all.length / 360);
  const readings = all.filter((_, nth) => nth % step === 0);
  const columns = ["seconds", "round", ...Object.keys(QUANTITIES)] as (keyof Reading)[];
  return {
    parameters,
    drifts,
    readings: Object.fromEntries(columns.map((name) => [name, readings.map((reading) => reading[name])])),
  };
}
