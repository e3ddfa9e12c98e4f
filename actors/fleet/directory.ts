import type { Log } from "../../core/observe/log.js";
import type { Bus } from "../../core/ports/bus.js";
import type { Clock } from "../../core/ports/clock.js";
import { decodeHeartbeat, type Heartbeat } from "./heartbeats.js";
import { commonVersion, isBetterElsewhere, placeLane, type Wanted } from "./placement.js";
import { LIVE_HEARTBEATS } from "./subjects.js";

interface KnownNode {
  heartbeat: Heartbeat;
  heardAtMs: number;
  /** The node rejected a lane or did not answer. It is skipped until its next heartbeat. */
  isAvoided: boolean;
}

/** Called when the state of a node changes. */
export interface NodeWatcher {
  /** The node has sent no heartbeat for too long. */
  silent(): void;
  /** The node is about to end. Called for each heartbeat, because there may be no other node at first. */
  draining(): void;
  /** Called when any node sends a heartbeat: a better placement may exist. */
  heard?(): void;
}

/** A lane's place on a node. */
export interface Place {
  readonly node: string;
  readonly zone: string;
  /** Latest protocol version that both sides support. */
  readonly version: number;
  /**
   * Stops counting the lane on this node, once it has moved and stays only until its sessions have followed.
   */
  vacate(): void;
  leave(): void;
}

export interface DirectoryOptions {
  readonly bus: Bus;
  /** Subject of the heartbeats; those of live nodes by default. */
  readonly heartbeats?: string;
  /** A node without a heartbeat for this long is lost. */
  readonly lostMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Calls `act` every `everyMs` until the returned function is called. */
  readonly repeat?: (act: () => void, everyMs: number) => () => void;
  /** Called with each heartbeat. */
  readonly onHeartbeat?: (heartbeat: Heartbeat) => void;
}

/** Number of checks within the time after which a node is lost. */
const CHECKS = 8;

/** The nodes of the fleet, from their heartbeats. */
export class FleetDirectory {
  readonly #options: DirectoryOptions;
  readonly #nodes = new Map<string, KnownNode>();
  readonly #watchers = new Map<string, Set<NodeWatcher>>();
  /** This front's lanes on each node. */
  readonly #lanes = new Map<string, number>();
  readonly #endings: (() => void)[];
  #waiting: (() => void)[] = [];
  #checkedAtMs: number;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#checkedAtMs = options.clock.nowMs();
    const { bus, heartbeats = LIVE_HEARTBEATS, lostMs, repeat = byTimer } = options;
    this.#endings = [
      bus.subscribe(heartbeats, ({ bytes }) => this.#hear(decodeHeartbeat(bytes))),
      repeat(() => this.#check(), lostMs / CHECKS),
    ];
  }

