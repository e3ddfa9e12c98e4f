import { deferred } from "../../core/kernel/deferred.js";
import { Supervisor } from "../../core/kernel/supervisor.js";
import type { Log } from "../../core/observe/log.js";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import type { Clock } from "../../core/ports/clock.js";
import { NO_SPAN, type Tracer } from "../../core/ports/span.js";
import {
  type FromLiveWorker,
  LIVE_CELL,
  type LivePace,
  type WorkerStatus,
} from "../../native/threads/protocol.js";
import { encodeHeartbeat, HEARTBEAT_EVERY_MS, type Versions } from "../fleet/heartbeats.js";
import {
  type Bundle,
  decodeJoin,
  decodeOpen,
  type Join,
  LANE_VERSIONS,
  type LaneRecord,
  RECORD,
  readBundle,
  samplesOf,
  sessionsOf,
} from "../fleet/lane-records.js";
import { encodeReport, type LaneState } from "../fleet/lane-reports.js";
import { type LaneName, LIVE_HEARTBEATS, laneOfSubject, lanesOf, toFront } from "../fleet/subjects.js";
import type { LiveWorker } from "../live/engine.js";
import { Drained } from "./drained.js";
import { HostedLane } from "./hosted-lane.js";
import { HostedSession } from "./hosted-session.js";
import { MeasuredCapacity } from "./measured-capacity.js";

type WorkerMessage = Exclude<FromLiveWorker, WorkerStatus>;

export interface LiveHostOptions {
  readonly bus: Bus;
  readonly node: string;
  readonly cell: string;
  readonly zone: string;
  readonly model: string;
  readonly manifest: string;
  /** {@link LANE_VERSIONS} by default. */
  readonly protocol?: Versions;
  readonly workerCount: number;
  readonly sessionsPerWorker: number;
  readonly startWorker: (
    cells: SharedArrayBuffer,
    onMessage: (message: WorkerMessage) => void,
    index: number,
  ) => Promise<LiveWorker>;
  readonly contextSamples: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Called about once per second of a worker's work. */
  readonly onPace?: (pace: LivePace) => void;
  /** Continues the traces of fronts. */
  readonly tracer?: Tracer;
}

/** A worker that has served this long did not fail because of the sessions it started with. */
const PROVEN_AFTER_MS = 500;
/** A front silent for this long is considered lost, and its lanes are dropped. */
const FRONT_LOST_MS = 10_000;

/** A worker thread of this node, and its lanes. */
interface HostWorker {
  readonly supervisor: Supervisor<LiveWorker>;
  readonly bell: Int32Array;
  readonly lanes: Set<PlacedLane>;
  /** Sessions by their numbers on this worker. */
  readonly sessions: Map<number, { readonly lane: PlacedLane; readonly session: HostedSession }>;
  readonly measured: MeasuredCapacity;
}

interface PlacedLane {
  readonly lane: HostedLane;
  readonly worker: HostWorker;
  heardAtMs: number;
}

/** The engine side of live transcription: places fronts' lanes on worker threads of this node. */
export class LiveHost {
  readonly #lost = deferred<Error>();
  /** Resolves when all workers have used up their restarts; the process should then end and be restarted. */
  readonly lost = this.#lost.promise;
  readonly #options: LiveHostOptions;
  readonly #workers: readonly HostWorker[];
  /** Lanes by front and number. */
  readonly #lanes = new Map<string, PlacedLane>();
  readonly #endings: (() => void)[] = [];
  readonly #drained = new Drained();
  #givenUp = 0;
  #nextSession = 0;
  #isDraining = false;

  constructor(options: LiveHostOptions) {
    this.#options = options;
    this.#workers = Array.from({ length: options.workerCount }, (_, index) => this.#makeWorker(index));
  }

