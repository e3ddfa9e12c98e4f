import { createHash } from "node:crypto";
import { DiarizationOffers } from "../../actors/fleet/diarization-offers.js";
import { FleetDirectory } from "../../actors/fleet/directory.js";
import { FleetCalls } from "../../actors/fleet/fleet-calls.js";
import { FleetFilePool } from "../../actors/fleet/fleet-file-pool.js";
import { FleetLanes } from "../../actors/fleet/fleet-lanes.js";
import type { Heartbeat } from "../../actors/fleet/heartbeats.js";
import { NodePlaces } from "../../actors/fleet/node-places.js";
import { RemoteSynthesizer } from "../../actors/fleet/remote-synthesizer.js";
import { heartbeatsOf } from "../../actors/fleet/subjects.js";
import type { LiveEngineOptions } from "../../actors/live/engine.js";
import { MODEL_WAIT_MS } from "../../actors/residency/resident-model.js";
import type { ServedPart } from "../../core/domain/served.js";
import { CountedWarning } from "../../core/observe/counted-warning.js";
import type { Log } from "../../core/observe/log.js";
import type { Metrics } from "../../core/observe/metrics.js";
import type { Bus } from "../../core/ports/bus.js";
import { systemClock } from "../../core/ports/clock.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import type {
  DiarizationManifest,
  ModelManifest,
  RecognizerManifest,
  SynthesizerManifest,
} from "../../native/models/manifest.js";
import { readNearVoice } from "../../native/models/near-voice-package.js";
import type { ModelPackage, PackageFolder } from "../../native/models/package.js";
import { openBus, peerName } from "../bus/open-bus.js";
import { ConfigError } from "../settings/config-error.js";
import type { Config } from "../settings/settings.js";
import type { Owned } from "./base.js";

interface BusParts {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** The engine processes that work for this gateway. */
export interface Fleet {
  /** Counts pieces of speech and tasks of files that wait for an engine process or run on one. */
  wanted(): { readonly synthesis: number; readonly transcription: number };
  /** Returns a model's live workers on the engine processes that serve it. */
  lanesOf(
    model: PackageFolder<RecognizerManifest>,
  ): Pick<LiveEngineOptions, "startWorker" | "loadOf" | "isExcused">;
  synthesizerOf(model: PackageFolder<SynthesizerManifest>): RemoteSynthesizer;
  filePoolOf(
    model: PackageFolder<RecognizerManifest>,
    diarization: ModelPackage<DiarizationManifest> | null,
  ): FleetFilePool;
  /** Returns a function that tells whether files may wait for an engine with this model for diarization. */
  offerOf(model: ModelPackage<DiarizationManifest>): () => boolean;
}

/** Connects to the bus. @throws {ConfigError} if no server accepts the connection */
export async function connectBus(
  { config, log, metrics }: BusParts,
  name: string,
  owned: Owned,
): Promise<Bus> {
  const { busServers, busTls } = config;
  const servers = busServers ?? [];
  const damaged = new CountedWarning(log, "damaged bus messages dropped");
  try {
    const bus = await openBus(
      { servers, name, tls: busTls },
      {
        disconnected: () => {
          metrics.fleet.busConnected.set(0);
          log.warn("bus lost");
        },
        reconnected: () => {
          metrics.fleet.busConnected.set(1);
          log.info("bus reconnected");
        },
        fault: (error) => log.error({ err: error }, "bus fault"),
        damaged: () => {
          metrics.fleet.busMessagesDamaged.inc();
          damaged.note();
        },
      },
    );
    metrics.fleet.busConnected.set(1);
    owned.add("bus", async () => {
      await bus.drain();
      damaged.close();
    });
    return bus;
  } catch (error) {
    // Addresses may contain a password, so report only the hosts.
    const hosts = servers.map((server) => new URL(server).host).join(", ");
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`BUS_URL must list servers that accept the connection: ${hosts}: ${reason}`);
  }
}

