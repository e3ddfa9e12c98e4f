import { ApiError } from "../client/errors.js";
import type { DauysClient } from "../client/node.js";
import type { Balance, Health, Readiness } from "../client/types.js";
import { type Command, CommandError, type CommandInput, printLine, UsageError } from "./command.js";
import { openWithoutKey, SERVICE_OPTION_HELP, SERVICE_OPTIONS } from "./service-client.js";

/** A service that takes longer is in trouble, and this command is there to say so. */
const ANSWER_WITHIN_MS = 10_000;
const NO_KEY = "not known without an API key: give --key or set DAUYS_API_KEY";

export const statusCommand: Command = {
  usage: "status",
  summary:
    "Says whether the service is up and takes work, its version and models, and the balance of the key where there is one; " +
    "ends with 1 when it does not take work, or refuses the key.",
  options: { ...SERVICE_OPTIONS },
  optionHelp: SERVICE_OPTION_HELP,
  examples: ["status", "status --url https://speech.example.org --json"],
  run: status,
};

/** What a question about the credits came to. */
interface Credits {
  readonly balance: Balance | null;
  /** Why it is not known; null when it is. */
  readonly why: string | null;
  /** The key is no good. */
  readonly isRefused: boolean;
}

async function status(input: CommandInput): Promise<void> {
  const [argument] = input.positionals;
  if (argument !== undefined) throw new UsageError(`status takes no argument, received "${argument}"`);
  const { client, url, hasKey } = await openWithoutKey(input);
  const call = { maxRetries: 0, timeoutMs: ANSWER_WITHIN_MS };
  // First alone: whether anything is there at all.
  const health = await client.health(call);
  const [readiness, version, credits] = await Promise.all([
    client.readiness(call),
    versionOf(url),
    hasKey ? creditsOf(client, call) : { balance: null, why: NO_KEY, isRefused: false },
  ]);
  const found = { url, health, readiness, version, credits };
  printLine(input.options.isSet("json") ? JSON.stringify(toJson(found)) : lines(found).join("\n"));
  if (!readiness.isReady) throw new CommandError(`the service takes no work: ${readiness.detail}`);
  if (credits.isRefused) throw new CommandError(`the service refuses the key: ${credits.why}`);
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
  const held =
    balance === null || balance.held === 0 ? "" : `, ${balance.held} of them held for work that is running`;
  return [
    `service  ${url}${version === null ? "" : `, version ${version}`}`,
    `health   ${health.status}`,
    `ready    ${readiness.isReady ? "yes" : `no: ${readiness.detail}`}`,
    `models   ${health.models.join(", ")}`,
    `balance  ${balance === null ? why : `${balance.balance} credits${held}`}`,
  ];
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
    return { balance: await client.balance(call), why: null, isRefused: false };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // An older service has no such path.
    return { balance: null, why: error.message, isRefused: error.status === 401 };
  }
}

/** The version of the package that serves; null where the service does not say. */
async function versionOf(url: string): Promise<string | null> {
  try {
    const answer = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const { info } = (await answer.json()) as { readonly info?: { readonly "x-service-version"?: unknown } };
    const version = info?.["x-service-version"];
    return typeof version === "string" ? version : null;
  } catch {
    // Its health and readiness are known: that counts.
    return null;
  }
}
