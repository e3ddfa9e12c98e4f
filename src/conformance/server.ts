/** The server under test, and what the client of the cases brings along. */
export interface Server {
  /** Base address of HTTP requests, which may have a path. */
  readonly baseUrl: string;
  /** Base address of live sockets: http or https too. */
  readonly streamUrl: string;
  readonly key: string;
  /** Speech as a WAV of 16-bit mono samples at 16 kHz. */
  readonly clip: Uint8Array;
  /** Sends audio that a case wants paced at the speed of speech. */
  readonly isPaced: boolean;
  /** How long a case waits for a message or a close, beyond what the protocol allows. */
  readonly patienceMs: number;
}

/** Enough for a model that is loaded first. */
export const PATIENCE_MS = 30_000;

export const RATE_HZ = 16_000;
/** Well formed, and never issued. */
export const WRONG_KEY = `sk-svc-${"0".repeat(48)}`;
export const UNKNOWN_TOKEN = `st-svc-${"0".repeat(48)}`;

/** Names the session or request, so that a server's log shows which case it belongs to. */
export function userAgent(name: string): string {
  return `dauys-conform (${encodeURIComponent(name)})`;
}

export function addressOf(base: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}${path}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** @throws {Error} if the server issues none */
export async function newToken({ baseUrl, key }: Server, name: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "user-agent": userAgent(name) };
  const answer = await fetch(addressOf(baseUrl, "/v1/stream/token"), { method: "POST", headers });
  const body = (await answer.json().catch(() => null)) as { readonly token?: unknown } | null;
  if (typeof body?.token === "string") return body.token;
  throw new Error(`POST /v1/stream/token returned status ${answer.status} without a token`);
}
