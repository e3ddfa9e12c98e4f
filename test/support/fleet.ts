import { FleetDirectory } from "../../actors/fleet/directory.js";
import { FleetLanes, type FleetLanesParts } from "../../actors/fleet/fleet-lanes.js";
import type { LaneEnding, LaneMove } from "../../actors/fleet/remote-live-worker.js";
import type { LiveEngine, LiveEngineOptions } from "../../actors/live/engine.js";
import { LiveHost, type LiveHostOptions } from "../../actors/node/live-host.js";
import type { Bus } from "../../core/ports/bus.js";
import { systemClock } from "../../core/ports/clock.js";
import { readManifest } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { startLiveWorker } from "../../native/start-workers.js";
import { peerName } from "../../src/bus/open-bus.js";
import { liveEngine, RECOGNIZER } from "./engines.js";
import { RECOGNIZER_FOLDER } from "./folders.js";
import { SILENT } from "./silent-log.js";

const OF_FLEET = { cell: "test", zone: "here", model: "svc-kk-ru-v2", manifest: "hash" };
const LANE_WINDOW_BYTES = 1_048_576;
/** A limit for threads that share two cores with many others. */
const PATIENT_MS = 20_000;

/**
 * Returns an engine node in this process that is not started. It has one real worker unless `changes` say
 * otherwise.
 */
export async function liveHost(bus: Bus, changes: Partial<LiveHostOptions> = {}): Promise<LiveHost> {
  const manifest = (await readManifest(RECOGNIZER_FOLDER)) as RecognizerManifest;
  return new LiveHost({
    ...OF_FLEET,
    bus,
    node: peerName(),
    workerCount: 1,
    sessionsPerWorker: 150,
    startWorker: (cells, onMessage) => startLiveWorker(RECOGNIZER, cells, onMessage),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    clock: systemClock,
    log: SILENT,
    ...changes,
  });
}

/** Returns the gateway side, not started: a live engine whose workers are nodes on the bus. */
export async function remoteLiveEngine(
  bus: Bus,
  {
    lostMs = PATIENT_MS,
    protocol,
    cell = OF_FLEET.cell,
    ...changes
  }: Partial<LiveEngineOptions> & Partial<Pick<FleetLanesParts, "lostMs" | "protocol" | "cell">> = {},
) {
  const manifest = (await readManifest(RECOGNIZER_FOLDER)) as RecognizerManifest;
  const directory = new FleetDirectory({ bus, lostMs, clock: systemClock, log: SILENT });
  const endings: LaneEnding[] = [];
  const moves: LaneMove[] = [];
  let inFlightBytes = 0;
  const lanes = new FleetLanes({
    ...OF_FLEET,
    ...{ bus, directory, lostMs, cell, log: SILENT },
    front: peerName(),
    contextSamples: manifest.contextFrames * manifest.frameSamples,
    windowBytes: LANE_WINDOW_BYTES,
    ...(protocol !== undefined && { protocol }),
    observer: {
      replayed: (ending) => void endings.push(ending),
      moved: (reason) => void moves.push(reason),
      inFlight: (change) => {
        inFlightBytes += change;
      },
    },
  });
  const { startWorker, loadOf, isExcused } = lanes;
  const engine: LiveEngine = await liveEngine({ startWorker, loadOf, isExcused, ...changes });
  return {
    engine,
    directory,
    /** The reasons why lanes were lost, in order. */
    endings: endings as readonly LaneEnding[],
    /** The reasons why lanes moved to other nodes, in order. */
    moves: moves as readonly LaneMove[],
    inFlightBytes: () => inFlightBytes,
    stop: async () => {
      await engine.stop();
      directory.close();
    },
  };
}
