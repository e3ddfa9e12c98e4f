import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from "undici";
import { ConfigError } from "../../settings/config-error.js";
import { AddError, PassingError } from "./add-error.js";

const DEFAULT_ENDPOINT = "https://huggingface.co";
const CONNECT_MS = 20_000;
/** A server that sends nothing for so long has forgotten us. */
const STALL_MS = 30_000;
const MOST_REDIRECTS = 8;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** The other side is not who it should be: waiting does not help. */
const UNTRUSTED = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/;

type Environment = Readonly<Record<string, string | undefined>>;
export type Headers = Readonly<Record<string, string>>;

/** Where weights come from, and how that is reached. */
export interface HubOptions {
  /** The hub or a mirror of it, without a slash at its end. */
  readonly endpoint: string;
  /** Of an account there, for weights behind terms. */
  readonly token: string | null;
  readonly httpProxy: string | null;
  readonly httpsProxy: string | null;
  readonly noProxy: string;
  readonly stallMs: number;
}

/** An answer that is no redirect. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Headers of the first answer, which is the hub's own where it leads on to another server. */
  readonly firstHeaders: Headers;
  readonly isFromHub: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads no more of it. */
  drop(): void;
}

/**
 * `HF_ENDPOINT`, `HF_TOKEN`, and the usual variables of proxies, small letters first.
 * @throws {ConfigError} naming the variable; of a token its length
 */
export function readHubOptions(environment: Environment): HubOptions {
  let endpoint = environment["HF_ENDPOINT"]?.trim() || DEFAULT_ENDPOINT;
  while (endpoint.endsWith("/")) endpoint = endpoint.slice(0, -1);
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    throw new ConfigError(`HF_ENDPOINT must be an http address, received "${endpoint}"`);
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

/** Asks the hub and the servers that it leads to. The token goes to the hub alone. */
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
   * @throws {PassingError} when the server cannot be reached now
   * @throws {AddError} when it never can in this way
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
    throw new AddError(`${new URL(address).origin} leads in a circle: more than ${MOST_REDIRECTS} redirects`);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #ask(url: URL, headers: Headers, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { token } = this.options;
    const isForHub = token !== null && url.origin === this.#hubOrigin;
    try {
      return await request(url, {
        // Compressed bytes could be neither counted nor resumed.
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
        // Only what comes from the network is translated: what the reader throws is its own.
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

/** @throws {AddError} when it leads out of the protocols, or from a sealed connection to an open one */
function nextUrl(from: URL, location: string): URL {
  const next = URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  const isOpen = next?.protocol === "http:" && from.protocol === "http:";
  if (next !== null && (next.protocol === "https:" || isOpen)) return next;
  throw new AddError(`${from.origin} leads to ${next?.origin ?? "no address"}, which is not followed`);
}

function translated(error: unknown, url: URL): Error {
  const { code = "", message } = rootOf(error);
  if (UNTRUSTED.test(code)) {
    const advice = "NODE_EXTRA_CA_CERTS names a file with the certificate that signed it";
    return new AddError(`the certificate of ${url.host} is not known here (${code}): ${advice}`, {
      cause: error,
    });
  }
  return new PassingError(`${url.host}: ${WORDS[code] ?? message}`, { cause: error });
}

/** What the codes of the network mean. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refuses the connection",
  ECONNRESET: "the connection was cut",
  ENOTFOUND: "there is no such name",
  EAI_AGAIN: "its name cannot be looked up now",
  ETIMEDOUT: "no answer",
  UND_ERR_SOCKET: "the connection was cut",
  UND_ERR_CONNECT_TIMEOUT: "no answer",
  UND_ERR_HEADERS_TIMEOUT: "no answer",
  UND_ERR_BODY_TIMEOUT: "nothing came any more",
};

/** The error that the system told, below those that were made of it. */
function rootOf(error: unknown): { readonly code?: string; readonly message: string } {
  let found = error as { readonly code?: string; readonly message: string; readonly cause?: unknown };
  for (let depth = 0; depth < 8 && found?.cause instanceof Error; depth++)
    found = found.cause as typeof found;
  return found;
}

/** Of a header that came several times, the first. */
function flat(headers: Dispatcher.ResponseData["headers"]): Headers {
  const entries = Object.entries(headers).flatMap(([name, value]) => {
    const first = Array.isArray(value) ? value[0] : value;
    return first === undefined ? [] : [[name.toLowerCase(), first] as const];
  });
  return Object.fromEntries(entries);
}
