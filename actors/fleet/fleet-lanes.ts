import type { Log } from "../../core/observe/log.js";
import type { Bus } from "../../core/ports/bus.js";
import type { LiveEngineOptions } from "../live/engine.js";
import type { FleetDirectory, NodeWatcher, Place } from "./directory.js";
import type { Versions } from "./heartbeats.js";
import { LANE_VERSIONS } from "./lane-records.js";
import { LaneWorker } from "./lane-worker.js";
import type { Wanted } from "./placement.js";
import { LaneLost, type LaneMove, type LaneObserver, RemoteLiveWorker } from "./remote-live-worker.js";

export interface FleetLanesParts {
  readonly bus: Bus;
  readonly directory: FleetDirectory;
  readonly front: string;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  readonly manifest: string;
  readonly contextSamples: number;
  readonly windowBytes: number;
  /** A node that does not answer a join within this time counts as lost. */
  readonly lostMs: number;
  readonly observer: LaneObserver;
  readonly log: Log;
  readonly random?: () => number;
  /** {@link LANE_VERSIONS} by default. */
  readonly protocol?: Versions;
}

/** Counts the lanes of all models of this process, so that a lane's name is never used again. */
let laneCount = 0;
/** Load of a lane without a worker, which gets sessions only if no lane has a worker. */
const WITHOUT_WORKER = 1_000_000;
/** Load of a lane whose node is full. */
const WITHOUT_ROOM = 1_000;
/** A session that has not paused within this time is moved in the middle of an utterance. */
const MOVE_WITHIN_MS: Readonly<Record<Exclude<LaneMove, "full">, number>> = {
  draining: 5_000,
  balance: 30_000,
};

type Start = Parameters<LiveEngineOptions["startWorker"]>;

interface PlacedLane {
  readonly lane: number;
  readonly cells: Start[0];
  readonly onMessage: Start[1];
  readonly stopping: AbortSignal;
  /** The place that each connection of the lane occupies on a node. */
  readonly places: Map<RemoteLiveWorker, Place>;
  /** Null before the first placement. */
  worker: LaneWorker | null;
  isJoining: boolean;
}

/**
 * Places the lanes of a live engine on nodes of the fleet, and moves them when nodes start, leave or fill up.
 */
export class FleetLanes {
  readonly #parts: FleetLanesParts;
  readonly #wanted: Wanted;
  readonly #random: () => number;
  readonly #workers = new Map<number, LaneWorker>();
  /** True while a lane moves to a better place; the others are checked again afterwards. */
  #isBalancing = false;

  constructor(parts: FleetLanesParts) {
    this.#parts = parts;
    const { cell, zone, model, manifest, protocol = LANE_VERSIONS, random = Math.random } = parts;
    this.#wanted = { cell, zone, model, manifest, protocol };
    this.#random = random;
  }

  /** Waits without limit for a node that accepts the lane. @throws the signal's reason if it is aborted */
  readonly startWorker: LiveEngineOptions["startWorker"] = async (cells, onMessage, lane, stopping) => {
    const placed: PlacedLane = {
      ...{ cells, onMessage, lane, stopping },
      ...{ places: new Map(), worker: null, isJoining: true },
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

  /** Sessions can only be to blame if the worker itself died. */
  readonly isExcused = (reason: Error): boolean => reason instanceof LaneLost && reason.ending !== "worker";

  readonly loadOf = (lane: number, sessions: number): number => {
    const worker = this.#workers.get(lane);
    if (worker === undefined) return sessions + WITHOUT_WORKER;
    return sessions + (this.#parts.directory.isFull(worker.remote.node) ? WITHOUT_ROOM : 0);
  };

  /** Moves a lane to another node if one fits. If the lane's node is full, adds a node instead. */
  async #move(placed: PlacedLane, reason: LaneMove): Promise<void> {
    const { worker, places, stopping } = placed;
    const from = worker?.remote;
    const before = from && places.get(from);
    if (worker === null || before === undefined || placed.isJoining || stopping.aborted) return;
    const { directory, observer, log } = this.#parts;
    const watched = this.#watch(placed);
    const place = directory.takeNow(this.#wantedFor(reason, worker), watched.watcher, this.#random);
    // The sessions have nowhere to go, so the draining node serves them until its deadline.
    if (place === null) return;
    placed.isJoining = true;
    const remote = await this.#join(placed, place, watched.follow);
    placed.isJoining = false;
    if (remote === null) return;
    if (this.#workers.get(placed.lane) !== worker || worker.remote !== from) {
      // The lane lost its place meanwhile and continues elsewhere.
      await remote.stop();
      return;
    }
    observer.moved(reason);
    log.info({ lane: placed.lane, from: before.node, to: place.node, reason }, "lane moving");
    if (reason === "full") {
      worker.growTo(remote);
      return;
    }
    before.vacate();
    worker.moveTo(remote, MOVE_WITHIN_MS[reason]);
  }

  /** Returns the requirements for the node that a lane moves to. */
  #wantedFor(reason: LaneMove, { remote, sessionCount }: LaneWorker): Wanted {
    switch (reason) {
      // Without `except`: another worker of the same node may have room.
      case "full":
        return this.#wanted;
      case "draining":
        return { ...this.#wanted, except: remote.node };
      // The move is optional, so no session should wait for the new node.
      case "balance":
        return { ...this.#wanted, except: remote.node, room: Math.max(1, sessionCount) };
    }
  }

  /** Watches the node that a lane is placed on. */
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

  /** Finds another place for a session for which a node has no room. */
  #onRefused(placed: PlacedLane, remote: RemoteLiveWorker): void {
    // The capacity in the node's last heartbeat is outdated, or belongs to another of its workers.
    this.#parts.directory.avoid(remote.node);
    if (remote === placed.worker?.remote) void this.#move(placed, "full");
    else placed.worker?.callRefused(remote);
  }

  /** Moves a lane, or adds a node to it, if that is better. */
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
    // Act before a session is rejected.
    if (directory.isFull(place.node) || worker.remote.refusedSessions.length > 0) return "full";
    if (worker.isMoving) return null;
    return directory.isBetterElsewhere(this.#wantedFor("balance", worker), place) ? "balance" : null;
  }

  /** Requests a lane from a node; null if the node rejects it or does not answer. */
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
      directory.avoid(node);
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
