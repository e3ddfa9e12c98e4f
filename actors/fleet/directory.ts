import type { Log } from "../../core/observe/log.js";
import type { Bus } from "../../core/ports/bus.js";
import type { Clock } from "../../core/ports/clock.js";
import { type Beat, decodeBeat } from "./beats.js";
import { commonVersion, isBetterElsewhere, placeLane, type Wanted } from "./placement.js";
import { BEATS_OF_LIVE } from "./subjects.js";

interface Known {
  beat: Beat;
  heardAtMs: number;
  /** It has refused a lane or did not answer: it is not asked again before its next beat. */
  isPassedBy: boolean;
}

/** Told of what became of a node. */
export interface NodeWatcher {
  /** No sign of life for too long. */
  silent(): void;
  /** It is about to end; told with each beat, for there may be no other node at first. */
  draining(): void;
  /** Another node, or this one, has given a sign of life: there may be a better place. */
  heard?(): void;
}

/** A lane's place on a node. */
export interface Place {
  readonly node: string;
  readonly zone: string;
  /** Of what is said on the lane: the latest that both sides speak. */
  readonly version: number;
  /** The lane has a place on another node, and is here only until its sessions are there: it counts no more. */
  vacate(): void;
  leave(): void;
}

export interface DirectoryOptions {
  readonly bus: Bus;
  /** Subject of the beats; those of live workers when absent. */
  readonly beats?: string;
  /** A node without a sign of life for so long is lost. */
  readonly lostMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Calls `act` every `everyMs` until what it returns is called. */
  readonly repeat?: (act: () => void, everyMs: number) => () => void;
}

/** Looks so often within the time after which a node is lost. */
const LOOKS = 8;

/** Which nodes there are, from their beats. */
export class FleetDirectory {
  readonly #options: DirectoryOptions;
  readonly #nodes = new Map<string, Known>();
  readonly #watchers = new Map<string, Set<NodeWatcher>>();
  /** Of this front on each node. */
  readonly #lanes = new Map<string, number>();
  readonly #endings: (() => void)[];
  /** Those who wait for a node. */
  #waiting: (() => void)[] = [];
  #lookedAtMs: number;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.#lookedAtMs = options.clock.nowMs();
    const { bus, beats = BEATS_OF_LIVE, lostMs, repeat = byTimer } = options;
    this.#endings = [
      bus.subscribe(beats, ({ bytes }) => this.#hear(decodeBeat(bytes))),
      repeat(() => this.#look(), lostMs / LOOKS),
    ];
  }

  /** Beats of all nodes that are there, draining ones too. */
  get beats(): readonly Beat[] {
    return [...this.#nodes.values()].map(({ beat }) => beat);
  }

  /** Since the last beat of the node that has been silent longest; 0 without nodes. */
  get oldestBeatMs(): number {
    const nowMs = this.#options.clock.nowMs();
    return Math.max(0, ...[...this.#nodes.values()].map(({ heardAtMs }) => nowMs - heardAtMs));
  }

  /** A node for a lane; null when none is there. */
  place(wanted: Wanted, random: () => number): Beat | null {
    return placeLane(this.#able, wanted, this.#lanesOn, random);
  }

  /** Whether a lane would stand better on another node than on its own. */
  isBetterElsewhere(wanted: Wanted, own: Place): boolean {
    return isBetterElsewhere(this.#able, wanted, this.#lanesOn, own);
  }

  /** The node takes no more sessions for now, by its own word. */
  isFull(node: string): boolean {
    const beat = this.#nodes.get(node)?.beat;
    return beat !== undefined && beat.used >= beat.capacity;
  }

  /**
   * Waits for a node that fits, and puts a lane on it.
   *
   * @throws the signal's reason when it is aborted first
   */
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
    const beat = this.place(wanted, random);
    if (beat === null) return null;
    const { node, zone, protocol } = beat;
    // Counted in the same turn: of two lanes that wait the second sees where the first is.
    const vacate = this.#count(node);
    const unwatch = this.#watch(node, watcher);
    const leave = () => {
      vacate();
      unwatch();
    };
    return { node, zone, version: commonVersion(protocol, wanted.protocol)!, vacate, leave };
  }

  /** Returns how the lane is counted no more. */
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

  /** Beats of nodes that may be asked. */
  get #able(): readonly Beat[] {
    return [...this.#nodes.values()].filter(({ isPassedBy }) => !isPassedBy).map(({ beat }) => beat);
  }

  /** Its node has refused a lane, or said nothing: others are asked first. */
  passBy(node: string): void {
    const known = this.#nodes.get(node);
    if (known !== undefined) known.isPassedBy = true;
  }

  /** The bus says that a node is gone. */
  forget(node: string): void {
    this.#nodes.delete(node);
  }

  close(): void {
    for (const end of this.#endings) end();
  }

  #hear(beat: Beat): void {
    const { clock, log } = this.#options;
    const known = this.#nodes.get(beat.node);
    if (known === undefined)
      log.info({ node: beat.node, zone: beat.zone, model: beat.model }, "engine node heard");
    this.#nodes.set(beat.node, { beat, heardAtMs: clock.nowMs(), isPassedBy: false });
    if (beat.isDraining) for (const watcher of [...(this.#watchers.get(beat.node) ?? [])]) watcher.draining();
    for (const watchers of [...this.#watchers.values()])
      for (const watcher of [...watchers]) watcher.heard?.();
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #look(): void {
    const { clock, lostMs, log } = this.#options;
    const nowMs = clock.nowMs();
    const isLate = nowMs - this.#lookedAtMs > (2 * lostMs) / LOOKS;
    this.#lookedAtMs = nowMs;
    // This process was held up: what was said meanwhile is still on its way through the loop.
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
