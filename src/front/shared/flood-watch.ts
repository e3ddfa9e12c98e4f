import type { Clock } from "../../../core/ports/clock.js";
import { systemClock } from "../../../core/ports/clock.js";

/** How long an address is watched after its last flood. */
const WATCHED_MS = 60_000;
/** Addresses that are remembered; beyond it the one whose flood is longest ago is forgotten. */
const MOST_ADDRESSES = 10_000;
/** What a connection from a watched address may send at once, as a part of what others may. */
export const WATCHED_BURST = 1 / 16;

/**
 * Addresses that have flooded us lately. A flooder that is cut comes back at once, and would have the whole burst of a new
 * connection again and again; from a watched address a connection begins with a part of it. What is allowed each second
 * stays the same and is far more than speech needs, so clients that share an address with a flooder do not notice.
 */
export class FloodWatch {
  readonly #clock: Clock;
  /** When each flooded last; the oldest first. */
  readonly #floodedAtMs = new Map<string, number>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Notes that a connection from this address was cut for what it sent. */
  flooded(address: string): void {
    this.#floodedAtMs.delete(address);
    this.#floodedAtMs.set(address, this.#clock.nowMs());
    if (this.#floodedAtMs.size <= MOST_ADDRESSES) return;
    const [oldest] = this.#floodedAtMs.keys();
    if (oldest !== undefined) this.#floodedAtMs.delete(oldest);
  }

  /** What a new connection from this address may send at once, as a part of the usual burst. */
  burstShare(address: string): number {
    if (this.#floodedAtMs.size === 0) return 1;
    const atMs = this.#floodedAtMs.get(address);
    if (atMs === undefined) return 1;
    if (this.#clock.nowMs() - atMs < WATCHED_MS) return WATCHED_BURST;
    this.#floodedAtMs.delete(address);
    return 1;
  }
}
