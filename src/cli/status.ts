import { ApiError } from "../client/errors.js";
import type { DauysClient } from "../client/node.js";
import type { Balance, Health, Readiness } from "../client/service-types.js";
import { type Command, CommandError, type CommandInput, printResult, requireNoArguments } from "./command.js";
import { openWithoutKey, SERVICE_OPTIONS } from "./service-client.js";
import { aligned } from "./table.js";

/** A healthy service answers much sooner than this. */
const ANSWER_WITHIN_MS = 10_000;
const NO_KEY = "unknown without an API key; use --key or set DAUYS_API_KEY";

export const statusCommand: Command = {
  usage: "status",
  summary: "Show whether the service is up, its models and your balance",
  description: "Show the service's health, readiness, version and models, and the balance of the API key.",
  options: { ...SERVICE_OPTIONS },
  optionHelp: [],
  note: "Exits with 1 if the service is not ready or rejects the key.",
  examples: ["status", "status --url https://speech.example.org --json"],
  run: status,
};

interface Credits {
  readonly balance: Balance | null;
  /** Why the balance is unknown; null if it is known. */
  readonly why: string | null;
  readonly isRejected: boolean;
}

async function status(input: CommandInput): Promise<void> {
  requireNoArguments(input, "status");
  const { client, url, hasKey } = await openWithoutKey(input);
  const call = { maxRetries: 0, timeoutMs: ANSWER_WITHIN_MS };
  // Check the health first, so that an unreachable service is reported only once.
  const health = await client.health(call);
  const [readiness, version, credits] = await Promise.all([
    client.readiness(call),
    versionOf(url),
    hasKey ? creditsOf(client, call) : { balance: null, why: NO_KEY, isRejected: false },
  ]);
  const found = { url, health, readiness, version, credits };
  printResult(input, toJson(found), lines(found).join("\n"));
  if (!readiness.isReady) throw new CommandError(`the service is not ready: ${readiness.detail}`);
  if (credits.isRejected) throw new CommandError(`the service rejected the key: ${credits.why}`);
}

interface Status {
  readonly url: string;
  readonly health: Health;
  readonly readiness: Readiness;
  readonly version: string | null;
  readonly credits: Credits;
}

function lines({ url, health, readiness, version, credits }: Status): readonly string[] {
  const { balance, why } = credits;
  const held = balance === null || balance.held === 0 ? "" : ` (${balance.held} held for running requests)`;
  return aligned([
    ["service", `${url}${version === null ? "" : `, version ${version}`}`],
    ["health", health.status],
    ["ready", readiness.isReady ? "yes" : `no: ${readiness.detail}`],
    ["models", health.models.join(", ")],
    ["balance", balance === null ? `${why}` : `${balance.balance} credits${held}`],
  ]);
}

function toJson({ url, health, readiness, version, credits }: Status) {
  return {
    url,
    version,
    health: health.status,
    ready: readiness.isReady,
    ready_detail: readiness.detail,
    models: health.models,
    balance: credits.balance,
    balance_detail: credits.why,
  };
}

async function creditsOf(client: DauysClient, call: { readonly timeoutMs: number }): Promise<Credits> {
  try {
    return { balance: await client.balance(call), why: null, isRejected: false };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Older services do not have this endpoint.
    return { balance: null, why: error.message, isRejected: error.status === 401 };
  }
}

async function versionOf(url: string): Promise<string | null> {
  try {
    const answer = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const { info } = (await answer.json()) as { readonly info?: { readonly "x-service-version"?: unknown } };
    const version = info?.["x-service-version"];
    return typeof version === "string" ? version : null;
  } catch {
    // The version is optional, and health and readiness are already known.
    return null;
  }
}
