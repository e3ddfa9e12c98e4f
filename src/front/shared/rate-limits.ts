import { type Clock, systemClock } from "../../../core/ports/clock.js";
import type { ReaderPace } from "../../../core/ports/front.js";

export interface BucketSize {
  /** Number of tokens at the start, which is also the maximum. */
  readonly burst: number;
  readonly perSecond: number;
}

/** A token bucket. It reads the clock only when tokens run short, so taking one is cheap. */
export class TokenBucket {
  readonly #size: BucketSize;
  readonly #nowMs: () => number;
  #tokens: number;
  #filledAtMs: number;

  /** @param share share of the burst that is available at the start */
  constructor(size: BucketSize, nowMs: () => number = () => performance.now(), share = 1) {
    this.#size = size;
    this.#nowMs = nowMs;
    this.#tokens = size.burst * share;
    this.#filledAtMs = nowMs();
  }

  /** Takes `count` tokens; if there are too few, takes none and returns false. */
  take(count: number): boolean {
    if (!this.has(count)) return false;
    this.#tokens -= count;
    return true;
  }

  has(count: number): boolean {
    if (this.#tokens < count) this.#fill();
    return this.#tokens >= count;
  }

  #fill(): void {
    const nowMs = this.#nowMs();
    const fresh = ((nowMs - this.#filledAtMs) / 1_000) * this.#size.perSecond;
    this.#tokens = Math.min(this.#size.burst, this.#tokens + fresh);
    this.#filledAtMs = nowMs;
  }
}

/** How long an address is watched after its last flood. */
const WATCHED_MS = 60_000;
/** Beyond this number, the address whose flood was longest ago is forgotten. */
const MOST_ADDRESSES = 10_000;
/** The share of the usual burst that a connection from a watched address gets. */
export const WATCHED_BURST = 1 / 16;

/**
 * Remembers addresses that have flooded us. A flooder that was cut reconnects immediately, and would get the
 * whole burst of a new connection each time. A watched address gets a fraction of the burst. Its rate per
 * second stays the same and far exceeds what speech needs, so other clients at that address notice nothing.
 */
export class FloodWatch {
  readonly #clock: Clock;
  /** Time of the last flood by address, oldest first. */
  readonly #floodedAtMs = new Map<string, number>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Records that a connection from this address was cut for flooding. */
  flooded(address: string): void {
    this.#floodedAtMs.delete(address);
    this.#floodedAtMs.set(address, this.#clock.nowMs());
    if (this.#floodedAtMs.size <= MOST_ADDRESSES) return;
    const [oldest] = this.#floodedAtMs.keys();
    if (oldest !== undefined) this.#floodedAtMs.delete(oldest);
  }

  /** Returns the share of the usual burst for a new connection from this address. */
  burstShare(address: string): number {
    if (this.#floodedAtMs.size === 0) return 1;
    const atMs = this.#floodedAtMs.get(address);
    if (atMs === undefined) return 1;
    if (this.#clock.nowMs() - atMs < WATCHED_MS) return WATCHED_BURST;
    this.#floodedAtMs.delete(address);
    return 1;
  }
}

/** Tracks the pace of one reader, and counts only the time that we wait for it. */
export class PacedReader {
  readonly #pace: ReaderPace;
  #takenBytes = 0;
  #waitedMs = 0;

  constructor(pace: ReaderPace) {
    this.#pace = pace;
  }

  took(bytes: number): void {
    this.#takenBytes += bytes;
  }

  waited(milliseconds: number): void {
    this.#waitedMs += milliseconds;
  }

  /** Time left for the next bytes; 0 if the reader is too slow. */
  get leftMs(): number {
    const dueMs = this.#pace.graceMs + (1_000 * this.#takenBytes) / this.#pace.leastBytesPerS;
    return Math.max(0, dueMs - this.#waitedMs);
  }
}
