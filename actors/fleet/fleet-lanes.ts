import type { Log } from "../../src/observe/log.js";
import type { Bus } from "../../src/ports/bus.js";
import type { LiveEngineOptions } from "../live/engine.js";
import type { FleetDirectory } from "./directory.js";
import { LANE_VERSION } from "./lane-records.js";
import { LaneLost, type LaneObserver, RemoteLiveWorker } from "./remote-live-worker.js";

export interface FleetLanesParts {
  readonly bus: Bus;
  readonly directory: FleetDirectory;
  /** Random, of this run of the process. */
  readonly front: string;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  /** Hash of the model's manifest. */
  readonly manifest: string;
  readonly contextSamples: number;
  readonly windowBytes: number;
  /** A node that says nothing for so long is lost. */
  readonly lostMs: number;
  readonly observer: LaneObserver;
  readonly log: Log;
  /** From 0 to 1, exclusive. */
  readonly random?: () => number;
}

/** Lanes of all models of this process; a name is never used again. */
let laneCount = 0;
/** A lane without a worker takes sessions only when all are: they wait there. */
const WITHOUT_WORKER = 1_000_000;

/** Puts the lanes of a live engine on nodes of the fleet. */
export class FleetLanes {
  readonly #parts: FleetLanesParts;
  readonly #workers = new Map<number, RemoteLiveWorker>();

  constructor(parts: FleetLanesParts) {
    this.#parts = parts;
  }

  /** Waits for a node that takes the lane, as long as it takes. @throws the signal's reason when it is aborted */
  readonly startWorker: LiveEngineOptions["startWorker"] = async (cells, onMessage, lane, stopping) => {
    const { directory, front, random = Math.random, lostMs, log } = this.#parts;
    const { bus, observer, contextSamples, windowBytes, model, manifest, cell, zone } = this.#parts;
    const wanted = { cell, zone, model, manifest, protocol: LANE_VERSION };
    for (;;) {
      let worker: RemoteLiveWorker | null = null;
      const watcher = {
        silent: () => worker?.lose("silent"),
        draining: () => {
          // Where else should its sessions go? The node serves them to the end of its patience.
          if (directory.place(wanted, random) !== null) worker?.lose("draining");
        },
      };
      const { node, leave } = await directory.take(wanted, watcher, random, stopping);
      const name = { front, lane: laneCount++ };
      const join = { model, manifest };
      worker = await RemoteLiveWorker.join(
        { bus, node, name, join, contextSamples, windowBytes, cells, onMessage, observer },
        lostMs,
        stopping,
      );
      if (worker === null) {
        leave();
        directory.passBy(node);
        continue;
      }
      log.info({ lane, node }, "lane placed");
      this.#keep(lane, worker, leave);
      return worker;
    }
  };

  /** What has become of a node says nothing against the sessions on it. */
  readonly isExcused = (reason: Error): boolean => reason instanceof LaneLost && reason.ending !== "worker";

  readonly loadOf = (lane: number, sessions: number): number =>
    sessions + (this.#workers.has(lane) ? 0 : WITHOUT_WORKER);

  #keep(lane: number, worker: RemoteLiveWorker, leave: () => void): void {
    this.#workers.set(lane, worker);
    void worker.ended.then((reason) => {
      leave();
      if (this.#workers.get(lane) === worker) this.#workers.delete(lane);
      if (reason instanceof LaneLost && reason.ending === "gone") this.#parts.directory.forget(worker.node);
    });
  }
}
