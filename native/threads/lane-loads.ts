import type { DeviceCells } from "../models/device-cells.js";

/** A share is measured over at least this long. */
const MEASURE_MS = 500;
/** What an idle device counts as: two that do nothing are told apart by what they were given. */
const IDLE_SHARE = 0.05;

interface Measured {
  readonly atMs: number;
  readonly busyMicros: number;
  readonly share: number;
  /** Counts measurements. */
  readonly nth: number;
}

/**
 * How much more work a lane can take, where lanes are on several devices: by the share of the time its device was at work, for
 * whichever engine, and by what the lane was given since that was measured. So a device twice as fast gets twice as much.
 */
export class LaneLoads {
  readonly #cells: DeviceCells;
  readonly #nowMs: () => number;
  readonly #devices = new Map<number, Measured>();
  /** What each lane had when its device was last measured. */
  readonly #counts = new Map<number, { readonly nth: number; readonly count: number }>();

  constructor(cells: DeviceCells, nowMs: () => number = () => performance.now()) {
    this.#cells = cells;
    this.#nowMs = nowMs;
  }

  /** Of a lane with `count` sessions or pieces, one more given: the lane with the least takes the next. */
  of(lane: number, device: number, count: number): number {
    const { share, nth } = this.#measured(device);
    let before = this.#counts.get(lane);
    if (before?.nth !== nth) {
      before = { nth, count };
      this.#counts.set(lane, before);
    }
    return (Math.max(share, IDLE_SHARE) * (count + 1)) / Math.max(before.count, 1);
  }

  #measured(device: number): Measured {
    const atMs = this.#nowMs();
    const last = this.#devices.get(device);
    if (last !== undefined && atMs - last.atMs < MEASURE_MS) return last;
    const busyMicros = this.#cells.busyMicros(device);
    // Counted modulo 2^32.
    const micros = last === undefined ? 0 : (busyMicros - last.busyMicros) >>> 0;
    const share = last === undefined ? 0 : micros / 1_000 / (atMs - last.atMs);
    const measured = { atMs, busyMicros, share, nth: (last?.nth ?? 0) + 1 };
    this.#devices.set(device, measured);
    return measured;
  }
}
