import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { ServiceError } from "../../../core/domain/errors.js";
import type { UrlSource } from "../../../core/ports/url-source.js";
import type { AddressPolicy } from "./address-policy.js";
import { hostOf, parseAudioUrl, refused } from "./url-rules.js";

/** One address of a name. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface UrlFetcherOptions {
  readonly policy: AddressPolicy;
  /** Every address of a name; the system's resolver unless a test brings its own. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
  readonly limits?: Partial<FetchLimits>;
}

export interface FetchLimits {
  readonly bytes: number;
  /** From the beginning to the first bytes of the body, redirects included. */
  readonly answerMs: number;
  /** Between two pieces of the body. */
  readonly stallMs: number;
  readonly wholeMs: number;
}

const DEFAULT_FETCH_LIMITS: FetchLimits = {
  bytes: 2 ** 31,
  answerMs: 20_000,
  stallMs: 30_000,
  wholeMs: 900_000,
};

const MAX_REDIRECTS = 3;
const REDIRECTS = [301, 302, 303, 307, 308];
/** One text for names that do not exist and names of private hosts: nobody learns which of them there are. */
const NOT_PUBLIC = "its host must have public addresses, and no others";

/**
 * Fetches what strangers point to, and reaches nothing that strangers may not reach.
 *
 * A name is resolved when it is connected to, and the connection goes to the addresses that were judged, so no second
 * answer of a name server can be another one. Nothing that a server answers, but its status, gets into an error.
 */
export class UrlFetcher implements UrlSource {
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
        // The reader's own time does not count.
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

  /** Follows redirects to an answer that holds a body to be used. */
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

  #ask(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    // An address in the URL is never looked up, so it is judged here.
    const host = hostOf(url);
    if (isIP(host) !== 0 && !this.#policy.allows(host)) throw refused(NOT_PUBLIC);
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const outgoing = request(url, {
        // A connection of its own: none that was opened for somebody else is used again.
        agent: false,
        lookup: this.#lookup,
        headers: { accept: "*/*", "accept-encoding": "identity", "user-agent": "dauys" },
        signal,
      });
      outgoing.once("response", resolve);
      outgoing.once("error", reject);
      // An answer to a request that was never made: 1xx do not come here, upgrades do.
      outgoing.once("upgrade", (_response, socket) => {
        socket.destroy();
        reject(refused("the server changed the protocol"));
      });
      outgoing.end();
    });
  }

  /** What the socket asks for the addresses that it then connects to. */
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
    if (statusCode !== 200) throw refused(`the server must answer 200, received ${statusCode}`);
    const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
    if (encoding !== "identity" && encoding !== "") throw refused("the server must send it without encoding");
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
  return new ServiceError("BODY_TOO_LARGE", `the audio behind the url must be at most ${maxBytes} bytes`);
}
