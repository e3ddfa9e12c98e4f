/** Time as an argument: tests bring their own. */
export interface Clock {
  /** Monotonic milliseconds, fractional. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => performance.now() };
