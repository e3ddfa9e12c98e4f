/** Hints on retries in a failed response. */
export interface Rejection {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number | null;
  /** Value of `x-should-retry`; null if absent. */
  readonly shouldRetry: boolean | null;
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 8_000;
/** Longest pause between attempts. If the service requests a longer one, the caller decides. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Errors that a retry cannot fix, because it cannot create credits. */
const FINAL_CODES = ["out_of_credits", "key_budget_exceeded"];
/** Statuses that proxies send if they cannot reach the service. */
const GATEWAY_STATUSES = [502, 503, 504];

/**
 * Returns whether the same request may succeed later. The service's headers decide. Without them, only
 * requests that did not reach the service are retried. Missing credits are final.
 */
export function isRetryable({ status, code, retryAfterMs, shouldRetry }: Rejection): boolean {
  if (shouldRetry === false || FINAL_CODES.includes(code)) return false;
  if (retryAfterMs !== null) return retryAfterMs <= LONGEST_RETRY_AFTER_MS;
  return shouldRetry === true || GATEWAY_STATUSES.includes(status);
}

/**
 * Returns the milliseconds until the next attempt. They grow exponentially, with jitter, so that clients
 * which lost their connections together do not reconnect together.
 *
 * @param attempt number of failed attempts, from 1
 * @param random random number from 0 to 1
 */
export function backoffMs(attempt: number, random: number): number {
  const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1));
  return longest * (0.5 + random / 2);
}

/** Returns the milliseconds of a `Retry-After`, which is in seconds or a date; null for anything else. */
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

/** Waits. @throws the signal's reason if it is aborted first */
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