/** @throws {ConfigError} as `connectBus` */
export async function openFleet(parts: BusParts, owned: Owned): Promise<Fleet> {
  const { config, log, metrics } = parts;
  const { cell, zone, engineLostMs: lostMs, laneWindowBytes: windowBytes } = config;
  const front = peerName();
  const bus = await connectBus(parts, `gateway ${front}`, owned);
  const directoryOf = (kind: ServedPart, onHeartbeat: (heartbeat: Heartbeat) => void = () => {}) => {
    const directory = new FleetDirectory({
      bus,
      heartbeats: heartbeatsOf(kind),
      lostMs,
      clock: systemClock,
      log,
      onHeartbeat,
    });
    owned.add(`directory of ${kind}`, async () => directory.close());
    return directory;
  };
  const offers = new DiarizationOffers({ cell, keptMs: MODEL_WAIT_MS, clock: systemClock });
  const directories = {
    live: directoryOf("live"),
    synthesis: directoryOf("synthesis"),
    transcription: directoryOf("transcription", (heartbeat) => offers.hear(heartbeat)),
  };
  observeDirectories(metrics, directories);
  const calls = new FleetCalls({ bus, front, observer: metrics.fleet.calls });
  owned.add("calls", async () => calls.close());
  const wanted = { synthesis: 0, transcription: 0 };
  const placesOf = (kind: "synthesis" | "transcription", { manifest }: PackageFolder<ModelManifest>) =>
    new NodePlaces({
      ...{ calls, kind, cell, zone, model: manifest.id, manifest: manifestHash(manifest) },
      directory: directories[kind],
      waitMs: MODEL_WAIT_MS,
      onWork: (change) => {
        wanted[kind] += change;
      },
    });
  return {
    wanted: () => wanted,
    lanesOf: ({ manifest }) =>
      new FleetLanes({
        ...{ bus, directory: directories.live, front, cell, zone, windowBytes, lostMs },
        model: manifest.id,
        manifest: manifestHash(manifest),
        contextSamples: manifest.contextFrames * manifest.frameSamples,
        observer: metrics.fleet.lanes,
        log: log.child({ model: manifest.id }),
      }),
    synthesizerOf: (model) =>
      new RemoteSynthesizer({ places: placesOf("synthesis", model), clock: systemClock }),
    filePoolOf: (model, diarization) =>
      new FleetFilePool({
        places: placesOf("transcription", model),
        sampleRateHz: model.manifest.sampleRateHz,
        diarization: diarization && remoteDiarization(diarization),
      }),
    offerOf: ({ manifest }) => {
      const hash = manifestHash(manifest);
      return () => offers.isOffered(hash, directories.transcription.heartbeats);
    },
  };
}

function remoteDiarization({ manifest }: ModelPackage<DiarizationManifest>) {
  return { manifest: manifestHash(manifest), sampleRateHz: manifest.sampleRateHz };
}

/** Reports the capacity and load of the nodes that the directories list. */
function observeDirectories(
  metrics: Metrics,
  { live, synthesis, transcription }: Readonly<Record<ServedPart, FleetDirectory>>,
): void {
  const total = ({ heartbeats }: FleetDirectory, member: "capacity" | "used") =>
    heartbeats.reduce((sum, heartbeat) => sum + heartbeat[member], 0);
  metrics.fleet.readCallCapacity(() => ({
    synthesis: total(synthesis, "capacity"),
    transcription: total(transcription, "capacity"),
  }));
  metrics.fleet.readProcesses(() => ({
    capacity: total(live, "capacity"),
    used: total(live, "used"),
    oldestHeartbeatMs: live.oldestHeartbeatMs,
  }));
}

/** Hashes a manifest, which contains the hash of every file, and that of a separate voice activity model. */
export function manifestHash(manifest: ModelManifest): string {
  const hash = createHash("sha256").update(JSON.stringify(manifest));
  const isRecognizer = manifest.task === "transcription";
  if (isRecognizer && recognizerFamilyOf(manifest).voiceSource(manifest) === "near-voice")
    hash.update(JSON.stringify(readNearVoice().manifest));
  return hash.digest("base64url");
}
