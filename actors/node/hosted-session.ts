import type { Span } from "../../core/ports/span.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { ringCapacityFor } from "../../native/ring/ring-capacity.js";
import type { LiveWorkerAnswer, ResumePoint, ToLiveWorker } from "../../native/threads/protocol.js";
import type { OpenBody } from "../fleet/lane-records.js";

export interface HostedSessionParts {
  /** The session's number on the lane. */
  readonly session: number;
  readonly epoch: number;
  /** The session's number on the worker, which has sessions of several lanes. */
  readonly local: number;
  /** First sample of the session's audio. */
  readonly fromSample: number;
  readonly body: OpenBody;
  readonly contextSamples: number;
  readonly post: (message: ToLiveWorker) => void;
  readonly span: Span;
}

/** A front's session on a worker of this node. Fills its ring from records, as a feed does from a socket. */
export class HostedSession {
  readonly session: number;
  readonly epoch: number;
  readonly local: number;
  readonly #parts: HostedSessionParts;
  #ring: PcmRing;
  #reportedCursor: number;

  constructor(parts: HostedSessionParts) {
    const { session, epoch, local, fromSample, body, post } = parts;
    this.session = session;
    this.epoch = epoch;
    this.local = local;
    this.#parts = parts;
    this.#reportedCursor = fromSample;
    this.#ring = PcmRing.create(ringCapacityFor(0), fromSample);
    this.#ring.marks = body.marks;
    post({ ...body, type: "open", session: local, epoch, ring: this.#ring.buffer });
  }

  /** Position of the last sample that has arrived. */
  get writtenSamples(): number {
    return this.#ring.written;
  }

  /** Writes the samples from `position` on that are new; returns false if earlier samples are missing. */
  write(position: number, samples: Int16Array): boolean {
    const known = this.writtenSamples - position;
    if (known < 0) return false;
    const fresh = samples.subarray(known);
    const needed = this.#ring.usedSamples + fresh.length;
    if (needed > this.#ring.capacitySamples) this.#moveRing(ringCapacityFor(needed));
    // This always fits, because the front's own ring has the same limit.
    return this.#ring.write(fresh) === fresh.length;
  }

  /** Passes a mark to the worker; returns false if earlier audio is missing. */
  mark(type: "finalize" | "finish", atSample: number): boolean {
    if (atSample !== this.writtenSamples) return false;
    // The mark must be counted before any later sample is written.
    if (type === "finalize") this.#ring.marks++;
    this.#parts.post({ type, session: this.local, atSample });
    return true;
  }

  close(): void {
    this.#parts.post({ type: "close", session: this.local });
    this.#parts.span.end();
  }

  /** Translates a worker's answer for the front, and drops audio that is no longer needed. */
  take(answer: LiveWorkerAnswer): LiveWorkerAnswer {
    if (answer.type === "final") this.#parts.span.event("final");
    if (answer.type === "final" || answer.type === "idle") this.#advance(answer.resume);
    return { ...answer, session: this.session };
  }

  /** Returns the worker's read position; null if unchanged since the last call. */
  takeCursor(): number | null {
    const { cursor } = this.#ring;
    if (cursor === this.#reportedCursor) return null;
    this.#reportedCursor = cursor;
    return cursor;
  }

  /** True if the worker has unread audio. */
  get hasUnread(): boolean {
    return this.#ring.cursor !== this.#ring.written;
  }

  #advance({ sample }: ResumePoint): void {
    const releaseSample = sample - this.#parts.contextSamples;
    if (releaseSample > 0) this.#ring.release(releaseSample);
    const enough = ringCapacityFor(2 * this.#ring.usedSamples);
    if (2 * enough <= this.#ring.capacitySamples) this.#moveRing(enough);
  }

  #moveRing(capacitySamples: number): void {
    if (this.#ring.capacitySamples === capacitySamples) return;
    this.#ring = this.#ring.moveTo(capacitySamples);
    this.#parts.post({ type: "ring", session: this.local, ring: this.#ring.buffer });
  }
}
