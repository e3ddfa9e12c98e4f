import { deferred } from "../../core/kernel/deferred.js";
import type { Bus, BusMessage } from "../../core/ports/bus.js";
import { LIVE_CELL, type LiveWorkerAnswer, type ToLiveWorker } from "../../native/threads/protocol.js";
import type { LiveWorker, LiveWorkerMessage } from "../live/engine.js";
import { BundleWriter, encodeJoin, type Join, RECORD } from "./lane-records.js";
import { decodeReport, type LaneAnswer, type LaneReport } from "./lane-reports.js";
import { LaneSession } from "./lane-sessions.js";
import { LaneWindow, SequenceCheck } from "./lane-window.js";
import { type LaneName, lostOf, toFront, toNode } from "./subjects.js";

/** Reason why a lane ended without being stopped. Its sessions are replayed on another lane. */
export type LaneEnding =
  /** No process subscribes to the node's subject. */
  | "gone"
  /** The node sent no heartbeat. */
  | "silent"
  /** A message in either direction is missing. */
  | "gap"
  /** The node no longer knows the lane. */
  | "unknown"
  /** The connection to the bus was lost. */
  | "reconnect"
  /** The lane's worker on the node has ended. */
  | "worker";

/** Reason why a lane moves to another node although its current one still exists. */
export type LaneMove =
  /** The current node is about to end. */
  | "draining"
  /** Another node has fewer lanes, or is nearer. */
  | "balance"
  /** The current node had no room for a session. */
  | "full";

export class LaneLost extends Error {
  override readonly name = "LaneLost";
  readonly ending: LaneEnding;

  constructor(ending: LaneEnding, node: string) {
    super(`the lane to engine node ${node} is lost: ${ending}`);
    this.ending = ending;
  }
}

/** Counts lanes, for metrics. */
export interface LaneObserver {
  /** A lane was lost and its sessions are replayed on another. */
  replayed(ending: LaneEnding, sessions: number): void;
  /** A lane got another node. */
  moved(reason: LaneMove): void;
  inFlight(changeBytes: number): void;
}

export interface RemoteWorkerParts {
  readonly bus: Bus;
  readonly node: string;
  readonly name: LaneName;
  readonly join: Join;
  /** Protocol version of the lane. */
  readonly version: number;
  /** Samples of left context that a replay needs before its resume point. */
  readonly contextSamples: number;
  readonly windowBytes: number;
  /** Cells of the engine's lane. The bell in them rings after each write to any of the lane's rings. */
  readonly cells: SharedArrayBuffer;
  readonly onMessage: (message: LiveWorkerMessage) => void;
  /** Called when the node has no room for a session. The request is repeated later. */
  readonly onRefused: (refusing: RemoteLiveWorker) => void;
  readonly observer: LaneObserver;
}

/** Interval of the list of open sessions, which also signals that the front is alive. */
const ALIVE_EVERY_MS = 1_000;
/** Interval between attempts to open a session for which the node has no room. */
const REFUSED_AGAIN_MS = 500;
/**
 * From this number of sessions on, records are gathered for `GATHER_MS`, because the bus costs per bundle.
 */
const BUSY_SESSIONS = 16;
const GATHER_MS = 5;
/** Reasons that a node gives for the end of a lane; later versions may send others. */
const ENDINGS: ReadonlyMap<string, LaneEnding> = new Map(
  (["gap", "unknown", "worker"] as const).map((ending) => [ending, ending]),
);
const OF_LANE = { session: 0, epoch: 0, position: 0 };

/** A live worker on an engine node, with the interface of a worker thread: reads the rings and answers. */
export class RemoteLiveWorker implements LiveWorker {
  readonly #ended = deferred<Error | null>();
  readonly ended = this.#ended.promise;
  readonly #joined = deferred<boolean>();
  readonly #parts: RemoteWorkerParts;
  readonly #bell: Int32Array;
  readonly #bundle: BundleWriter;
  readonly #window: LaneWindow;
  readonly #reports = new SequenceCheck();
  readonly #sessions = new Map<number, LaneSession>();
  readonly #endings: (() => void)[];
  readonly #aliveTimer: NodeJS.Timeout;
  /** Sessions for which the node had no room. */
  readonly #refused = new Set<LaneSession>();
  #refusedTimer: NodeJS.Timeout | undefined;
  #isEnded = false;
  #isDue = false;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  /** Rotates which session is sent first, so that sessions share a full window fairly. */
  #turn = 0;

