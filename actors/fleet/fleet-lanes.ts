import type { Log } from "../../core/observe/log.js";
import type { Bus } from "../../core/ports/bus.js";
import type { LiveEngineOptions } from "../live/engine.js";
import type { Versions } from "./beats.js";
import type { FleetDirectory, NodeWatcher, Place } from "./directory.js";
import { LANE_VERSIONS } from "./lane-records.js";
import { LaneWorker } from "./lane-worker.js";
import type { Wanted } from "./placement.js";
import { LaneLost, type LaneMove, type LaneObserver, RemoteLiveWorker } from "./remote-live-worker.js";

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
  /** Of lanes; {@link LANE_VERSIONS} when absent. */
  readonly protocol?: Versions;
}

/** Lanes of all models of this process; a name is never used again. */
let laneCount = 0;
/** A lane without a worker takes sessions only when all are: they wait there. */
const WITHOUT_WORKER = 1_000_000;
/** Before it a lane whose node is full. */
const WITHOUT_ROOM = 1_000;
/** A session that has not paused leaves a node in the midst of its utterance after this, by why its lane moves. */
const MOVE_WITHIN_MS: Readonly<Record<Exclude<LaneMove, "full">, number>> = {
  draining: 5_000,
  balance: 30_000,
};

type Start = Parameters<LiveEngineOptions["startWorker"]>;

/** A lane and where it is. */
interface PlacedLane {
  readonly lane: number;
  readonly cells: Start[0];
  readonly onMessage: Start[1];
  readonly stopping: AbortSignal;
  /** Of each connection that it has to a node. */
  readonly places: Map<RemoteLiveWorker, Place>;
  /** None before its first. */
  worker: LaneWorker | null;
  isJoining: boolean;
}

/** Puts the lanes of a live engine on nodes of the fleet, and on others as nodes come and go or have no room. */
export class FleetLanes {
  readonly #parts: FleetLanesParts;
  readonly #wanted: Wanted;
  readonly #random: () => number;
  readonly #workers = new Map<number, LaneWorker>();
  /** A lane is on its way to a better place: where the others should be is seen when it is there. */
  #isBalancing = false;

  constructor(parts: FleetLanesParts) {
    this.#parts = parts;
    const { cell, zone, model, manifest, protocol = LANE_VERSIONS, random = Math.random } = parts;
    this.#wanted = { cell, zone, model, manifest, protocol };
    this.#random = random;
  }

