import { createHash } from "node:crypto";
import { FleetDirectory } from "../../actors/fleet/directory.js";
import { FleetLanes } from "../../actors/fleet/fleet-lanes.js";
import type { LiveEngineOptions } from "../../actors/live/engine.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import { openBus, peerName } from "../bus/open-bus.js";
import type { Log } from "../observe/log.js";
import type { Metrics } from "../observe/metrics.js";
import type { Bus } from "../ports/bus.js";
import { systemClock } from "../ports/clock.js";
import { ConfigError } from "../settings/config-error.js";
import type { Config } from "../settings/settings.js";
import type { Owned } from "./owned.js";

interface BusParts {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The engine processes that work for this gateway. */
export interface Fleet {
  /** Live workers of a model, on engine processes that serve it. */
  lanesOf(
    model: PackageFolder<RecognizerManifest>,
  ): Pick<LiveEngineOptions, "startWorker" | "loadOf" | "isExcused">;
}

/** @throws {ConfigError} when no server takes the connection */
export async function connectBus(
  { config, log, metrics }: BusParts,
  name: string,
  owned: Owned,
): Promise<Bus> {
  const { busServers, busTls } = config;
  const servers = busServers ?? [];
  try {
    const bus = await openBus(
      { servers, name, tls: busTls },
      {
        disconnected: () => {
          metrics.busConnected.set(0);
          log.warn("bus lost");
        },
        reconnected: () => {
          metrics.busConnected.set(1);
          log.info("bus found again");
        },
        fault: (error) => log.error({ err: error }, "bus fault"),
      },
    );
    metrics.busConnected.set(1);
    owned.add("bus", () => bus.drain());
    return bus;
  } catch (error) {
    // Addresses may hold a password.
    const hosts = servers.map((server) => new URL(server).host).join(", ");
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`BUS_URL must name servers that take the connection: ${hosts}: ${reason}`);
  }
}

/** @throws {ConfigError} as `connectBus` */
export async function openFleet(parts: BusParts, owned: Owned): Promise<Fleet> {
  const { config, log, metrics } = parts;
  const { cell, zone, engineLostMs: lostMs, laneWindowBytes: windowBytes } = config;
  const front = peerName();
  const bus = await connectBus(parts, `gateway ${front}`, owned);
  const directory = new FleetDirectory({ bus, lostMs, clock: systemClock, log });
  owned.add("directory", async () => directory.close());
  metrics.observeFleet(() => ({
    capacity: directory.beats.reduce((sum, beat) => sum + beat.capacity, 0),
    used: directory.beats.reduce((sum, beat) => sum + beat.used, 0),
    oldestBeatMs: directory.oldestBeatMs,
  }));
  return {
    lanesOf: ({ manifest }) => {
      const lanes = new FleetLanes({
        ...{ bus, directory, front, cell, zone, windowBytes, lostMs },
        model: manifest.id,
        manifest: manifestHash(manifest),
        contextSamples: manifest.contextFrames * manifest.frameSamples,
        observer: metrics.observeLanes,
        log: log.child({ model: manifest.id }),
      });
      return lanes;
    },
  };
}

/** A manifest names every file of the weights by its hash. */
export function manifestHash(manifest: RecognizerManifest): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("base64url");
}