  /** Loads the models, then subscribes to lanes and starts the heartbeats. */
  async start(): Promise<void> {
    await Promise.all(this.#workers.map(({ supervisor }) => supervisor.start()));
    const { bus, node } = this.#options;
    const heartbeats = setInterval(() => this.#heartbeat(), HEARTBEAT_EVERY_MS);
    this.#endings.push(
      () => clearInterval(heartbeats),
      bus.subscribe(lanesOf(node), (message) => this.#hear(message)),
      // Messages may have been lost, a front's `leave` among them.
      bus.onReconnect(() => this.#dropAll()),
    );
    // The subscriptions must be active before a front learns of the node.
    await bus.flush();
    this.#heartbeat();
  }

  get sessionCount(): number {
    return this.#workers.reduce((sum, { sessions }) => sum + sessions.size, 0);
  }

  get laneCount(): number {
    return this.#lanes.size;
  }

  /** Sessions that the running workers accept: the configured number, or fewer if they are busy. */
  get capacity(): number {
    const nowMs = this.#options.clock.nowMs();
    const up = this.#workers.filter(({ supervisor }) => supervisor.child !== null);
    return up.reduce((sum, { measured, sessions }) => sum + measured.of(sessions.size, nowMs), 0);
  }

  get isReady(): boolean {
    return !this.#isDraining && this.capacity > 0;
  }

  /**
   * Accepts no more work, so that fronts move their sessions. Resolves when no lanes are left, or after
   * `withinMs`.
   */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    this.#heartbeat();
    await this.#drained.within(withinMs, this.sessionCount === 0);
  }

  async stop(): Promise<void> {
    for (const end of this.#endings.splice(0)) end();
    this.#dropAll();
    await Promise.all(this.#workers.map(({ supervisor }) => supervisor.stop()));
  }

  #makeWorker(index: number): HostWorker {
    const { startWorker, sessionsPerWorker, clock, log } = this.#options;
    const cells = new SharedArrayBuffer(LIVE_CELL.count * Int32Array.BYTES_PER_ELEMENT);
    const id = `live-worker-${index}`;
    const worker: HostWorker = {
      bell: new Int32Array(cells),
      lanes: new Set(),
      sessions: new Map(),
      measured: new MeasuredCapacity(sessionsPerWorker),
      supervisor: new Supervisor<LiveWorker>(
        {
          id,
          start: () => startWorker(cells, (message) => this.#onMessage(worker, message), index),
          isExcused: ({ servedMs }) => servedMs >= PROVEN_AFTER_MS,
          onUp: () => this.#heartbeat(),
          onDown: (error) => {
            log.error({ worker: id, sessions: worker.sessions.size, err: error }, "live worker ended");
            for (const placed of [...worker.lanes]) this.#drop(placed, "worker");
            this.#heartbeat();
          },
          onGiveUp: (error) => {
            log.fatal({ worker: id, err: error }, "live worker given up");
            if (++this.#givenUp === this.#workers.length) this.#lost.resolve(error);
          },
        },
        clock.nowMs,
      ),
    };
    return worker;
  }

  #heartbeat(): void {
    const { bus, node, cell, zone, model, manifest, clock } = this.#options;
    // The host is not subscribed yet, or has stopped.
    if (this.#endings.length === 0) return;
    const nowMs = clock.nowMs();
    for (const placed of [...this.#lanes.values()])
      if (nowMs - placed.heardAtMs > FRONT_LOST_MS) this.#drop(placed, null);
    const { protocol = LANE_VERSIONS } = this.#options;
    const taken = { capacity: this.capacity, used: this.sessionCount, isDraining: this.#isDraining };
    bus.publish(LIVE_HEARTBEATS, encodeHeartbeat({ node, cell, zone, model, manifest, protocol, ...taken }));
  }

  #hear({ subject, bytes, isUndelivered }: BusMessage): void {
    if (isUndelivered) return;
    const name = laneOfSubject(subject);
    const bundle = readBundle(bytes);
    const [first] = bundle.records;
    if (bundle.nth === 0 && first?.type === RECORD.join) this.#join(name, bundle, decodeJoin(first));
    const placed = this.#lanes.get(keyOf(name));
    if (placed === undefined) {
      const isOver = bundle.records.some(({ type }) => type === RECORD.leave);
      if (!isOver && first?.type !== RECORD.join) this.#refuse(name, "unknown");
      return;
    }
    placed.heardAtMs = this.#options.clock.nowMs();
    let isWhole = false;
    try {
      isWhole =
        placed.lane.isNext(bundle.nth, bytes.length) &&
        bundle.records.every((record) => this.#take(placed, record));
    } finally {
      // Drop the lane also after an exception: otherwise nobody would notice the missing rest of the bundle.
      if (!isWhole) this.#drop(placed, "gap");
    }
    if (!isWhole) return;
    Atomics.add(placed.worker.bell, LIVE_CELL.bell, 1);
    Atomics.notify(placed.worker.bell, LIVE_CELL.bell);
    placed.lane.report();
  }

  /** Puts a lane on the worker with the fewest sessions, if the front's model is served here. */
  #join(name: LaneName, { version }: Bundle, { model, manifest }: Join): void {
    const { bus, clock, ...own } = this.#options;
    const up = this.#workers.filter(({ supervisor }) => supervisor.child !== null);
    const [worker] = up.toSorted((a, b) => a.sessions.size - b.sessions.size || a.lanes.size - b.lanes.size);
    const { least, most } = own.protocol ?? LANE_VERSIONS;
    const isOurs = version >= least && version <= most && model === own.model && manifest === own.manifest;
    if (worker === undefined || !isOurs || this.#isDraining) {
      this.#refuse(name, "refused");
      return;
    }
    const placed = { lane: new HostedLane(name, bus), worker, heardAtMs: clock.nowMs() };
    this.#lanes.set(keyOf(name), placed);
    worker.lanes.add(placed);
    placed.lane.accept();
  }

  #refuse(name: LaneName, state: LaneState): void {
    const report = { nth: 0, state, heard: 0, cursors: [], answers: [] };
    this.#options.bus.publish(toFront(name), encodeReport(report));
  }

  /** Handles a record; returns false if an earlier one is missing. */
  #take(placed: PlacedLane, record: LaneRecord): boolean {
    const { type, epoch, position } = record;
    const known = placed.lane.sessions.get(record.session);
    const session = known?.epoch === epoch ? known : undefined;
    switch (type) {
      case RECORD.open:
        this.#open(placed, record);
        return true;
      // Audio and marks of a rejected or closed session may still have been in flight.
      case RECORD.audio:
        return session?.write(position, samplesOf(record)) ?? true;
      case RECORD.finalize:
        return session?.mark("finalize", position) ?? true;
      case RECORD.finish:
        return session?.mark("finish", position) ?? true;
      case RECORD.close:
        if (session !== undefined) this.#close(placed, session);
        return true;
      case RECORD.alive: {
        const alive = new Set(sessionsOf(record));
        for (const each of [...placed.lane.sessions.values()])
          if (!alive.has(each.session)) this.#close(placed, each);
        return true;
      }
      case RECORD.leave:
        this.#drop(placed, null);
        return true;
      // `join` was already handled; records of later versions are ignored.
      default:
        return true;
    }
  }

  #open(placed: PlacedLane, record: LaneRecord): void {
    const { lane, worker } = placed;
    const { session, epoch, position } = record;
    const before = lane.sessions.get(session);
    if (before !== undefined) this.#close(placed, before);
    if (worker.sessions.size >= this.#options.sessionsPerWorker) {
      lane.answer({ type: "refused", session, epoch });
      return;
    }
    const body = decodeOpen(record);
    const { node, tracer, contextSamples } = this.#options;
    const span = body.traceparent && tracer?.begin("engine session", body.traceparent, { node, epoch });
    const hosted = new HostedSession({
      ...{ session, epoch, body, contextSamples },
      local: this.#nextSession++,
      fromSample: position,
      post: (message) => worker.supervisor.child?.post(message),
      span: span || NO_SPAN,
    });
    lane.sessions.set(session, hosted);
    worker.sessions.set(hosted.local, { lane: placed, session: hosted });
  }

  #close({ lane, worker }: PlacedLane, session: HostedSession): void {
    session.close();
    lane.sessions.delete(session.session);
    worker.sessions.delete(session.local);
    if (this.#isDraining && this.sessionCount === 0) this.#drained.notify();
  }

  #drop(placed: PlacedLane, state: LaneState | null): void {
    placed.lane.end(state);
    for (const session of [...placed.lane.sessions.values()]) this.#close(placed, session);
    placed.worker.lanes.delete(placed);
    this.#lanes.delete(keyOf(placed.lane.name));
  }

  #dropAll(): void {
    for (const placed of [...this.#lanes.values()]) this.#drop(placed, "unknown");
  }

  #onMessage(worker: HostWorker, message: WorkerMessage): void {
    if (message.type === "pace") {
      worker.measured.report(message.busyMs, this.#options.clock.nowMs());
      this.#options.onPace?.(message);
      return;
    }
    const answered = new Set<HostedLane>();
    for (const answer of message.answers) {
      const hosted = worker.sessions.get(answer.session);
      if (hosted === undefined) continue;
      const { lane } = hosted.lane;
      lane.answer(hosted.session.take(answer));
      answered.add(lane);
    }
    for (const lane of answered) lane.report();
  }
}

function keyOf({ front, lane }: LaneName): string {
  return `${front}.${lane}`;
}
