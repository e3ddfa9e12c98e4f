import type { Span } from "../../core/ports/span.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { ringCapacityFor } from "../../native/ring/ring-capacity.js";
import type { LiveWorkerAnswer, ResumePoint, ToLiveWorker } from "../../native/threads/protocol.js";
import type { OpenBody } from "../fleet/lane-records.js";

export interface HostedSessionParts {
  /** Its number on the lane. */
  readonly session: number;
  readonly epoch: number;
  /** Its number at the worker, where sessions of all lanes meet. */
  readonly local: number;
  /** Where its audio begins. */
  readonly fromSample: number;
  readonly body: OpenBody;
  readonly contextSamples: number;
  readonly post: (message: ToLiveWorker) => void;
  /** Of its time here. */
  readonly span: Span;
}

/** A session of a front on a worker here: its ring is written from records as a feed writes from a socket. */
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

  /** Samples since its beginning that are here. */
  get writtenSamples(): number {
    return this.#ring.written;
  }

  /** Takes samples from `position` on, those that are new; false when some before them are missing. */
  write(position: number, samples: Int16Array): boolean {
    const known = this.writtenSamples - position;
    if (known < 0) return false;
    const fresh = samples.subarray(known);
    const needed = this.#ring.usedSamples + fresh.length;
    if (needed > this.#ring.capacitySamples) this.#moveRing(ringCapacityFor(needed));
    // A front keeps what is not final in a ring that grows as far and no further.
    return this.#ring.write(fresh) === fresh.length;
  }

  /** False when audio before the mark is missing. */
  mark(type: "finalize" | "finish", atSample: number): boolean {
    if (atSample !== this.writtenSamples) return false;
    // Counted before any sample behind it is written.
    if (type === "finalize") this.#ring.marks++;
    this.#parts.post({ type, session: this.local, atSample });
    return true;
  }

  close(): void {
    this.#parts.post({ type: "close", session: this.local });
    this.#parts.span.end();
  }

  /** What the worker says, as its front knows the session; audio that is not needed any more goes. */
  take(answer: LiveWorkerAnswer): LiveWorkerAnswer {
    if (answer.type === "final") this.#parts.span.event("final");
    if (answer.type === "final" || answer.type === "idle") this.#advance(answer.resume);
    return { ...answer, session: this.session };
  }

  /** How far the worker has read, if that is further than at the last call; else null. */
  takeCursor(): number | null {
    const { cursor } = this.#ring;
    if (cursor === this.#reportedCursor) return null;
    this.#reportedCursor = cursor;
    return cursor;
  }

  /** The worker has audio before it. */
  get isBehind(): boolean {
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
