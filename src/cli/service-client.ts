import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ClientOptions, TranscribeOptions } from "../client/client.js";
import { ConnectionError } from "../client/errors.js";
import { DauysClient } from "../client/node.js";
import type { RedactedKind } from "../client/transcription-types.js";
import { CommandError, type CommandInput, type HelpRow, UsageError } from "./command.js";
import { isCausedBy, pathFailure } from "./failures.js";
import { addressOf, hostUrls, serviceUrl } from "./service-url.js";

export const SERVICE_OPTIONS = {
  url: { type: "string" },
  key: { type: "string" },
  json: { type: "boolean" },
} as const;

export const QUIET_OPTION = { quiet: { type: "boolean", short: "q" } } as const;

export const MODEL_ROW: HelpRow = ["--model MODEL", "Recognition model (default: the service's default)"];

export const HOT_WORDS_ROW: HelpRow = [
  "--hotwords A,B",
  "Words or phrases to prefer; A:2 prefers A more strongly",
];

export const READING_OPTIONS = {
  plain: { type: "boolean" },
  numerals: { type: "string" },
  redact: { type: "string" },
} as const;

export const READING_ROWS: readonly HelpRow[] = [
  ["--plain", "Lower-case words without punctuation or digits"],
  ["--numerals KIND", "Numbers as digits: auto (default, from ten on), all or none"],
  ["--redact A,B", "Mask personal data: phone, iin, card, email"],
];

/** Readable-text options of the client library. */
export interface ReadingChoice {
  readonly display: boolean;
  readonly numerals: TranscribeOptions["numerals"];
  readonly redact: readonly RedactedKind[];
}

/** @throws {UsageError} if `--numerals` is combined with plain words */
export function readingChoice({ options }: CommandInput): ReadingChoice {
  const display = !options.isSet("plain");
  const numerals = options.text("numerals");
  if (!display && numerals !== null) throw new UsageError("--numerals has no effect with --plain");
  const redact = options.text("redact")?.split(",") ?? [];
  // The service validates the names, and its errors list the valid ones.
  return {
    display,
    numerals: (numerals ?? undefined) as ReadingChoice["numerals"],
    redact: redact as RedactedKind[],
  };
}

/** Advice on failed connections, by system error code. */
const ADVICE: readonly { readonly codes: readonly string[]; readonly text: string }[] = [
  { codes: ["ECONNREFUSED"], text: "start the service with `npm start`, or set --url" },
  { codes: ["ENOTFOUND", "EAI_AGAIN"], text: "check the host name in --url and the network" },
  {
    codes: ["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"],
    text: "the server does not use TLS, try http:// in --url",
  },
  {
    codes: ["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    text: "the certificate is not trusted, set NODE_EXTRA_CA_CERTS to a file with its CA certificate",
  },
  {
    codes: ["HPE_INVALID_CONSTANT", "HPE_INVALID_VERSION"],
    text: "the server does not answer in plain HTTP, try https:// in --url",
  },
  {
    codes: ["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
    text: "check the address in --url and the network",
  },
];

/** Practically unlimited, for long recordings; users stop with Ctrl-C. */
const TIMEOUT_MS = 24 * 3_600_000;

/**
 * Returns a client for the service.
 *
 * @throws {UsageError} if the address is invalid or the key is missing
 */
export async function openService(input: CommandInput): Promise<DauysClient> {
  const { url } = await serviceUrl(input);
  const urls = { baseUrl: url, ...hostUrls(input) };
  const { key, path } = await findKey(input);
  if (key !== null) return clientFor(urls, key);
  throw noKey(path);
}

/** Returns the key as `openService` does, for requests that the client library does not send. */
export async function serviceKey(input: CommandInput): Promise<string> {
  return (await findKey(input)).key ?? "";
}

/**
 * Returns a client for endpoints that need no key; it uses the key if there is one.
 *
 * @throws {UsageError} if the address or the key is invalid
 */
export async function openWithoutKey(
  input: CommandInput,
): Promise<{ readonly client: DauysClient; readonly url: string; readonly hasKey: boolean }> {
  const { url } = await serviceUrl(input);
  const { key } = await findKey(input);
  return { client: clientFor({ baseUrl: url }, key), url, hasKey: key !== null };
}

/**
 * Returns the address and the key, for commands that use protocols other than the client library's.
 *
 * @param given an address typed as an argument
 * @throws {UsageError} if the address is invalid or the key is missing
 */
export async function connectionOf(
  input: CommandInput,
  given: string | null,
): Promise<{ readonly url: string; readonly key: string }> {
  const url = given === null ? (await serviceUrl(input)).url : addressOf(given, "URL", ["http", "https"]);
  const { key, path } = await findKey(input);
  if (key === null) throw noKey(path);
  return { url, key };
}

function noKey(path: string): UsageError {
  return new UsageError(
    `no API key; use --key, set DAUYS_API_KEY, or start the service once to create ${path}`,
  );
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

/** Adds advice to connection errors, and rewords system errors about paths. */
export function withAdvice(error: unknown): unknown {
  const failure = pathFailure(error);
  if (failure !== null) return new CommandError(failure, { cause: error });
  if (!(error instanceof ConnectionError)) return error;
  const advice = ADVICE.find(({ codes }) => isCausedBy(error, codes));
  return advice === undefined
    ? error
    : new CommandError(`${error.message}; ${advice.text}`, { cause: error });
}

/** Checks that a key fits into a header. @throws {UsageError}, which never contains the key */
function sendable(key: string): string {
  if (/^[!-~]+$/.test(key)) return key;
  throw new UsageError(
    "the API key must be printable ASCII without spaces; expected sk-svc- and 48 hex digits",
  );
}

/** Returns the given key or the development key of the data folder, and the path of the latter. */
async function findKey(input: CommandInput): Promise<{ readonly key: string | null; readonly path: string }> {
  const given = input.options.text("key") ?? input.environment["DAUYS_API_KEY"];
  const path = join(resolve(input.environment["DATA_DIR"] || "data"), "dev-key");
  if (given) return { key: sendable(given.trim()), path };
  const remembered = await readFile(path, "utf8").catch(() => null);
  const isThere = remembered !== null && remembered.trim() !== "";
  return { key: isThere ? sendable(remembered.trim()) : null, path };
}
