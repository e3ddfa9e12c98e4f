import type { Bus } from "../../core/ports/bus.js";
import { encodeReport, type LaneAnswer, type LaneState } from "../fleet/lane-reports.js";
import { SequenceCheck } from "../fleet/lane-window.js";
import { type LaneName, toFront } from "../fleet/subjects.js";
import type { HostedSession } from "./hosted-session.js";

/** Received bundles are acknowledged within this time, or with the next answers. */
const REPORT_WITHIN_MS = 50;
/** Received bytes after which an acknowledgement is sent immediately, so that the window never fills up. */
const REPORT_BYTES = 262_144;

/** A front's lane on its node: its sessions and the reports about them. */
export class HostedLane {
  readonly name: LaneName;
  /** Sessions by their numbers on the lane. */
  readonly sessions = new Map<number, HostedSession>();
  readonly #bus: Bus;
  readonly #bundles = new SequenceCheck();
  #reportCount = 0;
  #answers: LaneAnswer[] = [];
  #unreportedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(name: LaneName, bus: Bus) {
    this.name = name;
    this.#bus = bus;
  }

  /** Counts a bundle; false if an earlier one is missing. */
  isNext(nth: number, bytes: number): boolean {
    this.#unreportedBytes += bytes;
    return this.#bundles.take(nth);
  }

  /** Adds an answer to the next report. */
  answer(answer: LaneAnswer): void {
    this.#answers.push(answer);
  }

  /** Sends answers immediately; without answers the acknowledgement is delayed. */
  report(): void {
    if (this.#isEnded) return;
    if (this.#answers.length > 0 || this.#unreportedBytes >= REPORT_BYTES) this.#send("open");
    else this.#later();
  }

  /** Notifies the front that its lane is accepted. */
  accept(): void {
    this.#send("open");
  }

  /**
   * Sends the last report with the reason, or none if the front already knows it (null), and ends reporting.
   */
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
      // Repeat until the front knows that all audio was read.
      if ([...this.sessions.values()].some(({ hasUnread }) => hasUnread)) this.#later();
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
