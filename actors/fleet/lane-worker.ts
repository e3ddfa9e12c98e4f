import { deferred } from "../../core/kernel/deferred.js";
import type { ToLiveWorker } from "../../native/threads/protocol.js";
import type { LiveWorker, LiveWorkerMessage } from "../live/engine.js";
import { LaneLost, type RemoteLiveWorker } from "./remote-live-worker.js";

const STAY = Number.POSITIVE_INFINITY;

/**
 * A lane's worker, as seen by the live engine. It is on one node, or on several while the lane moves or
 * earlier nodes have no room. A session's messages go to the place that opened it last, so the engine moves a
 * session by opening it again.
 */
export class LaneWorker implements LiveWorker {
  readonly #ended = deferred<Error | null>();
  readonly ended = this.#ended.promise;
  readonly #onMessage: (message: LiveWorkerMessage) => void;
  /** The place of each session. */
  readonly #homes = new Map<number, RemoteLiveWorker>();
  #remote: RemoteLiveWorker;
  /** Earlier places that still have sessions, in order, and the time until these leave (`STAY`: never). */
  readonly #before = new Map<RemoteLiveWorker, number>();

  constructor(remote: RemoteLiveWorker, onMessage: (message: LiveWorkerMessage) => void) {
    this.#remote = remote;
    this.#onMessage = onMessage;
    this.#follow(remote);
  }

  /** The place for new sessions. */
  get remote(): RemoteLiveWorker {
    return this.#remote;
  }

  /** True if sessions must leave one of the worker's places. */
  get isMoving(): boolean {
    return [...this.#before.values()].some((withinMs) => withinMs < STAY);
  }

  /** Sessions on the latest place. */
  get sessionCount(): number {
    return this.#sessionsOn(this.#remote).length;
  }

  /**
   * Sends new sessions to another place immediately, and existing ones at their next pause.
   * @param withinMs time after which a session moves even in the middle of an utterance
   */
  moveTo(remote: RemoteLiveWorker, withinMs: number): void {
    const leaving = this.#remote;
    this.growTo(remote);
    this.leave(leaving, withinMs);
  }

  /** Sends new sessions, and those rejected here, to another place; the others stay. */
  growTo(remote: RemoteLiveWorker): void {
    const full = this.#remote;
    this.#before.set(full, STAY);
    this.#remote = remote;
    this.#follow(remote);
    this.callRefused(full);
    this.#giveUpEmpty();
  }

  /** Moves sessions that an earlier place has rejected to the latest place. */
  callRefused(place: RemoteLiveWorker): void {
    this.#onMessage({ type: "rejoin", sessions: place.refusedSessions, withinMs: 0 });
  }

  /** Moves sessions off an earlier place at their next pause. May be called again with a shorter time. */
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
        for (const place of this.#forgetBefore()) void place.stop();
        this.#ended.resolve(reason);
        return;
      }
      this.#before.delete(next);
      this.#remote = next;
      this.#reopen(remote);
    });
  }

  /** Returns the earlier place on which the lane continues; null if the lane is over. */
  #nextAfter(reason: Error | null): RemoteLiveWorker | null {
    // A session may have killed the worker. The supervisor counts such ends, so it must see this one.
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
