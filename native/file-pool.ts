import "./models/no-telemetry.js";
import type { Piscina } from "piscina";
import { asServiceError } from "../core/domain/errors.js";
import { ProviderError } from "../core/domain/placement/provider-error.js";
import { readPackage } from "./models/find-packages.js";
import type { RecognizerManifest } from "./models/manifest.js";
import type { ModelPackage } from "./models/package.js";
import type { SharedPlacement } from "./models/placement.js";
import { usualRows, WORKER_ENTRIES, type WorkerSettings } from "./start-workers.js";
import { onCpu, type Placing } from "./threads/placing.js";
import type { FileAnswer, FileTask } from "./threads/protocol.js";
import { WARM_UP_CELL } from "./transcription/task-cell.js";

const TASK_QUEUE_CAPACITY = 10_000;

interface FilePoolSettings extends WorkerSettings {
  readonly workerCount: number;
}

/** The workers of one device. */
interface DevicePool {
  readonly placement: SharedPlacement;
  readonly pool: Piscina;
  readonly workerCount: number;
  atWork: number;
  hasServed: boolean;
}

export function startFilePool(settings: FilePoolSettings): WorkerFilePool {
  return new WorkerFilePool(settings);
}

/** The pool that transcribes files: threads that take one task at a time, on one device or several. */
class WorkerFilePool {
  readonly workerCount: number;
  readonly #settings: FilePoolSettings;
  readonly #placing: Placing;
  #opening: Promise<readonly DevicePool[]>;
  /** Pools that were left since their provider failed. */
  readonly #closing: Promise<unknown>[] = [];

  constructor(settings: FilePoolSettings) {
    this.workerCount = settings.workerCount;
    this.#settings = settings;
    this.#placing = settings.placing ?? onCpu();
    this.#opening = this.#open();
  }

  /** Frames of speech that fill the largest run of the second pass, on the provider of now; 0 where pieces run alone. */
  get runFrames(): number {
    const { rowsOn = usualRows } = this.#settings;
    const { fileRows } = rowsOn(this.#placing.provider);
    return Math.max(0, ...fileRows.map(({ rows, frames }) => rows * frames));
  }

  /** Runs a task on the device with the least load. Rejects when its worker dies; failures of the task are values. */
  async run(task: FileTask): Promise<unknown> {
    for (;;) {
      const opened = this.#opening;
      let pools: readonly DevicePool[];
      try {
        pools = await opened;
      } catch (error) {
        const { code, message } = asServiceError(error);
        return { ok: false, code, message } satisfies FileAnswer<unknown>;
      }
      const pool = this.#freest(pools);
      const answer = await runOn(pool, task);
      if (answer.ok) this.#noteServed(pool);
      if (answer.ok || answer.provider === undefined) return answer;
      const { provider, kind } = answer.provider;
      const error = new ProviderError(provider, kind, answer.message);
      if (!this.#placing.failed(error, task.type === "warm-up" ? "at load" : "later")) return answer;
      // The first whose task fails opens the pools that all others go to.
      if (this.#opening === opened) this.#reopen(pools);
    }
  }

  /** Waits for running tasks: a thread inside onnxruntime must not be killed. */
  async close(): Promise<void> {
    const pools = await this.#opening.catch(() => []);
    await Promise.all([...this.#closing, ...pools.map(closed)]);
  }

  /** The device with the least load of those that have a worker free; else the task waits at the first. */
  #freest(pools: readonly DevicePool[]): DevicePool {
    const loads = pools.map(({ workerCount, atWork }, index) =>
      atWork < workerCount ? this.#placing.loadOf(index, atWork) : Number.POSITIVE_INFINITY,
    );
    return pools[loads.indexOf(Math.min(...loads))]!;
  }

  #noteServed(pool: DevicePool): void {
    if (pool.hasServed) return;
    pool.hasServed = true;
    this.#placing.served(pool.placement);
  }

  #reopen(pools: readonly DevicePool[]): void {
    this.#closing.push(...pools.map((pool) => closed(pool).catch(() => {})));
    this.#opening = this.#open();
  }

  #open(): Promise<readonly DevicePool[]> {
    const opening = this.#openPools();
    // Told with every task.
    opening.catch(() => {});
    return opening;
  }

  async #openPools(): Promise<readonly DevicePool[]> {
    // With the first pool: many a process that could open one never does.
    const { Piscina: Pool } = await import("piscina");
    const model = await readPackage<RecognizerManifest>(this.#settings.modelFolder, "transcription");
    const deviceCount = Math.min(this.#placing.places.length, this.workerCount);
    return Array.from({ length: deviceCount }, (_, index) => {
      const placement = this.#placing.placementOf(index);
      const workerCount = Math.ceil((this.workerCount - index) / deviceCount);
      const pool = this.#poolOn(Pool, placement, model, workerCount);
      return { placement, pool, workerCount, atWork: 0, hasServed: false };
    });
  }

  #poolOn(
    Pool: typeof Piscina,
    placement: SharedPlacement,
    model: ModelPackage<RecognizerManifest>,
    workerCount: number,
  ): Piscina {
    const { intraOpThreads, runTimes, unpacked, entries = WORKER_ENTRIES } = this.#settings;
    const { rowsOn = usualRows } = this.#settings;
    const rows = rowsOn(placement.provider);
    const pool = new Pool({
      filename: entries.transcription.href,
      workerData: { model, intraOpThreads, placement, runTimes, rows, unpacked },
      minThreads: workerCount,
      maxThreads: workerCount,
      concurrentTasksPerWorker: 1,
      maxQueue: TASK_QUEUE_CAPACITY,
      // Closing waits for the tasks in flight as long as they take; they see the cancel cell between two pieces.
      closeTimeout: 600_000,
    });
    if (placement.provider !== "cpu") this.#watchThreads(pool);
    return pool;
  }

  /** A thread that has ended has no id any more: those that are missing have ended. */
  #watchThreads(pool: Piscina): void {
    let known = idsOf(pool);
    pool.on("workerCreate", () => {
      known = new Set([...known, ...idsOf(pool)]);
    });
    pool.on("workerDestroy", () => {
      const living = idsOf(pool);
      for (const thread of known) if (!living.has(thread)) this.#placing.threadEnded(thread);
      known = living;
    });
  }
}

function idsOf({ threads }: Piscina): Set<number> {
  return new Set(threads.map(({ threadId }) => threadId));
}

async function runOn(pool: DevicePool, task: FileTask): Promise<FileAnswer<unknown>> {
  pool.atWork++;
  try {
    return (await pool.pool.run(task)) as FileAnswer<unknown>;
  } finally {
    pool.atWork--;
  }
}

/** Graphs that are not on the CPU are released by their threads: the end of a thread would do it beside runs of others. */
async function closed({ placement, pool, workerCount }: DevicePool): Promise<void> {
  if (placement.provider !== "cpu") {
    const cell = new SharedArrayBuffer(WARM_UP_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const release = { type: "release", cell, workerCount } as const satisfies FileTask;
    await Promise.allSettled(Array.from({ length: workerCount }, () => pool.run(release)));
  }
  await pool.close();
}
