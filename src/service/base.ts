import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../core/observe/log.js";
import { Metrics } from "../../core/observe/metrics.js";
import { openTraces } from "../../core/observe/traces.js";
import type { Tracer } from "../../core/ports/span.js";
import type { UsageMeter } from "../../core/ports/usage-meter.js";
import { SERVICE_VERSION } from "../../core/protocol/service-version.js";
import { loadBinding } from "../../native/beam/binding.js";
import { WORKER_ENTRIES, type WorkerEntries } from "../../native/start-workers.js";
import { FRONT_THREAD_ENTRY } from "../front/threads/threaded-front.js";
import { DiskSpace, SpoolBudget } from "../http/spool.js";
import type { Config } from "../settings/settings.js";
import { openStore, type Store } from "../store/store.js";

/** Parts that were started, to be stopped in reverse order. */
export class Owned {
  readonly #log: Log;
  readonly #children: { readonly name: string; stop(): Promise<void> }[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  add(name: string, stop: () => Promise<void>): void {
    this.#children.push({ name, stop });
  }

  /** Stops all parts. May be called twice; never rejects. */
  async stop(): Promise<void> {
    for (const { name, stop } of this.#children.splice(0).reverse()) {
      await stop().catch((error: unknown) => this.#log.error({ err: error, child: name }, "stop failed"));
    }
  }
}

/** Compiled entries of the threads that a service starts. */
export interface ThreadEntries extends WorkerEntries {
  readonly front: URL;
}

export const THREAD_ENTRIES: ThreadEntries = { ...WORKER_ENTRIES, front: FRONT_THREAD_ENTRY };

/** Services that the engines and the transport build on. */
export interface Base {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly meter: UsageMeter & { readonly serviceId: string };
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly disk: DiskSpace;
  readonly room: SpoolBudget;
  readonly spoolFolder: string;
  readonly isFirstStart: boolean;
}

/** Opens the store, the spool folder, metrics and traces. */
export async function openBase(config: Config, log: Log, owned: Owned): Promise<Base> {
  const spoolFolder = join(config.dataDir, "spool");
  const store = await openStore(config, log);
  owned.add("store", () => store.close());
  // Do this only after the store has locked the data folder: before, the files may belong to another service.
  const isFirstStart = await emptyFolder(spoolFolder);
  // Do this before the store unlocks the folder: otherwise interrupted uploads would stay until the next
  // start.
  owned.add("spool", async () => void (await emptyFolder(spoolFolder)));
  const meter = await store.startMeter(config.tariffs);
  const { tracer, close } = await openTraces({
    endpoint: config.otlpEndpoint,
    version: SERVICE_VERSION,
    instance: meter.serviceId,
    log,
  });
  owned.add("traces", close);
  const metrics = new Metrics({ withProcess: config.operatorPort > 0 });
  metrics.beamSearchNative.set(hasNativeSearch(log) ? 1 : 0);
  const { dataDir, diskFloorBytes } = config;
  const disk = new DiskSpace(dataDir, diskFloorBytes);
  const room = new SpoolBudget(config.spoolBytes, disk);
  if (!(await disk.hasRoomFor(0))) log.warn({ dataDir, diskFloorBytes }, "too little free disk space");
  metrics.observeSpool(() => room.takenBytes);
  return { config, log, store, meter, metrics, tracer, disk, room, spoolFolder, isFirstStart };
}

/** Logs whether the native beam search loads. Workers make the same decision. */
function hasNativeSearch(log: Log): boolean {
  const { missing } = loadBinding();
  if (missing === null) log.info({ search: "native" }, "beam search");
  else
    log.warn({ search: "typescript", reason: missing }, "beam search: no native addon, finals cost more CPU");
  return missing === null;
}

/** Deletes the content of a folder that an earlier run left; returns true if there was none. */
async function emptyFolder(path: string): Promise<boolean> {
  const isNew = !existsSync(path);
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
  return isNew;
}
