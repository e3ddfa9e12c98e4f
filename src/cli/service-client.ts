import { readFile } from "node:fs/promises";
import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CommandError, type CommandInput, UsageError } from "./command.js";

/** Options of every command that speaks to the service. */
export const SERVICE_OPTIONS = {
  url: { type: "string" },
  key: { type: "string" },
  json: { type: "boolean" },
} as const;

export const SERVICE_OPTION_HELP = [
  "--url URL  address of the service (DAUYS_URL; http://127.0.0.1:8080)",
  "--key KEY  API key (DAUYS_API_KEY; the development key of DATA_DIR)",
];

const DEFAULT_URL = "http://127.0.0.1:8080";
const LONGEST_ERROR_BYTES = 64 * 1024;

export interface ServicePost {
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array | Readable;
}

/** The service, as a client sees it. */
export class ServiceClient {
  readonly url: URL;
  readonly #key: string;

  private constructor(url: URL, key: string) {
    this.url = url;
    this.#key = key;
  }

  /** @throws {UsageError} when the address is none, or no key is to be found */
  static async open(input: CommandInput): Promise<ServiceClient> {
    const text = input.options.text("url") ?? (input.environment["DAUYS_URL"] || DEFAULT_URL);
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
      throw new UsageError(`the service's address must begin with http:// or https://, received "${text}"`);
    }
    // A base that ends with a slash keeps its own path when paths are added.
    url.pathname = url.pathname.replace(/\/*$/, "/");
    return new ServiceClient(url, await findKey(input));
  }

  get authorization(): string {
    return `Bearer ${this.#key}`;
  }

  /** The address of a path of the interface, "v1/tts". */
  address(path: string): URL {
    return new URL(path, this.url);
  }

  /**
   * Posts and waits for the head of a 200; its body is still to be read.
   *
   * @throws {CommandError} with the service's own detail when it refuses
   */
  async post({ path, headers, body }: ServicePost): Promise<IncomingMessage> {
    const url = this.address(path);
    const start = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = start(url, {
      method: "POST",
      headers: { ...headers, authorization: this.authorization },
    });
    const answered = new Promise<IncomingMessage>((settle, fail) => {
      request.once("response", settle);
      request.once("error", (error) => fail(unreachable(this.url, error)));
    });
    if (body instanceof Uint8Array) request.end(body);
    // A service that refuses early stops reading: its answer counts, not the broken upload.
    else pipeline(body, request).catch((error) => request.destroy(error));
    const response = await answered;
    if (response.statusCode === 200) return response;
    const reason = await refusal(response);
    // What is left of an upload is of no use to anybody.
    request.destroy();
    throw new CommandError(reason);
  }
}

/** What a refusal says: the `detail` of its body, or its status. */
export async function refusal(response: IncomingMessage): Promise<string> {
  const text = (await readAll(response, LONGEST_ERROR_BYTES)).toString("utf8");
  const status = `HTTP ${response.statusCode}`;
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === "string") return `${detail} (${status})`;
  } catch {
    // Something between us and the service answered in its own words.
  }
  return `the service answered ${status}`;
}

/** Collects a stream, up to `limitBytes`. */
export async function readAll(stream: Readable, limitBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > limitBytes) break;
  }
  return Buffer.concat(parts);
}

/** A failure to connect, in words that name the address and what to do. */
export function unreachable(url: URL, cause: Error): CommandError {
  const code = "code" in cause ? String(cause.code) : cause.message;
  const advice =
    code === "ECONNREFUSED" ? "; is it running? Start it with `npm start`, or name another with --url" : "";
  return new CommandError(`Cannot reach the service at ${url.origin}: ${code}${advice}`, { cause });
}

async function findKey(input: CommandInput): Promise<string> {
  const given = input.options.text("key") ?? input.environment["DAUYS_API_KEY"];
  if (given) return given.trim();
  const path = join(resolve(input.environment["DATA_DIR"] || "data"), "dev-key");
  const remembered = await readFile(path, "utf8").catch(() => null);
  if (remembered !== null) return remembered.trim();
  throw new UsageError(
    `no API key: give --key, set DAUYS_API_KEY, or start the service once, which writes ${path}`,
  );
}
