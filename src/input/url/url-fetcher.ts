import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { ServiceError } from "../../../core/domain/errors.js";
import type { WebhookSender } from "../../../core/ports/jobs.js";
import type { UrlSource } from "../../../core/ports/url-source.js";
import type { AddressPolicy } from "./address-policy.js";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface UrlFetcherOptions {
  readonly policy: AddressPolicy;
  /** Returns all addresses of a host name; tests replace the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
  readonly limits?: Partial<FetchLimits>;
}

export interface FetchLimits {
  readonly bytes: number;
  /** Time from the start to the first bytes of the body, including redirects. */
  readonly answerMs: number;
  /** Time between two chunks of the body. */
  readonly stallMs: number;
  readonly wholeMs: number;
  /** Time from the start of a POST to the head of its response. */
  readonly postMs: number;
}

const DEFAULT_FETCH_LIMITS: FetchLimits = {
  bytes: 2 ** 31,
  answerMs: 20_000,
  stallMs: 30_000,
  wholeMs: 900_000,
  postMs: 15_000,
};

interface Sent {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const NOTHING: Sent = { method: "GET", headers: {}, body: undefined };
const MAX_REDIRECTS = 3;
const REDIRECTS = [301, 302, 303, 307, 308];
/** The same text for unknown names and private hosts, so that it does not reveal which hosts exist. */
const URL_FAILURE = "cannot fetch the URL: ";
const NOT_PUBLIC = "its host must have only public addresses";

/**
 * Fetches clients' URLs, but never from private addresses.
 *
 * A name is resolved when the connection is opened, and the connection uses the addresses that were checked,
 * so a second DNS answer cannot differ. Errors contain only the status of a server's response.
 */
export class UrlFetcher implements UrlSource, WebhookSender {
  readonly #policy: AddressPolicy;
  readonly #resolve: (host: string) => Promise<readonly ResolvedAddress[]>;
  readonly #limits: FetchLimits;

  constructor({ policy, resolve = systemResolve, limits = {} }: UrlFetcherOptions) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#limits = { ...DEFAULT_FETCH_LIMITS, ...limits };
  }

