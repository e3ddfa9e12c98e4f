import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";

const FRAME_MS = (1_000 * FRAME_SAMPLES) / LIVE_RATE_HZ;
/**
 * How fast the estimate follows arrivals that become later, per frame: far more than clocks differ, far less
 * than a round hides.
 */
const LATER_MS = 0.05;

/**
 * Estimates when frames of a session arrive, if it sends at the pace of speech. A worker sees a frame some
 * time after it has arrived, so the earliest of recent sightings counts.
 */
export class FrameArrivals {
  /** When the frame before the first would have arrived. */
  #originMs = Number.POSITIVE_INFINITY;

  /** @param frames number of frames that have arrived by now */
  note(frames: number, nowMs: number): void {
    this.#originMs = Math.min(this.#originMs + LATER_MS, nowMs - frames * FRAME_MS);
  }

  /** Returns when that many frames will have arrived; infinite before the first. */
  timeOf(frames: number): number {
    return this.#originMs + frames * FRAME_MS;
  }
}
