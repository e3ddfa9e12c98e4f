import { Agent, get } from "node:http";
import { pace } from "../../support/pace.js";
import { runInThread, type ThreadControl } from "./in-thread.js";

/** Response times of `/health` during an attack, in milliseconds. */
export interface HealthReport {
  readonly count: number;
  /** Number of responses other than 200, and of failed connections. */
  readonly failures: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface ProbeArgs {
  readonly port: number;
  readonly paceMs: number;
  /** Whether each request uses a new connection, so that the wait in the accept queue counts too. */
  readonly isFresh: boolean;
}

const EVERY_MS = 10;

/** Requests `/health` repeatedly from a separate thread until it is stopped. */
export class HealthProbe {
  readonly #run;

  constructor(port: number, { paceMs = EVERY_MS, isFresh = false } = {}) {
    const args: ProbeArgs = { port, paceMs, isFresh };
    this.#run = runInThread<ProbeArgs, HealthReport>(import.meta.url, "probe", args);
  }

  stop(): Promise<HealthReport> {
    return this.#run.stop();
  }
}

/**
 * Runs on its thread, which looks it up by name (@public). A slow request also stands for all requests that
 * would have been sent in the meantime.
 */
export async function probe(
  { port, paceMs, isFresh }: ProbeArgs,
  control: ThreadControl,
): Promise<HealthReport> {
  const agent = isFresh ? false : new Agent({ keepAlive: true, maxSockets: 1 });
  const timesMs: number[] = [];
  let failures = 0;
  while (!control.isStopped) {
    const startedAtMs = performance.now();
    const isWell = await new Promise<boolean>((resolve) => {
      get({ host: "127.0.0.1", port, path: "/health", agent }, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode === 200));
        answer.once("error", () => resolve(false));
      }).once("error", () => resolve(false));
    });
    const tookMs = performance.now() - startedAtMs;
    // This corrects for coordinated omission: at a constant pace, later requests would have waited for the
    // rest of the time.
    for (let leftMs = tookMs; leftMs > 0; leftMs -= paceMs) timesMs.push(leftMs);
    if (!isWell) failures++;
    await pace(Math.max(0, paceMs - tookMs));
  }
  timesMs.sort((a, b) => a - b);
  const at = (share: number) =>
    timesMs[Math.min(timesMs.length - 1, Math.floor(share * timesMs.length))] ?? 0;
  return { count: timesMs.length, failures, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: timesMs.at(-1) ?? 0 };
}
