import type { ToLiveWorker } from "../../native/threads/protocol.js";
import type { LiveWorker, LiveWorkerMessage } from "../live/engine.js";
import type { RemoteLiveWorker } from "./remote-live-worker.js";

/**
 * A lane's worker as the live engine knows it: on one node, and while it moves on two. A session is spoken to where it was
 * opened last, so the engine moves it by opening it again.
 */
export class LaneWorker implements LiveWorker {
  readonly ended: Promise<Error | null>;
  readonly #onMessage: (message: LiveWorkerMessage) => void;
  /** Where each session is. */
  readonly #homes = new Map<number, RemoteLiveWorker>();
  #remote: RemoteLiveWorker;
  /** Where sessions were before, until the last of them has gone. */
  #leaving: RemoteLiveWorker | null = null;
  #tellEnded: (reason: Error | null) => void = () => {};

  constructor(remote: RemoteLiveWorker, onMessage: (message: LiveWorkerMessage) => void) {
    this.#remote = remote;
    this.#onMessage = onMessage;
    this.ended = new Promise((resolve) => {
      this.#tellEnded = resolve;
    });
    this.#follow(remote);
  }

  get node(): string {
    return this.#remote.node;
  }

  get isMoving(): boolean {
    return this.#leaving !== null;
  }

  /**
   * New sessions go to another node from now on, those that are here at their next pause.
   *
   * @param withinMs after which a session goes in the midst of its utterance
   */
  moveTo(remote: RemoteLiveWorker, withinMs: number): void {
    const leaving = this.#remote;
    this.#leaving = leaving;
    this.#remote = remote;
    this.#follow(remote);
    const waiting = new Set(leaving.refusedSessions);
    const [there, refused] = [
      this.#sessionsOn(leaving).filter((session) => !waiting.has(session)),
      [...waiting],
    ];
    this.#onMessage({ type: "rejoin", sessions: refused, withinMs: 0 });
    this.#onMessage({ type: "rejoin", sessions: there, withinMs });
    this.#endMove();
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
    this.#endMove();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#remote.stop(), this.#leaving?.stop()]);
  }

  #follow(remote: RemoteLiveWorker): void {
    void remote.ended.then((reason) => {
      if (remote === this.#remote) {
        // With the place that sessions go to the lane is over, wherever some of them still are.
        void this.#leaving?.stop();
        this.#tellEnded(reason);
      } else if (remote === this.#leaving) {
        this.#leaving = null;
        this.#onMessage({ type: "rejoin", sessions: this.#sessionsOn(remote), withinMs: 0 });
      }
    });
  }

  #endMove(): void {
    const leaving = this.#leaving;
    if (leaving === null || this.#sessionsOn(leaving).length > 0) return;
    this.#leaving = null;
    void leaving.stop();
  }

  #sessionsOn(remote: RemoteLiveWorker): number[] {
    return [...this.#homes].flatMap(([session, home]) => (home === remote ? [session] : []));
  }
}
