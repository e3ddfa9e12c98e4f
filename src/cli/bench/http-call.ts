import { Agent, type IncomingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as SecureAgent } from "node:https";
import { refusalReason } from "./refusal.js";

/** Keeps connections open, as production clients do. */
const AGENT = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const SECURE_AGENT = new SecureAgent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const TIMEOUT_MS = 120_000;

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | null;
  readonly signal: AbortSignal;
  readonly onBytes?: (bytes: Uint8Array, headers: IncomingHttpHeaders) => void;
}

export interface HttpAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly endedAtMs: number;
}

/** Sends a request. @throws {Error} with a short reason as its message, also for statuses from 400 on */
export function call({ method, url, headers, body, signal, onBytes }: HttpRequest): Promise<HttpAnswer> {
  const isSecure = url.startsWith("https:");
  return new Promise((settle, fail) => {
    const sent = (isSecure ? requestHttps : requestHttp)(url, {
      method,
      headers: {
        ...headers,
        ...(body === null ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
      },
      agent: isSecure ? SECURE_AGENT : AGENT,
      signal,
    });
    sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1_000} s`)));
    sent.on("error", (error: NodeJS.ErrnoException) => fail(new Error(error.code ?? error.message)));
    sent.on("response", (response) => {
      const { statusCode = 0 } = response;
      const parts: Buffer[] = [];
      response.on("data", (bytes: Buffer) => {
        parts.push(bytes);
        if (statusCode < 400) onBytes?.(bytes, response.headers);
      });
      response.once("error", (error: NodeJS.ErrnoException) => fail(new Error(error.code ?? error.message)));
      response.once("end", () => {
        if (statusCode >= 400) return fail(new Error(refusalReason(statusCode, Buffer.concat(parts))));
        settle({ headers: response.headers, body: Buffer.concat(parts), endedAtMs: performance.now() });
      });
    });
    sent.end(body);
  });
}

/** Closes kept-alive connections, which would keep the process running. */
export function closeConnections(): void {
  AGENT.destroy();
  SECURE_AGENT.destroy();
}

/** Credits that our service reports in a response's headers; null if it reports none. */
export function creditsOf(headers: IncomingHttpHeaders): number | null {
  const said = headers["x-svc-credits"];
  return typeof said === "string" && /^\d+$/.test(said) ? Number(said) : null;
}
