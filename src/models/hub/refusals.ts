import { AddError, PassingError } from "./add-error.js";
import type { Answer } from "./client.js";

/** What was asked for, as far as a refusal speaks of it. */
interface Asked {
  readonly url: string;
  readonly name: string;
  readonly termsUrl: string | null;
}

const TOO_MANY = 429;

/**
 * What an answer that is neither 200 nor 206 means.
 *
 * @see huggingface_hub, `utils/_http.py`: the hub names the reason in `X-Error-Code`
 */
export function refusalOf(
  { url, name, termsUrl }: Asked,
  { status, headers, isFromHub }: Answer,
  longestWaitMs: number,
): Error {
  const { host } = new URL(url);
  const code = headers["x-error-code"];
  const shown = code === undefined ? String(status) : `${status}, ${code}`;
  if (status >= 500 || status === TOO_MANY || status === 408) {
    const afterMs = waitOf(headers["retry-after"]);
    const message = `${host} answers ${shown}`;
    if (afterMs === null || afterMs <= longestWaitMs) return new PassingError(message, { afterMs });
    return new AddError(`${message} and asks to come back in ${Math.round(afterMs / 60_000)} minutes`);
  }
  // A signed address of another server that has run out: the hub gives a new one.
  if (!isFromHub && (status === 401 || status === 403))
    return new PassingError(`its server answers ${shown}`);
  // Without a token the hub says 401 for a repository that is not there, too.
  if ((status === 401 || status === 403) && code !== "RepoNotFound") {
    const where = termsUrl === null ? "" : `, which has accepted the terms at ${termsUrl}`;
    return new AddError(
      `${host} does not give out ${name} (${shown}): set HF_TOKEN to a token of an account${where}`,
    );
  }
  if (status === 404 || code === "RepoNotFound")
    return new AddError(`${host} has no ${name} (${shown}): ${url}`);
  return new AddError(`${host} answers ${shown} for ${name}: ${url}`);
}

/** Seconds, or a date. */
function waitOf(retryAfter: string | undefined): number | null {
  if (retryAfter === undefined) return null;
  const seconds = Number(retryAfter);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
