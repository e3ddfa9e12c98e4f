import { ServiceError } from "../../core/domain/errors.js";
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
import { BACKLOG_SECONDS } from "./limits.js";
import { type LiveLane, type LiveWorkerPort, RingFeed } from "./ring-feed.js";

/** What the engine needs of a live worker. */
export interface LiveWorker extends Child, LiveWorkerPort {}

export type LiveWorkerMessage =
  | Exclude<FromLiveWorker, WorkerStatus>
  /** The worker has another place for these sessions: each is to be opened again, at its next pause. */
  | {
      readonly type: "rejoin";
      readonly sessions: readonly number[];
      /** After which one is opened again in the midst of its utterance. */
      readonly withinMs: number;
    };

/** Told how the engine is doing, for metrics. */
export interface LiveObserver {
  /** About every second of a worker's work. */
  paced(pace: LivePace): void;
  /** Audio of a session did not fit. */
  ringFull(): void;
}

export interface LiveEngineOptions {
  readonly workerCount: number;
  readonly startWorker: (
    cells: SharedArrayBuffer,
    onMessage: (message: LiveWorkerMessage) => void,
    /** Of the worker's lane, which its successors have too. */
    lane: number,
    /** Aborted when the engine stops: a start that only waits need not be waited for. */
    stopping: AbortSignal,
  ) => Promise<LiveWorker>;
  /** Whether an end says nothing against the worker, however short it served; none does when absent. */
  readonly isExcused?: (reason: Error) => boolean;
  /** What so many sessions on a lane weigh: the next goes to the lane with the least. Their number when absent. */
  readonly loadOf?: (lane: number, sessions: number) => number;
  /** Samples of left context a replay needs before the point it resumes at. */
  readonly contextSamples: number;
  readonly sampleRateHz: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer?: LiveObserver;
}

/** A worker that has served this long did not die of what it was started with. */
const PROVEN_AFTER_MS = 500;
const NOT_AVAILABLE = "live transcription is not available";

/** One worker with the sessions that are on it. */
interface Lane extends LiveLane {
  readonly supervisor: Supervisor<LiveWorker>;
  readonly feeds: Set<RingFeed>;
  readonly isLost: boolean;
}

/** Owns the live workers; a session takes a lane with its first audio, stays on it and survives its worker. */
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

  /** Sessions on each worker that have sent audio. */
  get laneLoads(): readonly number[] {
    return this.#lanes.map((lane) => lane.feeds.size);
  }

  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.start()));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#lanes.map((lane) => lane.supervisor.stop()));
  }

  /** @throws {ServiceError} `ENGINE_BUSY` when no worker is left to serve, `SHUTTING_DOWN` after `stop` */
  open(options: LiveOptions, onEvent: (event: LiveEvent) => void): LiveFeed {
    if (this.#stopping.signal.aborted) throw new ServiceError("SHUTTING_DOWN", "the service is stopping");
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
    // The caller must have its feed in hand before the first event comes.
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

  /** No worker will come back. */
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
    // Of its own: more than ten listeners to one signal count as a leak.
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
          // Sessions without audio wait for any worker.
          for (const feed of this.#feeds.values()) feed.ready();
        },
        onDown: (error) => log.error({ worker: id, sessions: feeds.size, err: error }, "live worker ended"),
        onGiveUp: (error) => {
          log.fatal({ worker: id, err: error }, "live worker does not come back");
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

  /** Fails the sessions of a lane that is given up; with the last lane all sessions. */
  #failLost(feeds: ReadonlySet<RingFeed>): void {
    const lost = this.#leastLoaded() === null ? this.#feeds.values() : feeds;
    for (const feed of [...lost]) feed.fail(NOT_AVAILABLE);
  }
}
