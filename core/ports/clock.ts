/** Time as a dependency, so that tests can control it. */
export interface Clock {
  /** Monotonic milliseconds, fractional. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => performance.now() };

/**
 * The database's time, on which all services with that database agree. Between two readings the monotonic
 * clock continues it, so a process's wall clock may jump.
 */
export interface SharedClock {
  /** Milliseconds since 1970, fractional. */
  nowMs(): number;
}
