import type { DeviceCells } from "../models/device-cells.js";

/** Minimum duration of a measurement. */
const MEASURE_MS = 500;
/** Minimum share, so that idle devices are compared by the work they were given. */
const IDLE_SHARE = 0.05;

interface Measured {
  readonly atMs: number;
  readonly busyMicros: number;
  readonly share: number;
  readonly nth: number;
}

/**
 * Loads of lanes on several devices: the share of time that the lane's device was busy, for any engine,
 * scaled by the work the lane was given since that measurement. A device twice as fast gets twice the work.
 */
export class LaneLoads {
  readonly #cells: DeviceCells;
  readonly #nowMs: () => number;
  readonly #devices = new Map<number, Measured>();
  /** Work of each lane at its device's last measurement. */
  readonly #counts = new Map<number, { readonly nth: number; readonly count: number }>();

  constructor(cells: DeviceCells, nowMs: () => number = () => performance.now()) {
    this.#cells = cells;
    this.#nowMs = nowMs;
  }

  /** Returns the load of a lane with `count` sessions or pieces if it got one more. */
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
    // The counter is modulo 2^32.
    const micros = last === undefined ? 0 : (busyMicros - last.busyMicros) >>> 0;
    const share = last === undefined ? 0 : micros / 1_000 / (atMs - last.atMs);
    const measured = { atMs, busyMicros, share, nth: (last?.nth ?? 0) + 1 };
    this.#devices.set(device, measured);
    return measured;
  }
}
