import { AddError, TransientError } from "./add-error.js";
import type { Answer } from "./client.js";

/** The requested file, for messages. */
interface Requested {
  readonly url: string;
  readonly name: string;
  readonly termsUrl: string | null;
}

const TOO_MANY = 429;

/**
 * Converts a response that is neither 200 nor 206 into an error.
 * @see huggingface_hub, `utils/_http.py`: the hub sends the reason in `X-Error-Code`
 */
export function rejectionOf(
  { url, name, termsUrl }: Requested,
  { status, headers, isFromHub }: Answer,
  longestWaitMs: number,
): Error {
  const { host } = new URL(url);
  const code = headers["x-error-code"];
  const shown = code === undefined ? String(status) : `${status}, ${code}`;
  if (status >= 500 || status === TOO_MANY || status === 408) {
    const afterMs = waitOf(headers["retry-after"]);
    const message = `${host} returned ${shown}`;
    if (afterMs === null || afterMs <= longestWaitMs) return new TransientError(message, { afterMs });
    return new AddError(`${message} and requests a pause of ${Math.round(afterMs / 60_000)} minutes`);
  }
  // Another server's signed URL has expired; the hub issues a new one.
  if (!isFromHub && (status === 401 || status === 403))
    return new TransientError(`its server returned ${shown}`);
  // Without a token, the hub returns 401 for a missing repository, too.
  if ((status === 401 || status === 403) && code !== "RepoNotFound") {
    const where = termsUrl === null ? "" : `, which has accepted the terms at ${termsUrl}`;
    return new AddError(
      `${host} denies access to ${name} (${shown}): set HF_TOKEN to a token of an account${where}`,
    );
  }
  if (status === 404 || code === "RepoNotFound")
    return new AddError(`${host} has no ${name} (${shown}): ${url}`);
  return new AddError(`${host} returned ${shown} for ${name}: ${url}`);
}

/** Parses seconds or a date into milliseconds from now. */
function waitOf(retryAfter: string | undefined): number | null {
  if (retryAfter === undefined) return null;
  const seconds = Number(retryAfter);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
