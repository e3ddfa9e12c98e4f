/** The server under test, and the key, clip and timing that its cases use. */
export interface Server {
  /** Base URL of HTTP requests, which may include a path. */
  readonly baseUrl: string;
  /** Base URL of live sockets, as an http or https URL too. */
  readonly streamUrl: string;
  readonly key: string;
  /** Speech as a WAV of 16-bit mono samples at 16 kHz. */
  readonly clip: Uint8Array;
  /** Whether to pace audio at the speed of speech in cases that allow it. */
  readonly isPaced: boolean;
  /** Time that a case waits for a message or a close, beyond what the protocol allows. */
  readonly patienceMs: number;
}

/** Long enough for a server that must first load a model. */
export const PATIENCE_MS = 30_000;

export const RATE_HZ = 16_000;
/** A well-formed key that was never issued. */
export const WRONG_KEY = `sk-svc-${"0".repeat(48)}`;
export const UNKNOWN_TOKEN = `st-svc-${"0".repeat(48)}`;

/** Names the session or request, so that the server's log shows to which case it belongs. */
export function userAgent(name: string): string {
  return `dauys-conform (${encodeURIComponent(name)})`;
}

export function addressOf(base: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** Gets a token from the server. @throws {Error} if the server issues none */
export async function newToken({ baseUrl, key }: Server, name: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "user-agent": userAgent(name) };
  const answer = await fetch(addressOf(baseUrl, "/v1/stream/token"), { method: "POST", headers });
  const body = (await answer.json().catch(() => null)) as { readonly token?: unknown } | null;
  if (typeof body?.token === "string") return body.token;
  throw new Error(`POST /v1/stream/token returned status ${answer.status} without a token`);
}
