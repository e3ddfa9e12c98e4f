import type { Log } from "../../src/observe/log.js";
import type { Bus } from "../../src/ports/bus.js";
import type { Clock } from "../../src/ports/clock.js";
import { type Beat, decodeBeat } from "./beats.js";
import { placeLane, type Wanted } from "./placement.js";
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
    const able = [...this.#nodes.values()].filter(({ isPassedBy }) => !isPassedBy).map(({ beat }) => beat);
    return placeLane(able, wanted, (node) => this.#watchers.get(node)?.size ?? 0, random);
  }

  /**
   * Waits for a node that fits, and puts a lane on it.
   *
   * @returns the node, and how the lane leaves it
   * @throws the signal's reason when it is aborted first
   */
  async take(
    wanted: Wanted,
    watcher: NodeWatcher,
    random: () => number,
    signal: AbortSignal,
  ): Promise<{ readonly node: string; readonly leave: () => void }> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const beat = this.place(wanted, random);
        // Counted in the same turn: of two lanes that wait the second sees where the first is.
        if (beat !== null) return { node: beat.node, leave: this.#watch(beat.node, watcher) };
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #watch(node: string, watcher: NodeWatcher): () => void {
    const watchers = this.#watchers.get(node) ?? new Set();
    this.#watchers.set(node, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(node) === watchers) this.#watchers.delete(node);
    };
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
