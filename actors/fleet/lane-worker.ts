import type { ToLiveWorker } from "../../native/threads/protocol.js";
import type { LiveWorker, LiveWorkerMessage } from "../live/engine.js";
import { LaneLost, type RemoteLiveWorker } from "./remote-live-worker.js";

const STAY = Number.POSITIVE_INFINITY;

/**
 * A lane's worker as the live engine knows it: on one node, and on more while it moves, or because those before have no room.
 * A session is spoken to where it was opened last, so the engine moves it by opening it again.
 */
export class LaneWorker implements LiveWorker {
  readonly ended: Promise<Error | null>;
  readonly #onMessage: (message: LiveWorkerMessage) => void;
  /** Where each session is. */
  readonly #homes = new Map<number, RemoteLiveWorker>();
  #remote: RemoteLiveWorker;
  /** Places before it, in order, until their last session has gone: how soon sessions leave, `STAY` where they do not. */
  readonly #before = new Map<RemoteLiveWorker, number>();
  #tellEnded: (reason: Error | null) => void = () => {};

  constructor(remote: RemoteLiveWorker, onMessage: (message: LiveWorkerMessage) => void) {
    this.#remote = remote;
    this.#onMessage = onMessage;
    this.ended = new Promise((resolve) => {
      this.#tellEnded = resolve;
    });
    this.#follow(remote);
  }

  /** Where sessions are opened. */
  get remote(): RemoteLiveWorker {
    return this.#remote;
  }

  /** Sessions are told to leave one of its places. */
  get isMoving(): boolean {
    return [...this.#before.values()].some((withinMs) => withinMs < STAY);
  }

  /** Where sessions are opened. */
  get sessionCount(): number {
    return this.#sessionsOn(this.#remote).length;
  }

  /**
   * New sessions go to another place from now on, those that are here at their next pause.
   *
   * @param withinMs after which a session goes in the midst of its utterance
   */
  moveTo(remote: RemoteLiveWorker, withinMs: number): void {
    const leaving = this.#remote;
    this.growTo(remote);
    this.leave(leaving, withinMs);
  }

  /** New sessions go to another place from now on, and those for which there was no room here; the others stay. */
  growTo(remote: RemoteLiveWorker): void {
    const full = this.#remote;
    this.#before.set(full, STAY);
    this.#remote = remote;
    this.#follow(remote);
    this.callRefused(full);
    this.#giveUpEmpty();
  }

  /** Sessions for which an earlier place has no room go to the latest. */
  callRefused(place: RemoteLiveWorker): void {
    this.#onMessage({ type: "rejoin", sessions: place.refusedSessions, withinMs: 0 });
  }

  /** Sessions leave an earlier place at their next pause. May be called again, to have them leave sooner. */
  leave(place: RemoteLiveWorker, withinMs: number): void {
    const before = this.#before.get(place);
    if (before === undefined || before <= withinMs) return;
    this.#before.set(place, withinMs);
    this.#onMessage({ type: "rejoin", sessions: this.#sessionsOn(place), withinMs });
    this.#giveUpEmpty();
  }

  post(message: ToLiveWorker): void {
    if (message.type === "stop") return;
    const { session } = message;
    const before = this.#homes.get(session);
    if (message.type === "open") {
      if (before !== undefined && before !== this.#remote) before.post({ type: "close", session });
      this.#homes.set(session, this.#remote);
      this.#remote.post(message);
    } else {
      before?.post(message);
      if (message.type === "close") this.#homes.delete(session);
    }
    this.#giveUpEmpty();
  }

  async stop(): Promise<void> {
    const before = this.#forgetBefore();
    await Promise.all([this.#remote, ...before].map((place) => place.stop()));
  }

  #follow(remote: RemoteLiveWorker): void {
    void remote.ended.then((reason) => {
      if (remote !== this.#remote) {
        if (this.#before.delete(remote)) this.#reopen(remote);
        return;
      }
      const next = this.#nextAfter(reason);
      if (next === null) {
        // With the place that sessions go to the lane is over, wherever some of them still are.
        for (const place of this.#forgetBefore()) void place.stop();
        this.#tellEnded(reason);
        return;
      }
      this.#before.delete(next);
      this.#remote = next;
      this.#reopen(remote);
    });
  }

  /** The earlier place where the lane goes on; null when it is over. */
  #nextAfter(reason: Error | null): RemoteLiveWorker | null {
    // A worker may have died of a session: who counts such ends must hear of it.
    if (reason === null || (reason instanceof LaneLost && reason.ending === "worker")) return null;
    const staying = [...this.#before].findLast(([place, withinMs]) => withinMs === STAY && !place.isEnded);
    return staying?.[0] ?? null;
  }

  #reopen(lost: RemoteLiveWorker): void {
    this.#onMessage({ type: "rejoin", sessions: this.#sessionsOn(lost), withinMs: 0 });
  }

  #giveUpEmpty(): void {
    for (const place of [...this.#before.keys()]) {
      if (this.#sessionsOn(place).length > 0) continue;
      this.#before.delete(place);
      void place.stop();
    }
  }

  #forgetBefore(): readonly RemoteLiveWorker[] {
    const places = [...this.#before.keys()];
    this.#before.clear();
    return places;
  }

  #sessionsOn(place: RemoteLiveWorker): number[] {
    return [...this.#homes].flatMap(([session, home]) => (home === place ? [session] : []));
  }
}