  private constructor(parts: RemoteWorkerParts) {
    const { bus, name, windowBytes, cells } = parts;
    this.#parts = parts;
    this.#bell = new Int32Array(cells);
    this.#bundle = new BundleWriter(parts.version);
    this.#window = new LaneWindow(windowBytes);
    this.#endings = [
      bus.subscribe(toFront(name), ({ bytes }) => this.#hear(decodeReport(bytes))),
      bus.subscribe(lostOf(name), (message) => this.#hearLoss(message)),
      bus.onReconnect(() => this.lose("reconnect")),
    ];
    this.#bundle.add(RECORD.join, OF_LANE, encodeJoin(parts.join));
    this.#publish();
    this.#aliveTimer = setInterval(() => this.#sayAlive(), ALIVE_EVERY_MS);
  }

  /**
   * Requests a lane from a node. @returns null if the node rejects it or does not answer within `withinMs`
   */
  static async join(
    parts: RemoteWorkerParts,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<RemoteLiveWorker | null> {
    const worker = new RemoteLiveWorker(parts);
    const giveUp = () => worker.#joined.resolve(false);
    const timer = setTimeout(giveUp, withinMs);
    signal.addEventListener("abort", giveUp, { once: true });
    void worker.ended.then(giveUp);
    const isJoined = await worker.#joined.promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
    if (isJoined) {
      void worker.#listen();
      return worker;
    }
    await worker.stop();
    return null;
  }

  get node(): string {
    return this.#parts.node;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sessions for which the node has no room. */
  get refusedSessions(): readonly number[] {
    return [...this.#refused].map(({ session }) => session);
  }

  post(message: ToLiveWorker): void {
    if (this.#isEnded || message.type === "stop") return;
    const { session } = message;
    if (message.type === "open") {
      this.#sessions.set(session, new LaneSession(message, this.#parts.contextSamples));
    } else if (message.type === "ring") this.#sessions.get(session)?.useRing(message.ring);
    else if (message.type === "close") this.#close(session);
    else this.#sessions.get(session)?.mark(message);
    this.#soon();
  }

  /** Gives up the lane. May be called twice. */
  async stop(): Promise<void> {
    this.#end(null);
  }

  /** Ends the lane because it was lost. */
  lose(ending: LaneEnding): void {
    if (this.#isEnded) return;
    this.#parts.observer.replayed(ending, this.#sessions.size);
    this.#end(new LaneLost(ending, this.#parts.node));
  }

  #end(reason: Error | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const end of this.#endings) end();
    clearInterval(this.#aliveTimer);
    clearTimeout(this.#refusedTimer);
    this.#parts.observer.inFlight(-this.#window.inFlightBytes);
    // Discard unsent data, and notify the node in case it still exists.
    this.#bundle.take(0);
    this.#bundle.add(RECORD.leave, OF_LANE);
    this.#parts.bus.publish(
      toNode(this.#parts.node, this.#parts.name),
      this.#bundle.take(this.#window.nextBundle),
    );
    Atomics.notify(this.#bell, LIVE_CELL.bell);
    this.#ended.resolve(reason);
  }

  /** Sends new audio whenever the bell rings. */
  async #listen(): Promise<void> {
    while (!this.#isEnded) {
      const rung = Atomics.load(this.#bell, LIVE_CELL.bell);
      this.#soon();
      const ring = Atomics.waitAsync(this.#bell, LIVE_CELL.bell, rung);
      if (ring.async) await ring.value;
    }
  }

  /** Sends at the end of this turn of the event loop, or slightly later if there are many sessions. */
  #soon(): void {
    if (this.#isDue || this.#isEnded) return;
    this.#isDue = true;
    const send = () => {
      this.#isDue = false;
      this.#send();
    };
    const waitMs = this.#sessions.size < BUSY_SESSIONS ? 0 : GATHER_MS - (performance.now() - this.#sentAtMs);
    if (waitMs < 1) setImmediate(send);
    else setTimeout(send, waitMs);
  }

  #send(): void {
    if (this.#isEnded) return;
    this.#sentAtMs = performance.now();
    const sessions = [...this.#sessions.values()];
    const first = sessions.length === 0 ? 0 : this.#turn++ % sessions.length;
    for (let index = 0; index < sessions.length; index++) {
      const session = sessions[(first + index) % sessions.length]!;
      if (this.#refused.has(session)) continue;
      while (!session.write(this.#bundle, this.#roomSamples)) this.#publish();
    }
    this.#publish();
  }

  /** Number of samples that fit into the window, not counting the current bundle. */
  get #roomSamples(): number {
    return Math.max(0, this.#window.roomBytes - this.#bundle.byteLength) >> 1;
  }

  #publish(): void {
    if (this.#bundle.isEmpty) return;
    const { bus, node, name, observer } = this.#parts;
    const bytes = this.#bundle.take(this.#window.nextBundle);
    this.#window.sent(bytes.length);
    observer.inFlight(bytes.length);
    bus.publish(toNode(node, name), bytes, lostOf(name));
  }

  #hear(report: LaneReport): void {
    if (this.#isEnded) return;
    if (report.state === "refused") this.#joined.resolve(false);
    else if (report.state !== "open") this.lose(ENDINGS.get(report.state) ?? "unknown");
    else if (!this.#reports.take(report.nth)) this.lose("gap");
    else this.#take(report);
  }

  #take({ heard, cursors, answers: reported }: LaneReport): void {
    this.#joined.resolve(true);
    const wasFull = this.#roomSamples === 0;
    const before = this.#window.inFlightBytes;
    this.#window.acknowledge(heard);
    this.#parts.observer.inFlight(this.#window.inFlightBytes - before);
    for (let at = 0; at + 2 < cursors.length; at += 3) {
      const session = this.#sessions.get(cursors[at]!);
      if (session !== undefined && session.epoch === cursors[at + 1]) session.moveCursor(cursors[at + 2]!);
    }
    const answers = reported.filter((answer) => this.#isForSession(answer));
    if (answers.length > 0) this.#parts.onMessage({ type: "answers", answers });
    if (wasFull) this.#soon();
  }

  /** Handles answers about the lane. Returns true for an answer about a session. */
  #isForSession(answer: LaneAnswer): answer is LiveWorkerAnswer {
    if (answer.type !== "refused") return true;
    const session = this.#sessions.get(answer.session);
    if (session?.epoch === answer.epoch) this.#waitForRoom(session);
    return false;
  }

  #waitForRoom(session: LaneSession): void {
    this.#refused.add(session);
    this.#parts.onRefused(this);
    this.#refusedTimer ??= setTimeout(() => {
      this.#refusedTimer = undefined;
      for (const waiting of this.#refused) waiting.rewind();
      this.#refused.clear();
      this.#soon();
    }, REFUSED_AGAIN_MS);
  }

  #hearLoss({ isUndelivered }: BusMessage): void {
    if (isUndelivered) this.lose("gone");
  }

  #close(session: number): void {
    const closed = this.#sessions.get(session);
    if (closed === undefined) return;
    this.#refused.delete(closed);
    this.#sessions.delete(session);
    if (!this.#bundle.hasRoomFor(0)) this.#publish();
    this.#bundle.add(RECORD.close, { session, epoch: closed.epoch, position: 0 });
  }

  #sayAlive(): void {
    const sessions = Uint32Array.from(this.#sessions.keys());
    const body = new Uint8Array(sessions.buffer);
    if (!this.#bundle.hasRoomFor(body.length)) this.#publish();
    this.#bundle.add(RECORD.alive, OF_LANE, body);
    this.#publish();
  }
}
