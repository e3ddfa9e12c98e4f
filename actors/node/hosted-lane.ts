import type { Bus } from "../../core/ports/bus.js";
import { encodeReport, type LaneAnswer, type LaneState } from "../fleet/lane-reports.js";
import { InOrder } from "../fleet/lane-window.js";
import { type LaneName, toFront } from "../fleet/subjects.js";
import type { HostedSession } from "./hosted-session.js";

/** What is said of heard bundles waits so long for answers to go with it. */
const REPORT_WITHIN_MS = 50;
/** Heard bytes that are reported at once: a window must not run full for want of a word. */
const REPORT_BYTES = 262_144;

/** A front's lane as its node sees it: the sessions on it, and what is told of them. */
export class HostedLane {
  readonly name: LaneName;
  /** By their numbers on the lane. */
  readonly sessions = new Map<number, HostedSession>();
  readonly #bus: Bus;
  readonly #bundles = new InOrder();
  #reportCount = 0;
  #answers: LaneAnswer[] = [];
  #unreportedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(name: LaneName, bus: Bus) {
    this.name = name;
    this.#bus = bus;
  }

  /** Whether a bundle is the next one. */
  isNext(nth: number, bytes: number): boolean {
    this.#unreportedBytes += bytes;
    return this.#bundles.take(nth);
  }

  /** Keeps an answer for the report that ends this turn. */
  answer(answer: LaneAnswer): void {
    this.#answers.push(answer);
  }

  /** Sends answers at once; without them what was heard is told a little later. */
  report(): void {
    if (this.#isEnded) return;
    if (this.#answers.length > 0 || this.#unreportedBytes >= REPORT_BYTES) this.#send("open");
    else this.#later();
  }

  /** The lane is taken, which its front waits to hear. */
  welcome(): void {
    this.#send("open");
  }

  /** Tells its front why the lane is over, if that is news, and nothing more. */
  end(state: LaneState | null): void {
    if (this.#isEnded) return;
    clearTimeout(this.#timer);
    if (state !== null) this.#send(state);
    this.#isEnded = true;
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#send("open");
      // Until the front knows that all of it was read.
      if ([...this.sessions.values()].some(({ isBehind }) => isBehind)) this.#later();
    }, REPORT_WITHIN_MS);
  }

  #send(state: LaneState): void {
    const cursors: number[] = [];
    for (const session of this.sessions.values()) {
      const cursor = session.takeCursor();
      if (cursor !== null) cursors.push(session.session, session.epoch, cursor);
    }
    const answers = this.#answers;
    this.#answers = [];
    this.#unreportedBytes = 0;
    const report = { nth: this.#reportCount++, state, heard: this.#bundles.count, cursors, answers };
    this.#bus.publish(toFront(this.name), encodeReport(report));
  }
}
