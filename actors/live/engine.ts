import { ServiceError, shuttingDown } from "../../core/domain/errors.js";
import { type Child, Supervisor } from "../../core/kernel/supervisor.js";
import type { Log } from "../../core/observe/log.js";
import type { Clock } from "../../core/ports/clock.js";
import type { LiveDecoder, LiveEvent, LiveFeed, LiveOptions } from "../../core/ports/live-decoder.js";
import {
  type FromLiveWorker,
  LIVE_CELL,
  type LivePace,
  type WorkerStatus,
} from "../../native/threads/protocol.js";
import { type LiveLane, type LiveWorkerPort, RingFeed } from "./ring-feed.js";
import { BACKLOG_SECONDS } from "./transitions.js";

export interface LiveWorker extends Child, LiveWorkerPort {}

export type LiveWorkerMessage =
  | Exclude<FromLiveWorker, WorkerStatus>
  /**
   * The worker can move these sessions elsewhere. Each must be reopened at its next pause, or after
   * `withinMs` even in the middle of an utterance.
   */
  | { readonly type: "rejoin"; readonly sessions: readonly number[]; readonly withinMs: number };

/** Counts the engine's work, for metrics. */
export interface LiveObserver {
  /** Called about once per second of a worker's work. */
  paced(pace: LivePace): void;
  /** A session's audio did not fit into its backlog. */
  ringFull(): void;
}

export interface LiveEngineOptions {
  readonly workerCount: number;
  readonly startWorker: (
    cells: SharedArrayBuffer,
    onMessage: (message: LiveWorkerMessage) => void,
    /** Number of the worker's lane; a replacement worker gets the same number. */
    lane: number,
    /** Aborted when the engine stops, so that a start waiting for a node gives up. */
    stopping: AbortSignal,
  ) => Promise<LiveWorker>;
  /**
   * Returns true if an end does not count against the worker, however briefly it served. By default all
   * count.
   */
  readonly isExcused?: (reason: Error) => boolean;
  /** Load of a lane, by default its number of sessions. A new session goes to the least loaded lane. */
  readonly loadOf?: (lane: number, sessions: number) => number;
  /** Samples of left context that a replay needs before its resume point. */
  readonly contextSamples: number;
  readonly sampleRateHz: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: LiveObserver;
}

/** A worker that has served this long did not fail because of the sessions it started with. */
const PROVEN_AFTER_MS = 500;
const NOT_AVAILABLE = "live transcription is not available";

/** One worker and its sessions. */
interface Lane extends LiveLane {
  readonly supervisor: Supervisor<LiveWorker>;
  readonly feeds: Set<RingFeed>;
  readonly isLost: boolean;
}

/** Owns the live workers. A session gets a lane with its first audio, and outlives its worker. */
export class LiveEngine implements LiveDecoder {
  readonly #options: LiveEngineOptions;
  readonly #lanes: Lane[] = [];
  readonly #feeds = new Map<number, RingFeed>();
  readonly #stopping = new AbortController();
  #nextSession = 0;

  constructor(options: LiveEngineOptions) {
    this.#options = options;
    for (let index = 0; index < options.workerCount; index++) this.#lanes.push(this.#makeLane(index));
  }

  get sessionCount(): number {
    return this.#feeds.size;
  }

  /** Number of sessions on each lane that have sent audio. */
  get laneLoads(): readonly number[] {
    return this.#lanes.map((lane) => lane.feeds.size);
  }