  /** Heartbeats of all nodes, draining ones included. */
  get heartbeats(): readonly Heartbeat[] {
    return [...this.#nodes.values()].map(({ heartbeat }) => heartbeat);
  }

  /** Time since the last heartbeat of the node that has been silent the longest; 0 without nodes. */
  get oldestHeartbeatMs(): number {
    const nowMs = this.#options.clock.nowMs();
    return Math.max(0, ...[...this.#nodes.values()].map(({ heardAtMs }) => nowMs - heardAtMs));
  }

  /** Chooses a node for a lane; null when none fits. */
  place(wanted: Wanted, random: () => number): Heartbeat | null {
    return placeLane(this.#able, wanted, this.#lanesOn, random);
  }

  /** Returns true if another node would be better for a lane than its own. */
  isBetterElsewhere(wanted: Wanted, own: Place): boolean {
    return isBetterElsewhere(this.#able, wanted, this.#lanesOn, own);
  }

  /** Returns true if the node's last heartbeat reported no room. */
  isFull(node: string): boolean {
    const heartbeat = this.#nodes.get(node)?.heartbeat;
    return heartbeat !== undefined && heartbeat.used >= heartbeat.capacity;
  }

  /** Waits for a node that fits, and puts a lane on it. @throws the signal's reason if it is aborted first */
  async take(
    wanted: Wanted,
    watcher: NodeWatcher,
    random: () => number,
    signal: AbortSignal,
  ): Promise<Place> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const place = this.takeNow(wanted, watcher, random);
        if (place !== null) return place;
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Puts a lane on a node that fits; null when none does. */
  takeNow(wanted: Wanted, watcher: NodeWatcher, random: () => number): Place | null {
    const heartbeat = this.place(wanted, random);
    if (heartbeat === null) return null;
    const { node, zone, protocol } = heartbeat;
    // Count immediately, so that a second waiting lane sees that the first one is placed.
    const vacate = this.#count(node);
    const unwatch = this.#watch(node, watcher);
    const leave = () => {
      vacate();
      unwatch();
    };
    return { node, zone, version: commonVersion(protocol, wanted.protocol)!, vacate, leave };
  }

  /** Counts a lane; the returned function stops counting it. */
  #count(node: string): () => void {
    this.#lanes.set(node, this.#lanesOn(node) + 1);
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      const left = this.#lanesOn(node) - 1;
      if (left > 0) this.#lanes.set(node, left);
      else this.#lanes.delete(node);
    };
  }

  #watch(node: string, watcher: NodeWatcher): () => void {
    const watchers = this.#watchers.get(node) ?? new Set();
    this.#watchers.set(node, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(node) === watchers) this.#watchers.delete(node);
    };
  }

  readonly #lanesOn = (node: string): number => this.#lanes.get(node) ?? 0;

  /** Heartbeats of available nodes. */
  get #able(): readonly Heartbeat[] {
    return [...this.#nodes.values()].filter(({ isAvoided }) => !isAvoided).map(({ heartbeat }) => heartbeat);
  }

  /** Prefers other nodes after this one rejected a lane or did not answer. */
  avoid(node: string): void {
    const known = this.#nodes.get(node);
    if (known !== undefined) known.isAvoided = true;
  }

  /** Removes a node that the bus reports as gone. */
  forget(node: string): void {
    this.#nodes.delete(node);
  }

  close(): void {
    for (const end of this.#endings) end();
  }

  #hear(heartbeat: Heartbeat): void {
    const { clock, log, onHeartbeat } = this.#options;
    onHeartbeat?.(heartbeat);
    const known = this.#nodes.get(heartbeat.node);
    if (known === undefined)
      log.info({ node: heartbeat.node, zone: heartbeat.zone, model: heartbeat.model }, "engine node heard");
    this.#nodes.set(heartbeat.node, { heartbeat, heardAtMs: clock.nowMs(), isAvoided: false });
    if (heartbeat.isDraining)
      for (const watcher of [...(this.#watchers.get(heartbeat.node) ?? [])]) watcher.draining();
    for (const watchers of [...this.#watchers.values()])
      for (const watcher of [...watchers]) watcher.heard?.();
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #check(): void {
    const { clock, lostMs, log } = this.#options;
    const nowMs = clock.nowMs();
    const isLate = nowMs - this.#checkedAtMs > (2 * lostMs) / CHECKS;
    this.#checkedAtMs = nowMs;
    // This process was blocked, so heartbeats may still be waiting in its socket.
    if (isLate) return;
    for (const [node, { heardAtMs }] of this.#nodes) {
      if (nowMs - heardAtMs < lostMs) continue;
      this.#nodes.delete(node);
      log.warn({ node, silentMs: Math.round(nowMs - heardAtMs) }, "engine node is silent");
      for (const watcher of [...(this.#watchers.get(node) ?? [])]) watcher.silent();
    }
  }
}

function byTimer(act: () => void, everyMs: number): () => void {
  const timer = setInterval(act, everyMs);
  return () => clearInterval(timer);
}