  async *fetch(text: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const ending = new AbortController();
    const end = () => ending.abort();
    let timer = setTimeout(end, this.#limits.answerMs);
    const longest = setTimeout(end, this.#limits.wholeMs);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      const response = await this.#open(parseAudioUrl(text), ending.signal);
      let bytes = 0;
      for await (const chunk of response) {
        clearTimeout(timer);
        bytes += (chunk as Buffer).length;
        if (bytes > this.#limits.bytes) throw tooLarge(this.#limits.bytes);
        yield chunk as Buffer;
        // Time that the reader takes does not count.
        timer = setTimeout(end, this.#limits.stallMs);
      }
    } catch (thrown) {
      throw failureOf(thrown, signal.aborted, ending.signal.aborted);
    } finally {
      clearTimeout(timer);
      clearTimeout(longest);
      signal.removeEventListener("abort", end);
      end();
    }
  }

  check(text: string): void {
    try {
      const host = hostOf(parseAudioUrl(text));
      if (isIP(host) !== 0 && !this.#policy.allows(host)) throw refused(NOT_PUBLIC);
    } catch (thrown) {
      const { message } = thrown as ServiceError;
      const why = message.replace(URL_FAILURE, "");
      throw new ServiceError("INVALID_REQUEST", `webhook_url cannot be used: ${why}`, {
        param: "webhook_url",
      });
    }
  }

  async post(
    text: string,
    sent: Pick<Required<Sent>, "headers" | "body">,
    signal: AbortSignal,
  ): Promise<number> {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(this.#limits.postMs)]);
    const response = await this.#ask(parseAudioUrl(text), ending, { method: "POST", ...sent });
    // Only the status matters, so nothing else is read.
    response.destroy();
    return response.statusCode ?? 0;
  }

  /** Follows redirects up to a response with a usable body. */
  async #open(first: URL, signal: AbortSignal): Promise<IncomingMessage> {
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const response = await this.#ask(url, signal);
      const { statusCode = 0, headers } = response;
      if (!REDIRECTS.includes(statusCode) || headers.location === undefined) {
        this.#check(response);
        return response;
      }
      response.destroy();
      if (redirects === MAX_REDIRECTS) throw refused(`it must redirect at most ${MAX_REDIRECTS} times`);
      url = parseAudioUrl(headers.location, url);
    }
  }

  #ask(url: URL, signal: AbortSignal, sent: Sent = NOTHING): Promise<IncomingMessage> {
    // An IP address in the URL is never looked up, so check it here.
    const host = hostOf(url);
    if (isIP(host) !== 0 && !this.#policy.allows(host)) throw refused(NOT_PUBLIC);
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const { method, body, headers } = sent;
      const outgoing = request(url, {
        method,
        // Never reuse a connection that was opened for another client.
        agent: false,
        lookup: this.#lookup,
        headers: { accept: "*/*", "accept-encoding": "identity", "user-agent": "dauys", ...headers },
        signal,
      });
      outgoing.once("response", resolve);
      outgoing.once("error", reject);
      // The server upgrades although we never requested it.
      outgoing.once("upgrade", (_response, socket) => {
        socket.destroy();
        reject(refused("the server changed the protocol"));
      });
      outgoing.end(body);
    });
  }

  /** Called by the socket, which connects to the addresses that this returns. */
  readonly #lookup: LookupFunction = (host, options, callback) => {
    this.#publicAddresses(host).then(
      (addresses) => {
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };

  async #publicAddresses(host: string): Promise<readonly ResolvedAddress[]> {
    const addresses = await this.#resolve(host).catch((cause: unknown) => {
      throw refused(NOT_PUBLIC, cause);
    });
    const isPublic = addresses.length > 0 && addresses.every(({ address }) => this.#policy.allows(address));
    if (!isPublic) throw refused(NOT_PUBLIC);
    return addresses;
  }

  #check({ statusCode, headers }: IncomingMessage): void {
    if (statusCode !== 200) throw refused(`the server must respond with 200, received ${statusCode}`);
    const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
    if (encoding !== "identity" && encoding !== "")
      throw refused("the server must send it without Content-Encoding");
    if (Number(headers["content-length"] ?? 0) > this.#limits.bytes) throw tooLarge(this.#limits.bytes);
  }
}

async function systemResolve(host: string): Promise<readonly ResolvedAddress[]> {
  return lookup(host, { all: true, order: "verbatim" });
}

function failureOf(thrown: unknown, isCancelled: boolean, isEnded: boolean): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (isCancelled) return new ServiceError("CANCELLED", "the client is gone");
  if (isEnded) return refused("the server did not send it in time");
  return refused("the server could not be reached, or did not send all of it", thrown);
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError("BODY_TOO_LARGE", `the audio at the URL must be at most ${maxBytes} bytes`);
}

const LONGEST_URL = 4_096;
/** Ports below this belong to system services. Only the ports of the web are allowed among them. */
const FIRST_USER_PORT = 1_024;
const WEB_PORTS = [80, 443];

/**
 * Parses a client's URL and checks its text. Its address is checked when the connection is opened. `URL`
 * normalizes octal, hexadecimal, short, percent-encoded and full-width hosts to the address they stand for.
 *
 * @param base URL to which a redirect is relative
 * @throws {ServiceError} `URL_FETCH_FAILED`
 */
function parseAudioUrl(text: string, base?: URL): URL {
  if (text.length > LONGEST_URL) throw refused(`it must be at most ${LONGEST_URL} characters long`);
  if (!URL.canParse(text, base?.href)) throw refused("it must be an absolute http or https URL");
  const url = new URL(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refused("its scheme must be http or https");
  if (url.username !== "" || url.password !== "")
    throw refused("it must not contain a user name or password");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (port < FIRST_USER_PORT && !WEB_PORTS.includes(port)) {
    throw refused(`its port must be 80, 443 or at least ${FIRST_USER_PORT}, received ${port}`);
  }
  url.hash = "";
  return url;
}

/** Returns the host without the brackets of an IPv6 address. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** @param why reason, which must not quote a server's response */
function refused(why: string, cause?: unknown): ServiceError {
  return new ServiceError("URL_FETCH_FAILED", `${URL_FAILURE}${why}`, { cause });
}
