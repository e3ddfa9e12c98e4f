import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConnectionError } from "../client/errors.js";
import { DauysClient } from "../client/node.js";
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
/** A file of two hours takes as long as it takes; Ctrl-C ends what nobody wants to wait for. */
const TIMEOUT_MS = 24 * 3_600_000;

/**
 * The service that a command speaks to.
 *
 * @throws {UsageError} when the address is none, or no key is to be found
 */
export async function openService(input: CommandInput): Promise<DauysClient> {
  const baseUrl = input.options.text("url") ?? (input.environment["DAUYS_URL"] || DEFAULT_URL);
  const apiKey = await findKey(input);
  try {
    return new DauysClient({ baseUrl, apiKey, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Adds to a failure what the person at the keyboard can do about it. */
export function withAdvice(error: unknown): unknown {
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
