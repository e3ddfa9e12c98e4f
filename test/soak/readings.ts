import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type MetricValues, readMetrics } from "../../bench/support/operator-metrics.js";
import { residentBytesOf } from "../../bench/support/service-process.js";
import type { GarbageCollector } from "./garbage.js";

/** The quantities in which a leak would show, with their units. */
export const QUANTITIES = {
  residentMib: "resident memory, MiB",
  heapMib: "JavaScript heap, MiB",
  handles: "handles of the event loop",
  descriptors: "file descriptors",
  sockets: "sockets",
  databaseConnections: "database connections",
  loopDelayMs: "event loop delay, p99 since the last reading, ms",
  spooled: "spooled files",
  temporary: "temporary files and folders",
} as const;

export type Quantity = keyof typeof QUANTITIES;

/** The state of a service at one moment. */
export type Reading = Readonly<Record<Quantity, number>> & {
  /** Seconds since the first reading. */
  readonly seconds: number;
  /** Minutes of the simulated day that have passed. */
  readonly round: number;
};

/** A service as seen from outside: its process, its data folder and its operator port. */
export interface Observed {
  readonly pid: number;
  readonly dataDir: string;
  /** The service's `TMPDIR`. */
  readonly temporaryDir: string;
  readonly operatorPort: number;
  readonly collector: GarbageCollector;
}

/** Collects garbage, then reads `/proc` (Linux), the folders, and `/metrics`. */
export async function read(observed: Observed): Promise<Readonly<Record<Quantity, number>>> {
  const loopDelayMs = await loopDelayOf(observed.operatorPort);
  await observed.collector.collect();
  const metrics = await readMetrics(observed.operatorPort);
  const descriptors = descriptorsOf(observed.pid);
  return {
    residentMib: residentBytesOf(observed.pid) / 2 ** 20,
    heapMib: metricOf(metrics, "nodejs_heap_size_used_bytes") / 2 ** 20,
    handles: metricOf(metrics, "nodejs_active_handles_total"),
    descriptors: descriptors.length,
    sockets: descriptors.filter((target) => target.startsWith("socket:")).length,
    databaseConnections: databaseConnectionsIn(observed.dataDir),
    loopDelayMs,
    spooled: entriesIn(join(observed.dataDir, "spool")),
    temporary: entriesIn(observed.temporaryDir),
  };
}

/**
 * Returns the delay of the event loop. It is read before the collection, which stops the loop; each read
 * starts a new interval.
 */
async function loopDelayOf(operatorPort: number): Promise<number> {
  return metricOf(await readMetrics(operatorPort), 'event_loop_delay_ms{quantile="0.99"}');
}

function metricOf(metrics: MetricValues, name: string): number {
  const value = metrics.get(name);
  if (value === undefined) throw new Error(`no metric ${name}`);
  return value;
}

/** The targets of the open descriptors. */
function descriptorsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch {
      // The descriptor was closed after the folder was read.
      return [];
    }
  });
}

/** The number of processes of the private database that serve a connection; 0 without a private database. */
function databaseConnectionsIn(dataDir: string): number {
  const file = join(dataDir, "postgres/postmaster.pid");
  if (!existsSync(file)) return 0;
  const server = Number(readFileSync(file, "utf8").split("\n")[0]);
  const children = readFileSync(`/proc/${server}/task/${server}/children`, "utf8").trim().split(" ");
  return children.filter((pid) => {
    try {
      return /127\.0\.0\.1|\[local\]/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      // The process ended after the list was read.
      return false;
    }
  }).length;
}

function entriesIn(folder: string): number {
  return existsSync(folder) ? readdirSync(folder).length : 0;
}
