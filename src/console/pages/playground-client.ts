import { ApiError, DauysClient } from "../../client/browser.js";
import { callApi } from "./api.js";

/** A key is replaced so long before it ends: a long upload begins with one that lasts. */
const SPARE_MS = 60_000;

let held: { readonly organization: string; readonly key: string; readonly untilMs: number } | null = null;

/**
 * The client library over a key that lives for minutes, in this page's memory only.
 *
 * @throws {Problem}
 */
export async function playgroundClient(organization: string): Promise<DauysClient> {
  if (held === null || held.organization !== organization || held.untilMs < performance.now()) {
    const { key, expires_in } = await callApi<{ readonly key: string; readonly expires_in: number }>(
      "POST",
      `/organizations/${organization}/playground-key`,
    );
    held = { organization, key, untilMs: performance.now() + expires_in * 1_000 - SPARE_MS };
  }
  return new DauysClient({ baseUrl: location.origin, apiKey: held.key });
}

/** For live sessions, which outlast a key: each connection asks for a token with a fresh one. */
export function liveClient(organization: string): DauysClient {
  const token = async (signal: AbortSignal) => {
    const client = await playgroundClient(organization);
    return (await client.streamToken({ signal })).token;
  };
  const streamToken = (signal: AbortSignal) =>
    token(signal).catch((thrown: unknown) => {
      if (!dropRejectedKey(thrown)) throw thrown;
      return token(signal);
    });
  return new DauysClient({ baseUrl: location.origin, streamToken });
}

/** A service that was restarted knows no key of before: the next one is fresh. True when that was the reason. */
export function dropRejectedKey(thrown: unknown): boolean {
  const isRefused = thrown instanceof ApiError && thrown.status === 401;
  if (isRefused) held = null;
  return isRefused;
}
