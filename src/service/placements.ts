import { deviceName, type Place, type Provider, takesDevice } from "../../core/domain/placement/provider.js";
import { PROVIDER_ERROR_KINDS } from "../../core/domain/placement/provider-error.js";
import type { Log } from "../../core/observe/log.js";
import type { Metrics } from "../../core/observe/metrics.js";
import { DeviceCells } from "../../native/models/device-cells.js";
import { graphFile, type PackageFolder } from "../../native/models/package.js";
import { graphsOf, RUN_MS_BUCKETS, RunTimes } from "../../native/models/run-times.js";
import { Placing, placesOf } from "../../native/threads/placing.js";
import { probeProviders } from "../../native/threads/probe-providers.js";
import { ConfigError } from "../settings/config-error.js";
import type { Config } from "../settings/settings.js";
import { ENGINE_KINDS, type EngineKind } from "./worker-plan.js";

/** Where an engine's graphs run, for operators. */
export interface EnginePlacement {
  readonly provider: Provider;
  /** Names of the devices that the workers use. */
  readonly devices: readonly string[];
  /** Why the first provider in the list is not used; null if it is. */
  readonly fallback: { readonly from: Provider; readonly reason: string } | null;
}

type ProviderLists = Readonly<Record<EngineKind, readonly Provider[]>>;

/** One engine of one model, and its places. */
interface Placed {
  readonly placing: Placing;
  fallback: EnginePlacement["fallback"];
  /** Places on which workers have started, all with the same provider. */
  shown: Place[];
}

/** Chooses where every engine's graphs run, and reports that to operators. */
export class Placements {
  /** Settles if an engine has lost the last provider in its list, so that only a new process can continue. */
  readonly lost: Promise<Error>;
  readonly #lists: ProviderLists;
  readonly #missing: ReadonlyMap<Provider, string>;
  readonly #devices: readonly number[];
  readonly #cells = DeviceCells.create();
  readonly #metrics: Metrics;
  readonly #log: Log;
  /** Placements by engine and model. */
  readonly #placings = new Map<string, Placed>();
  readonly #runTimes = new Map<string, RunTimes>();
  #setLost: (error: Error) => void = () => {};

  /** @param missing result of `missingProviders` */
  constructor(
    config: Config,
    missing: ReadonlyMap<Provider, string>,
    { metrics, log }: { readonly metrics: Metrics; readonly log: Log },
  ) {
    this.#lists = providerLists(config);
    this.#missing = missing;
    this.#devices = config.deviceIds;
    this.#metrics = metrics;
    this.#log = log;
    this.lost = new Promise((resolve) => {
      this.#setLost = resolve;
    });
    for (const [provider, reason] of missing) log.warn({ provider, reason }, "provider unusable");
    for (const kind of ENGINE_KINDS) {
      const [from] = this.#lists[kind];
      const [to] = this.#usable(kind);
      if (from !== to) metrics.providerFallbacks.inc({ engine: kind, from: from!, to: to! });
    }
    const shared = new DeviceCells(this.#cells);
    metrics.observeDeviceErrors(PROVIDER_ERROR_KINDS, (kind) => shared.errorCount(kind));
  }

  /** Returns the number of devices that an engine's workers use; null on the CPU. */
  deviceCount(kind: EngineKind): number | null {
    const [provider = "cpu"] = this.#usable(kind);
    if (provider === "cpu") return null;
    return takesDevice(provider) ? this.#devices.length : 1;
  }

  /** Returns the placement of a model's engine. A lost provider is not tried again in this process. */
  of(kind: EngineKind, model: PackageFolder): Placing {
    const key = keyOf(kind, model.manifest.id);
    const placed = this.#placings.get(key) ?? this.#place(kind, model);
    this.#placings.set(key, placed);
    return placed.placing;
  }

  /** Returns where an engine's graphs run, or will run when loaded. */
  status(kind: EngineKind, modelId: string): EnginePlacement {
    const placed = this.#placings.get(keyOf(kind, modelId));
    const places = placed?.placing.places ?? placesOf(this.#usable(kind)[0]!, this.#devices);
    const fallback = placed === undefined ? this.#fallbackAtStart(kind) : placed.fallback;
    return { provider: places[0]!.provider, devices: places.map(deviceName), fallback };
  }

  /** Returns the shared cells in which a model's workers count the runs of its graphs. */
  runTimesOf(model: PackageFolder): SharedArrayBuffer {
    const { id } = model.manifest;
    let times = this.#runTimes.get(id);
    if (times === undefined) {
      times = new RunTimes(model);
      this.#runTimes.set(id, times);
      const read = times;
      this.#metrics.observeRuns(RUN_MS_BUCKETS, () =>
        read.read().map(({ graph, ...rest }) => ({ graph: `${id}/${graph}`, ...rest })),
      );
    }
    return times.cells;
  }

  #usable(kind: EngineKind): readonly Provider[] {
    return this.#lists[kind].filter((provider) => !this.#missing.has(provider));
  }

