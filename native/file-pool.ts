import "./models/no-telemetry.js";
import type { Piscina } from "piscina";
import { asServiceError } from "../core/domain/errors.js";
import { ProviderError } from "../core/domain/placement/provider-error.js";
import { readPackage } from "./models/find-packages.js";
import type { DiarizationManifest, RecognizerManifest } from "./models/manifest.js";
import type { ModelPackage } from "./models/package.js";
import type { SharedPlacement } from "./models/placement.js";
import { usualRows, WORKER_ENTRIES, type WorkerSettings } from "./start-workers.js";
import { onCpu, type Placing } from "./threads/placing.js";
import type { FileAnswer, FileTask } from "./threads/protocol.js";
import { WARM_UP_CELL } from "./transcription/task-cell.js";

const TASK_QUEUE_CAPACITY = 10_000;

interface FilePoolSettings extends WorkerSettings {
  readonly workerCount: number;
  /** Model for speaker labels; null if none is installed. */
  readonly diarization?: ModelPackage<DiarizationManifest> | null;
}

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

/** A pool of threads that transcribe files, each one task at a time, on one or more devices. */
class WorkerFilePool {
  readonly workerCount: number;
  readonly #settings: FilePoolSettings;
  readonly #placing: Placing;
  #opening: Promise<readonly DevicePool[]>;
  /** Pools abandoned after their provider failed. */
  readonly #closing: Promise<unknown>[] = [];

  constructor(settings: FilePoolSettings) {
    this.workerCount = settings.workerCount;
    this.#settings = settings;
    this.#placing = settings.placing ?? onCpu();
    this.#opening = this.#open();
  }

  /** Frames in the largest run of the second pass on the current provider; 0 if pieces run alone. */
  get runFrames(): number {
    const { rowsOn = usualRows } = this.#settings;
    const { fileRows } = rowsOn(this.#placing.provider);
    return Math.max(0, ...fileRows.map(({ rows, frames }) => rows * frames));
  }

  /** Runs a task on the least loaded device. Rejects if its worker dies; a task's failure is a value. */
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
      // Only the first task that fails reopens the pools.
      if (this.#opening !== opened) continue;
      this.#closing.push(...pools.map((each) => closed(each).catch(() => {})));
      this.#opening = this.#open();
    }
  }

  /** Waits for running tasks, since a thread inside onnxruntime must not be killed. */
  async close(): Promise<void> {
    const pools = await this.#opening.catch(() => []);
    await Promise.all([...this.#closing, ...pools.map(closed)]);
  }

  /** Returns the least loaded device with a free worker, else the first. */
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

  #open(): Promise<readonly DevicePool[]> {
    const opening = this.#openPools();
    // Every task reports the failure.
    opening.catch(() => {});
    return opening;
  }

  async #openPools(): Promise<readonly DevicePool[]> {
    // Load it on demand: many processes never open a pool.
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
    const {
      intraOpThreads,
      runTimes,
      unpacked,
      diarization = null,
      entries = WORKER_ENTRIES,
      rowsOn = usualRows,
    } = this.#settings;
    const rows = rowsOn(placement.provider);
    const pool = new Pool({
      filename: entries.transcription.href,
      workerData: { model, intraOpThreads, placement, runTimes, rows, unpacked, diarization },
      minThreads: workerCount,
      maxThreads: workerCount,
      concurrentTasksPerWorker: 1,
      maxQueue: TASK_QUEUE_CAPACITY,
      // Long enough for all tasks in flight; they check their cells between two runs.
      closeTimeout: 600_000,
    });
    if (placement.provider !== "cpu") this.#watchThreads(pool);
    return pool;
  }

  /** Detects ended threads by their missing ids. */
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

/**
 * Closes a pool. Graphs off the CPU are released in tasks, because a thread's end would release them during
 * runs of other threads.
 */
async function closed({ placement, pool, workerCount }: DevicePool): Promise<void> {
  if (placement.provider !== "cpu") {
    const cell = new SharedArrayBuffer(WARM_UP_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const release = { type: "release", cell, workerCount } as const satisfies FileTask;
    await Promise.allSettled(Array.from({ length: workerCount }, () => pool.run(release)));
  }
  await pool.close();
}
