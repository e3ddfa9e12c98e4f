import { ApiError, DauysClient } from "../../client/browser.js";
import { callApi } from "./api.js";

/** A key is replaced this long before it expires, so that a long upload starts with a fresh key. */
const SPARE_MS = 60_000;

let held: { readonly organization: string; readonly key: string; readonly untilMs: number } | null = null;

/** Returns a client whose key expires in minutes and exists only in the page's memory. @throws {Problem} */
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

/** Returns a client for live sessions, which outlast a key: each connection gets a token from a valid key. */
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

/** Drops the key if the service rejected it, for example after a restart. Returns whether it did. */
export function dropRejectedKey(thrown: unknown): boolean {
  const isRefused = thrown instanceof ApiError && thrown.status === 401;
  if (isRefused) held = null;
  return isRefused;
}
