/** Retry advice in a failed response. */
export interface Rejection {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number | null;
  /** `x-should-retry`; null if it is absent. */
  readonly shouldRetry: boolean | null;
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;
/** If the service requests a longer pause, the caller decides. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** A retry cannot create credits. */
const FINAL_CODES = ["out_of_credits", "key_budget_exceeded"];
/** Sent by proxies that cannot reach the service. */
const GATEWAY_STATUSES = [502, 503, 504];

/**
 * Returns whether the same request may succeed later. The service's own headers decide; without them, only
 * requests that did not reach the service are retried. Missing credits are final.
 */
export function isRetryable({ status, code, retryAfterMs, shouldRetry }: Rejection): boolean {
  if (shouldRetry === false || FINAL_CODES.includes(code)) return false;
  if (retryAfterMs !== null) return retryAfterMs <= LONGEST_RETRY_AFTER_MS;
  return shouldRetry === true || GATEWAY_STATUSES.includes(status);
}

/**
 * Returns the milliseconds until the next attempt: exponential, with jitter so that clients which lost their
 * connection together do not reconnect together.
 *
 * @param attempt failed attempts, from 1
 * @param random 0 to 1
 */
export function backoffMs(attempt: number, random: number): number {
  const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  return longest * (0.5 + random / 2);
}

/** Returns the milliseconds of a `Retry-After` in seconds or as a date; null for anything else. */
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

/** Waits. @throws the signal's reason if it aborts first */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((settle, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      settle();
    }, delayMs);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