  /** Waits for a node that takes the lane, as long as it takes. @throws the signal's reason when it is aborted */
  readonly startWorker: LiveEngineOptions["startWorker"] = async (cells, onMessage, lane, stopping) => {
    const placed: PlacedLane = {
      cells,
      onMessage,
      lane,
      stopping,
      places: new Map(),
      worker: null,
      isJoining: true,
    };
    for (;;) {
      const watched = this.#watch(placed);
      const place = await this.#parts.directory.take(this.#wanted, watched.watcher, this.#random, stopping);
      const remote = await this.#join(placed, place, watched.follow);
      if (remote === null) continue;
      const worker = new LaneWorker(remote, onMessage);
      Object.assign(placed, { worker, isJoining: false });
      this.#workers.set(lane, worker);
      void worker.ended.then(() => {
        if (this.#workers.get(lane) === worker) this.#workers.delete(lane);
      });
      return worker;
    }
  };

  /** What has become of a node says nothing against the sessions on it. */
  readonly isExcused = (reason: Error): boolean => reason instanceof LaneLost && reason.ending !== "worker";

  readonly loadOf = (lane: number, sessions: number): number => {
    const worker = this.#workers.get(lane);
    if (worker === undefined) return sessions + WITHOUT_WORKER;
    return sessions + (this.#parts.directory.isFull(worker.remote.node) ? WITHOUT_ROOM : 0);
  };

  /** Puts a lane on another node, if one fits. */
  async #move(placed: PlacedLane, reason: LaneMove): Promise<void> {
    const { worker, places, stopping } = placed;
    const from = worker?.remote;
    const before = from && places.get(from);
    if (worker === null || before === undefined || placed.isJoining || stopping.aborted) return;
    const { directory, observer, log } = this.#parts;
    const watched = this.#watch(placed);
    const place = directory.takeNow(this.#wantedFor(reason, worker), watched.watcher, this.#random);
    // Where else should its sessions go? The node serves them to the end of its patience.
    if (place === null) return;
    placed.isJoining = true;
    const remote = await this.#join(placed, place, watched.follow);
    placed.isJoining = false;
    if (remote === null) return;
    if (this.#workers.get(placed.lane) !== worker || worker.remote !== from) {
      // Its place was lost meanwhile, and it goes on elsewhere.
      await remote.stop();
      return;
    }
    observer.moved(reason);
    log.info({ lane: placed.lane, from: before.node, to: place.node, reason }, "lane moves");
    if (reason === "full") {
      worker.growTo(remote);
      return;
    }
    before.vacate();
    worker.moveTo(remote, MOVE_WITHIN_MS[reason]);
  }

  /** What the next place of a lane must be. */
  #wantedFor(reason: LaneMove, { remote, sessionCount }: LaneWorker): Wanted {
    switch (reason) {
      // Another worker of the same node may have room.
      case "full":
        return this.#wanted;
      case "draining":
        return { ...this.#wanted, except: remote.node };
      // No session has to go, so none shall wait there.
      case "balance":
        return { ...this.#wanted, except: remote.node, room: Math.max(1, sessionCount) };
    }
  }

  /** Told of the node that a lane is put on. */
  #watch(placed: PlacedLane) {
    let remote: RemoteLiveWorker | null = null;
    const watcher: NodeWatcher = {
      silent: () => remote?.lose("silent"),
      draining: () => {
        if (remote === placed.worker?.remote) void this.#move(placed, "draining");
        else if (remote !== null) placed.worker?.leave(remote, MOVE_WITHIN_MS.draining);
      },
      heard: () => {
        if (remote === placed.worker?.remote) void this.#improve(placed);
      },
    };
    return {
      watcher,
      follow: (joined: RemoteLiveWorker) => {
        remote = joined;
      },
    };
  }

  /** A node has no room for a session. */
  #onRefused(placed: PlacedLane, remote: RemoteLiveWorker): void {
    // What it last said of its room is out of date, or another of its workers has some, as its next beat says.
    this.#parts.directory.passBy(remote.node);
    if (remote === placed.worker?.remote) void this.#move(placed, "full");
    else placed.worker?.callRefused(remote);
  }

  /** Looks whether a lane should have another place. */
  async #improve(placed: PlacedLane): Promise<void> {
    const reason = this.#isBalancing ? null : this.#reasonToMove(placed);
    if (reason === null) return;
    this.#isBalancing = true;
    await this.#move(placed, reason);
    this.#isBalancing = false;
  }

  #reasonToMove({ worker, places, isJoining }: PlacedLane): LaneMove | null {
    const { directory } = this.#parts;
    const place = worker === null ? undefined : places.get(worker.remote);
    if (worker === null || place === undefined || isJoining) return null;
    // Before a session comes: it need not wait for its refusal.
    if (directory.isFull(place.node) || worker.remote.refusedSessions.length > 0) return "full";
    if (worker.isMoving) return null;
    return directory.isBetterElsewhere(this.#wantedFor("balance", worker), place) ? "balance" : null;
  }

  /** Asks a node for a lane; null when it does not take it. */
  async #join(
    placed: PlacedLane,
    place: Place,
    onJoined: (remote: RemoteLiveWorker) => void,
  ): Promise<RemoteLiveWorker | null> {
    const { directory, front, lostMs, log, bus, observer } = this.#parts;
    const { contextSamples, windowBytes, model, manifest } = this.#parts;
    const { cells, onMessage, stopping, lane, places } = placed;
    const { node, version, leave } = place;
    const name = { front, lane: laneCount++ };
    const remote = await RemoteLiveWorker.join(
      {
        ...{ bus, node, name, version, contextSamples, windowBytes, cells, onMessage, observer },
        join: { model, manifest },
        onRefused: (refusing) => this.#onRefused(placed, refusing),
      },
      lostMs,
      stopping,
    );
    if (remote === null) {
      leave();
      directory.passBy(node);
      return null;
    }
    onJoined(remote);
    places.set(remote, place);
    void remote.ended.then((reason) => {
      places.delete(remote);
      leave();
      if (reason instanceof LaneLost && reason.ending === "gone") directory.forget(node);
    });
    log.info({ lane, node }, "lane placed");
    return remote;
  }
}
