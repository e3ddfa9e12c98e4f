import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ClientOptions } from "../client/client.js";
import { ConnectionError } from "../client/errors.js";
import { DauysClient } from "../client/node.js";
import { CommandError, type CommandInput, UsageError } from "./command.js";
import { isCausedBy, pathFailure } from "./failures.js";
import { hostUrls, serviceUrl, URL_HELP } from "./service-url.js";

/** Options of every command that speaks to the service. */
export const SERVICE_OPTIONS = {
  url: { type: "string" },
  key: { type: "string" },
  json: { type: "boolean" },
} as const;

export const SERVICE_OPTION_HELP = [
  URL_HELP,
  "--key KEY  API key (DAUYS_API_KEY; the development key of DATA_DIR)",
];

/** Of commands that remark on what they do. */
export const QUIET_OPTION = { quiet: { type: "boolean", short: "q" } } as const;
export const QUIET_HELP = "-q, --quiet  neither progress nor remarks on standard error, failures only";

export const MODEL_HELP = "--model MODEL  a model that transcribes; the service's default when absent";

export const HOT_WORDS_HELP = "--hotwords A,B  words or phrases to be preferred; A:2 prefers one more";

/** What a person can do about a connection that failed, by the system's codes for it. */
const ADVICE: readonly { readonly codes: readonly string[]; readonly text: string }[] = [
  { codes: ["ECONNREFUSED"], text: "is it running? Start it with `npm start`, or name another with --url" },
  { codes: ["ENOTFOUND", "EAI_AGAIN"], text: "is the name in --url right, and the network there?" },
  {
    codes: ["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"],
    text: "it speaks no TLS there: try http:// in --url",
  },
  {
    codes: ["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    text: "its certificate is not known here: NODE_EXTRA_CA_CERTS names a file with the one that signed it",
  },
  {
    codes: ["HPE_INVALID_CONSTANT", "HPE_INVALID_VERSION"],
    text: "it speaks no HTTP there: try https:// in --url",
  },
  {
    codes: ["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
    text: "is the address in --url right, and the network there?",
  },
];

/** A file of two hours takes as long as it takes; Ctrl-C ends what nobody wants to wait for. */
const TIMEOUT_MS = 24 * 3_600_000;

/**
 * The service that a command speaks to.
 *
 * @throws {UsageError} when the address is none, or no key is to be found
 */
export async function openService(input: CommandInput): Promise<DauysClient> {
  const { url } = await serviceUrl(input);
  return clientFor({ baseUrl: url, ...hostUrls(input) }, await findKey(input));
}

/**
 * The same for what needs no key, and takes one where there is one.
 *
 * @throws {UsageError} when the address is none, and for a key that could not be sent
 */
export async function openWithoutKey(
  input: CommandInput,
): Promise<{ readonly client: DauysClient; readonly url: string; readonly hasKey: boolean }> {
  const { url } = await serviceUrl(input);
  const { key } = await lookForKey(input);
  return { client: clientFor({ baseUrl: url }, key), url, hasKey: key !== null };
}

type Urls = Pick<ClientOptions, "baseUrl" | "sttUrl" | "streamUrl">;

function clientFor(urls: Urls, apiKey: string | null): DauysClient {
  try {
    return new DauysClient({ ...urls, apiKey: apiKey ?? undefined, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Adds to a failure what the person at the keyboard can do about it, and takes the system's words out of it. */
export function withAdvice(error: unknown): unknown {
  const failure = pathFailure(error);
  if (failure !== null) return new CommandError(failure, { cause: error });
  if (!(error instanceof ConnectionError)) return error;
  const advice = ADVICE.find(({ codes }) => isCausedBy(error, codes));
  return advice === undefined
    ? error
    : new CommandError(`${error.message}; ${advice.text}`, { cause: error });
}

/** A header carries only this. @throws {UsageError} that does not repeat the key */
function sendable(key: string): string {
  if (/^[!-~]+$/.test(key)) return key;
  throw new UsageError("the API key must be printable ASCII without spaces: sk-svc- and 48 hex digits");
}

/** @throws {UsageError} when there is none, and for one that could not be sent */
async function findKey(input: CommandInput): Promise<string> {
  const { key, path } = await lookForKey(input);
  if (key !== null) return key;
  throw new UsageError(
    `no API key: give --key, set DAUYS_API_KEY, or start the service once, which writes ${path}`,
  );
}

/** The key that was given, or that of the data folder, whose path is told as well. */
async function lookForKey(
  input: CommandInput,
): Promise<{ readonly key: string | null; readonly path: string }> {
  const given = input.options.text("key") ?? input.environment["DAUYS_API_KEY"];
  const path = join(resolve(input.environment["DATA_DIR"] || "data"), "dev-key");
  if (given) return { key: sendable(given.trim()), path };
  const remembered = await readFile(path, "utf8").catch(() => null);
  const isThere = remembered !== null && remembered.trim() !== "";
  return { key: isThere ? sendable(remembered.trim()) : null, path };
}
