import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConnectionError } from "../client/errors.js";
import { DauysClient } from "../client/node.js";
import { CommandError, type CommandInput, UsageError } from "./command.js";
import { pathFailure } from "./failures.js";
import { serviceUrl, URL_HELP } from "./service-url.js";

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

export const HOT_WORDS_HELP = "--hotwords A,B  words or phrases to be preferred; A:2 prefers one more";

/** A file of two hours takes as long as it takes; Ctrl-C ends what nobody wants to wait for. */
const TIMEOUT_MS = 24 * 3_600_000;

/**
 * The service that a command speaks to.
 *
 * @throws {UsageError} when the address is none, or no key is to be found
 */
export async function openService(input: CommandInput): Promise<DauysClient> {
  const { url: baseUrl } = await serviceUrl(input);
  const apiKey = await findKey(input);
  try {
    return new DauysClient({ baseUrl, apiKey, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Adds to a failure what the person at the keyboard can do about it, and takes the system's words out of it. */
export function withAdvice(error: unknown): unknown {
  const failure = pathFailure(error);
  if (failure !== null) return new CommandError(failure, { cause: error });
  if (!(error instanceof ConnectionError) || !error.message.includes("ECONNREFUSED")) return error;
  const advice = "; is it running? Start it with `npm start`, or name another with --url";
  return new CommandError(error.message + advice, { cause: error });
}

/** Collects standard input. */
export async function readStandardInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

/** A header carries only this. @throws {UsageError} that does not repeat the key */
function sendable(key: string): string {
  if (/^[!-~]+$/.test(key)) return key;
  throw new UsageError("the API key must be printable ASCII without spaces: sk-svc- and 48 hex digits");
}

async function findKey(input: CommandInput): Promise<string> {
  const given = input.options.text("key") ?? input.environment["DAUYS_API_KEY"];
  if (given) return sendable(given.trim());
  const path = join(resolve(input.environment["DATA_DIR"] || "data"), "dev-key");
  const remembered = await readFile(path, "utf8").catch(() => null);
  if (remembered !== null && remembered.trim() !== "") return sendable(remembered.trim());
  throw new UsageError(
    `no API key: give --key, set DAUYS_API_KEY, or start the service once, which writes ${path}`,
  );
}
