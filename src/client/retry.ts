/** What an answer that is no success says about trying again. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number | null;
  /** `x-should-retry`; null when it is absent. */
  readonly shouldRetry: boolean | null;
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;
/** A service that wants a longer pause has the caller decide. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** What something between the client and the service answers when it cannot reach it. */
const UNREACHED = [502, 503, 504];

/**
 * Whether the same request may succeed later. A service that says so itself is believed; without a word about it, only
 * what never reached it is tried again. No retry creates credits.
 */
export function isRetryable({ status, code, retryAfterMs, shouldRetry }: Refusal): boolean {
  if (code === "out_of_credits" || shouldRetry === false) return false;
  if (retryAfterMs !== null) return retryAfterMs <= LONGEST_RETRY_AFTER_MS;
  return shouldRetry === true || UNREACHED.includes(status);
}

/**
 * Milliseconds until the next try: doubled each time, and spread so that clients who were cut off together do not come
 * back together.
 *
 * @param attempt tries that have failed, from 1
 * @param random 0 to 1
 */
export function backoffMs(attempt: number, random: number): number {
  const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  return longest * (0.5 + random / 2);
}

/** Milliseconds that a `Retry-After` asks for, be it seconds or a date; null when it is neither. */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

export function parseShouldRetry(value: string | null): boolean | null {
  if (value === "true") return true;
  return value === "false" ? false : null;
}