  /** Seconds of audio waiting for a worker, in the session where most waits. */
  get lateSeconds(): number {
    let most = 0;
    for (const { unreadSamples } of this.#feeds.values()) most = Math.max(most, unreadSamples);
    return most / this.#options.sampleRateHz;
  }

  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.start()));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.stop()));
  }

  /** @throws {ServiceError} `ENGINE_BUSY` if no worker is left, `SHUTTING_DOWN` after `stop` */
  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveFeed {
    if (this.#stopping.signal.aborted) throw shuttingDown();
    if (this.#leastLoaded() === null) throw new ServiceError("ENGINE_BUSY", NOT_AVAILABLE);
    let lane: Lane | null = null;
    const feed = new RingFeed({
      session: this.#nextSession++,
      options,
      onEvent,
      contextSamples: this.#options.contextSamples,
      backlogSamples: BACKLOG_SECONDS * this.#options.sampleRateHz,
      takeLane: () => {
        lane = this.#leastLoaded();
        lane?.feeds.add(feed);
        return lane;
      },
      onRingFull: () => this.#options.observer?.ringFull(),
      onRelease: () => {
        lane?.feeds.delete(feed);
        this.#feeds.delete(feed.session);
      },
    });
    this.#feeds.set(feed.session, feed);
    // Deferred, because the caller must have its feed before the first event arrives.
    if (this.#lanes.some(({ worker }) => worker !== null)) queueMicrotask(() => feed.ready());
    return feed;
  }

  #leastLoaded(): Lane | null {
    const { loadOf = (_, sessions) => sessions } = this.#options;
    let least: Lane | null = null;
    let leastLoad = Number.POSITIVE_INFINITY;
    for (const [index, lane] of this.#lanes.entries()) {
      const load = lane.isLost ? Number.POSITIVE_INFINITY : loadOf(index, lane.feeds.size);
      if (load >= leastLoad) continue;
      least = lane;
      leastLoad = load;
    }
    return least;
  }

  /** True if every lane has used up its restarts. */
  get isGivenUp(): boolean {
    return this.#lanes.length > 0 && this.#lanes.every((lane) => lane.isLost);
  }

  #makeLane(index: number): Lane {
    const { startWorker, isExcused = () => false, clock, log } = this.#options;
    const cells = new SharedArrayBuffer(LIVE_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const bell = new Int32Array(cells);
    const feeds = new Set<RingFeed>();
    const id = `live-worker-${index}`;
    let isLost = false;
    let isRinging = false;
    // Each lane gets a derived signal: Node reports more than ten listeners on one signal as a leak.
    const stopping = AbortSignal.any([this.#stopping.signal]);
    const ring = () => {
      isRinging = false;
      Atomics.add(bell, LIVE_CELL.bell, 1);
      Atomics.notify(bell, LIVE_CELL.bell);
    };
    const supervisor = new Supervisor<LiveWorker>(
      {
        id,
        start: () => startWorker(cells, (message) => this.#onMessage(message), index, stopping),
        isExcused: ({ servedMs, reason }) => servedMs >= PROVEN_AFTER_MS || isExcused(reason),
        onUp: () => {
          for (const feed of feeds) feed.attach();
          // Sessions without audio can use any worker.
          for (const feed of this.#feeds.values()) feed.ready();
        },
        onDown: (error) => log.error({ worker: id, sessions: feeds.size, err: error }, "live worker ended"),
        onGiveUp: (error) => {
          log.fatal({ worker: id, err: error }, "live worker given up");
          isLost = true;
          this.#failLost(feeds);
        },
      },
      clock.nowMs,
    );
    return {
      supervisor,
      feeds,
      get worker() {
        return supervisor.child;
      },
      get isLost() {
        return isLost;
      },
      wake: () => {
        if (isRinging) return;
        isRinging = true;
        setImmediate(ring);
      },
    };
  }

  #onMessage(message: LiveWorkerMessage): void {
    if (message.type === "pace") this.#options.observer?.paced(message);
    else if (message.type === "rejoin")
      for (const session of message.sessions) this.#feeds.get(session)?.rejoin(message.withinMs);
    else for (const answer of message.answers) this.#feeds.get(answer.session)?.onAnswer(answer);
  }

  /** Fails the sessions of a lane that was given up. If no lane is left, fails all sessions. */
  #failLost(feeds: ReadonlySet<RingFeed>): void {
    const lost = this.#leastLoaded() === null ? this.#feeds.values() : feeds;
    for (const feed of [...lost]) feed.fail(NOT_AVAILABLE);
  }
}