  #fallbackAtStart(kind: EngineKind): EnginePlacement["fallback"] {
    const [from] = this.#lists[kind];
    const reason = this.#missing.get(from!);
    return reason === undefined ? null : { from: from!, reason };
  }

  #place(engine: EngineKind, model: PackageFolder): Placed {
    const { id } = model.manifest;
    const placing = new Placing({
      providers: this.#usable(engine),
      devices: this.#devices,
      cells: this.#cells,
      observer: {
        placed: (place) => this.#show(engine, model, placed, place),
        fellBack: (from, to, reason) => {
          this.#metrics.providerFallbacks.inc({ engine, from, to });
          this.#log.warn({ engine, model: id, from, to, reason }, "engine moves to another provider");
          placed.fallback = { from, reason };
        },
        exhausted: (error) => {
          this.#log.fatal({ engine, model: id, err: error }, "engine has lost its last provider");
          this.#setLost(error);
        },
      },
    });
    const placed: Placed = { placing, fallback: this.#fallbackAtStart(engine), shown: [] };
    return placed;
  }

  /** Updates the metrics when a worker has started on a place, and drops places that the engine has left. */
  #show(engine: EngineKind, model: PackageFolder, placed: Placed, place: Place): void {
    const { provider } = place;
    const { id } = model.manifest;
    const isSame = (other: Place) => other.provider === provider && other.device === place.device;
    if (placed.shown.some(isSame)) return;
    const labelsOf = (graph: string, { provider, device }: Place) => ({
      ...{ engine, graph: `${id}/${graph}`, provider, device: deviceName({ provider, device }) },
      variant: graphFile(model, graph, { provider }).variant,
    });
    const left = placed.shown.filter((other) => other.provider !== provider);
    for (const graph of graphsOf(model)) {
      for (const other of left) this.#metrics.modelProviderInfo.remove(labelsOf(graph, other));
      this.#metrics.modelProviderInfo.set(labelsOf(graph, place), 1);
    }
    placed.shown = [...placed.shown.filter((other) => !left.includes(other)), place];
    this.#log.info({ engine, model: id, provider, device: deviceName(place) }, "engine placed");
  }
}

function keyOf(kind: EngineKind, modelId: string): string {
  return `${kind} ${modelId}`;
}

function providerLists(config: Config): ProviderLists {
  const { executionProviders: all } = config;
  return {
    live: config.liveExecutionProviders ?? all,
    synthesis: config.synthesisExecutionProviders ?? all,
    transcription: config.fileExecutionProviders ?? all,
  };
}

const SETTING_OF = {
  live: "LIVE_EXECUTION_PROVIDERS",
  synthesis: "SYNTHESIS_EXECUTION_PROVIDERS",
  transcription: "FILE_EXECUTION_PROVIDERS",
} as const satisfies Record<EngineKind, string>;

/**
 * Tries every requested provider except the CPU, on every device.
 * @returns the providers that do not work here, and why
 * @throws {ConfigError} if no provider in an engine's list works
 */
export async function missingProviders(config: Config): Promise<ReadonlyMap<Provider, string>> {
  const lists = providerLists(config);
  const asked = new Set(ENGINE_KINDS.flatMap((kind) => lists[kind]));
  asked.delete("cpu");
  if (asked.size === 0) return new Map();
  const missing = await probeProviders([...asked], config.deviceIds, DeviceCells.create());
  for (const kind of ENGINE_KINDS) requireOne(config, lists[kind], { setting: SETTING_OF[kind], missing });
  return missing;
}

function requireOne(
  config: Config,
  list: readonly Provider[],
  { setting, missing }: { readonly setting: string; readonly missing: ReadonlyMap<Provider, string> },
): void {
  if (list.some((provider) => !missing.has(provider))) return;
  const name = list === config.executionProviders ? "EXECUTION_PROVIDERS" : setting;
  const reasons = list.map((provider) => `${provider}: ${missing.get(provider)}`).join("; ");
  throw new ConfigError(
    `${name} must contain a provider that works here, received "${list.join(",")}" (${reasons})`,
  );
}
