import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { ConfigError } from "../../settings/config-error.js";
import { AddError, TransientError } from "./add-error.js";

const DEFAULT_ENDPOINT = "https://huggingface.co";
const CONNECT_MS = 20_000;
/** A request that receives no byte for this long fails. */
const STALL_MS = 30_000;
const MOST_REDIRECTS = 8;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Certificate errors, which a retry cannot fix. */
const UNTRUSTED = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/;

type Environment = Readonly<Record<string, string | undefined>>;
export type Headers = Readonly<Record<string, string>>;

/** How to reach the hub. */
export interface HubOptions {
  /** URL of the hub or of a mirror, without a trailing slash. */
  readonly endpoint: string;
  /** Access token, needed for weights whose terms must be accepted. */
  readonly token: string | null;
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: string;
  readonly stallMs: number;
}

/** The response after all redirects. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Headers of the first response; if the hub redirects to another server, these are the hub's own. */
  readonly firstHeaders: Headers;
  readonly isFromHub: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Stops reading the body. */
  drop(): void;
}

/**
 * Reads `HF_ENDPOINT`, `HF_TOKEN`, and the usual proxy variables, in lower case first.
 * @throws {ConfigError} with the name of the variable, but only the length of a token
 */
export function readHubOptions(environment: Environment): HubOptions {
  let endpoint = environment["HF_ENDPOINT"]?.trim() || DEFAULT_ENDPOINT;
  while (endpoint.endsWith("/")) endpoint = endpoint.slice(0, -1);
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    throw new ConfigError(`HF_ENDPOINT must be an HTTP URL, received "${endpoint}"`);
  const token = environment["HF_TOKEN"]?.trim() || null;
  if (token !== null && !/^[!-~]+$/.test(token))
    throw new ConfigError(
      `HF_TOKEN must be printable ASCII without spaces, received ${token.length} characters`,
    );
  const proxy = (name: string) => environment[name] || environment[name.toUpperCase()] || null;
  return {
    endpoint,
    token,
    httpProxy: proxy("http_proxy"),
    httpsProxy: proxy("https_proxy"),
    noProxy: proxy("no_proxy") ?? "",
    stallMs: STALL_MS,
  };
}

/** Sends requests to the hub and to servers that it redirects to. Only the hub gets the token. */
export class HubClient {
  readonly options: HubOptions;
  readonly #dispatcher: Dispatcher;
  readonly #hubOrigin: string;

  constructor(options: HubOptions) {
    this.options = options;
    this.#hubOrigin = new URL(options.endpoint).origin;
    this.#dispatcher = dispatcherFor(options);
  }

  /**
   * @throws {TransientError} if the server cannot be reached at present
   * @throws {AddError} if a retry would not help
   */
  async open(address: string, headers: Headers, signal: AbortSignal): Promise<Answer> {
    let url = new URL(address);
    let firstHeaders: Headers | null = null;
    for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
      const found = await this.#ask(url, headers, signal);
      const foundHeaders = flat(found.headers);
      firstHeaders ??= foundHeaders;
      const { location } = foundHeaders;
      if (REDIRECTS.has(found.statusCode) && location !== undefined) {
        await found.body.dump();
        url = nextUrl(url, location);
        continue;
      }
      return {
        status: found.statusCode,
        headers: foundHeaders,
        firstHeaders,
        isFromHub: url.origin === this.#hubOrigin,
        body: this.#read(found.body, url),
        drop: () => void found.body.on("error", () => {}).destroy(),
      };
    }
    throw new AddError(`${new URL(address).origin} redirects more than ${MOST_REDIRECTS} times`);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #ask(url: URL, headers: Headers, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { token } = this.options;
    const isForHub = token !== null && url.origin === this.#hubOrigin;
    try {
      return await request(url, {
        // Compressed bodies could be neither counted nor resumed.
        headers: {
          "user-agent": "dauys",
          "accept-encoding": "identity",
          ...headers,
          ...(isForHub ? { authorization: `Bearer ${token}` } : {}),
        },
        dispatcher: this.#dispatcher,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw translated(error, url);
    }
  }

  async *#read(body: AsyncIterable<Uint8Array>, url: URL): AsyncIterable<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        // Translate only network errors, not exceptions of the reader.
        const next = await chunks.next().catch((error: unknown) => {
          throw translated(error, url);
        });
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await chunks.return?.();
    }
  }
}

function dispatcherFor({ httpProxy, httpsProxy, noProxy, stallMs }: HubOptions): Dispatcher {
  const common = { connect: { timeout: CONNECT_MS }, headersTimeout: stallMs, bodyTimeout: stallMs };
  if (httpProxy === null && httpsProxy === null) return new Agent(common);
  return new EnvHttpProxyAgent({
    ...common,
    noProxy,
    ...(httpProxy === null ? {} : { httpProxy }),
    ...(httpsProxy === null ? {} : { httpsProxy }),
  });
}

/** @throws {AddError} if the protocol is not HTTP, or if a redirect leads from https to http */
function nextUrl(from: URL, location: string): URL {
  const next = URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  const isOpen = next?.protocol === "http:" && from.protocol === "http:";
  if (next !== null && (next.protocol === "https:" || isOpen)) return next;
  throw new AddError(`${from.origin} redirects to ${next?.origin ?? "no URL"}, which is not allowed`);
}

function translated(error: unknown, url: URL): Error {
  const { code = "", message } = rootOf(error);
  if (UNTRUSTED.test(code)) {
    const advice = "set NODE_EXTRA_CA_CERTS to a file with the certificate that signed it";
    return new AddError(`the certificate of ${url.host} is not trusted here (${code}): ${advice}`, {
      cause: error,
    });
  }
  return new TransientError(`${url.host}: ${DESCRIPTIONS[code] ?? message}`, { cause: error });
}

/** Descriptions of network error codes. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses the connection",
  ECONNRESET: "the connection was cut",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "its name cannot be resolved at present",
  ETIMEDOUT: "no answer",
  UND_ERR_SOCKET: "the connection was cut",
  UND_ERR_CONNECT_TIMEOUT: "no answer",
  UND_ERR_HEADERS_TIMEOUT: "no answer",
  UND_ERR_BODY_TIMEOUT: "no more data",
};

/** Finds the system error inside the errors that wrap it. */
function rootOf(error: unknown): { readonly code?: string; readonly message: string } {
  let found = error as { readonly code?: string; readonly message: string; readonly cause?: unknown };
  for (let depth = 0; depth < 8 && found?.cause instanceof Error; depth++)
    found = found.cause as typeof found;
  return found;
}

/** Keeps only the first of repeated headers. */
function flat(headers: Dispatcher.ResponseData["headers"]): Headers {
  const entries = Object.entries(headers).flatMap(([name, value]) => {
    const first = Array.isArray(value) ? value[0] : value;
    return first === undefined ? [] : [[name.toLowerCase(), first] as const];
  });
  return Object.fromEntries(entries);
}
