import { readFileSync } from "node:fs";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type CapacityInputs, type CapacityRow, plan, wallsOf } from "../support/capacity-model.js";

const RESULTS = new URL("../../../bench/results/", import.meta.url);
const SIZES = [10_000, 100_000, 1_000_000];

/**
 * Inputs without a saved result: measured once with a prototype on 2 cores of an Intel Xeon at 2.5 GHz
 * (nats-server 2.9.10, nats.js 3.4.0), or chosen.
 */
const MEASURED_ONCE = { busMicrosPerFrame: 7.1 } as const;
const CHOSEN = {
  bytesPerSecond: 32_000,
  framesPerSecond: 25,
  busRouteFactor: 1.7,
  busServers: 3,
  busServerCores: 8,
  networkGbits: 25,
  cellSessions: 20_000,
  sessionSeconds: 180,
  holdSeconds: 60,
  journalCores: 1,
  synthesisStreamsPerSession: 0.1,
} as const;

/** Numbers of organizations measured by `ledger`: many, and one. */
const LEDGER_ORGANIZATIONS = 200;

/** Returns the inputs from saved results, and those above. */
function savedInputs(): CapacityInputs {
  const live = saved("live");
  const sockets = saved("sockets");
  const synthesis = saved("synthesis");
  const ledger = saved("ledger");
  const [largest] = synthesis.rounds.filter(({ nfe }: { nfe: number }) => nfe === 16).toReversed();
  return {
    ...MEASURED_ONCE,
    ...CHOSEN,
    ledgerPerSecond: changesPerSecond(ledger, LEDGER_ORGANIZATIONS),
    ledgerPerSecondOfOne: changesPerSecond(ledger, 1),
    journalMicrosPerHold: journalMicros(ledger),
    sessionsPerWorker: live.highestSessionsWithin.sessions,
    sessionsPerFront: sockets.figures.find(({ front }: { front: string }) => front === "uws").paced.sockets,
    synthesisRealTimeFactor: largest.sharedRealTimeFactor,
  };
}

/** Returns the changes of holds per second in a session's mix, made by two services at the same time. */
// biome-ignore lint/suspicious/noExplicitAny: as `saved`
function changesPerSecond(ledger: any, organizations: number): number {
  const extensions = CHOSEN.sessionSeconds / CHOSEN.holdSeconds;
  const times = { open: 1, post: 1, extend: extensions };
  const secondsOf = ([stage, count]: [string, number]) => {
    const figure = ledger.changes.find(
      // biome-ignore lint/suspicious/noExplicitAny: as `saved`
      (each: any) =>
        each.stage === stage &&
        each.way === "together" &&
        each.services === 2 &&
        each.organizations === organizations,
    );
    return count / figure.perSecond;
  };
  const seconds = Object.entries(times).map(secondsOf);
  return (2 + extensions) / seconds.reduce((sum, each) => sum + each, 0);
}

/** Returns PostgreSQL's CPU time for a second's journal, by hold. */
// biome-ignore lint/suspicious/noExplicitAny: as `saved`
function journalMicros({ journal }: any): number {
  const { serverMs } = journal.figures.find(({ way }: { way: string }) => way === "inOneValue");
  return (serverMs * 1_000) / journal.holds;
}

/** Returns the capacity table shown in docs/deployment.md. */
export function capacityTable(inputs = savedInputs()): string {
  return table(
    SIZES.map((sessions) => plan(sessions, inputs)),
    inputs,
  );
}

/** Prints the table; without `--smoke` it saves the table's values and inputs. */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const inputs = savedInputs();
  const rows = SIZES.map((sessions) => plan(sessions, inputs));
  console.log(capacityTable(inputs));
  if (!smoke) console.log(await saveResult("capacity", { inputs, walls: wallsOf(inputs), rows }));
}

function table(rows: readonly CapacityRow[], inputs: CapacityInputs): string {
  const since = (row: CapacityRow, index: number) => {
    const before = rows[index - 1]?.sessions ?? 0;
    return { ...row, walls: row.walls.filter(({ sessions }) => sessions > before) };
  };
  const cell = { ...plan(inputs.cellSessions, inputs), walls: [] };
  const columns = [...rows.map(since), cell];
  const line = (name: string, of: (row: CapacityRow) => string) =>
    `| ${[name, ...columns.map(of)].join(" | ")} |`;
  const heads = [...rows.map(({ sessions }) => `${whole(sessions)} sessions`), "per cell"];
  return [
    `| | ${heads.join(" | ")} |`,
    `|---|${"---:|".repeat(columns.length)}`,
    line("cells", ({ cells }) => whole(cells)),
    line("fronts", ({ fronts }) => whole(fronts)),
    line("cores of live workers", ({ engineCores }) => whole(engineCores)),
    line("audio in, and the same out", ({ audioGbits }) => `${short(audioGbits)} Gbit/s`),
    line("cores of bus servers, with routes", ({ busCores }) => short(busCores * inputs.busRouteFactor)),
    line("concurrent speech streams", ({ synthesisStreams }) => whole(synthesisStreams)),
    line("cores of synthesis workers", ({ synthesisCores }) => whole(synthesisCores)),
    line("ledger statements per second", ({ ledgerPerSecond }) => whole(ledgerPerSecond)),
    line("first bottleneck since the previous size", ({ walls }) => named(walls.slice(0, 1))),
    line("next bottlenecks", ({ walls }) => named(walls.slice(1))),
  ].join("\n");
}

function named(walls: CapacityRow["walls"]): string {
  return walls.map(({ name, sessions }) => `${name}, at ${whole(sessions)}`).join("; ") || "–";
}

function whole(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function short(value: number): string {
  return value < 10 ? value.toFixed(1) : whole(value);
}

// biome-ignore lint/suspicious/noExplicitAny: results differ in shape, and a missing field is obvious
function saved(name: string): any {
  return JSON.parse(readFileSync(new URL(`${name}.json`, RESULTS), "utf8"));
}
