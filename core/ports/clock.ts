/** Time as an argument: tests bring their own. */
export interface Clock {
  /** Monotonic milliseconds, fractional. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => performance.now() };

/**
 * The time that services on one database agree on, for what one of them writes down and another one reads: the database's
 * own. Between two looks at it the monotonic clock goes on, so a process's wall clock may jump.
 */
export interface SharedClock {
  /** Milliseconds since 1970, fractional. */
  nowMs(): number;
}
