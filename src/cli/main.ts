import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ConfigError } from "../settings/config-error.js";
import {
  type Command,
  type CommandInput,
  type Environment,
  Options,
  printLine,
  printNote,
  UsageError,
} from "./command.js";
import { Interrupted } from "./interruption.js";
import { keysCommand } from "./keys.js";
import { ledgerCommand } from "./ledger.js";
import { listenCommand } from "./listen.js";
import { organizationsCommand } from "./organizations.js";
import { withAdvice } from "./service-client.js";
import { speakCommand } from "./speak.js";
import { guardStandardStreams } from "./standard-streams.js";
import { transcribeCommand } from "./transcribe.js";
import { usageCommand } from "./usage.js";
import { usersCommand } from "./users.js";
import { vouchersCommand } from "./vouchers.js";

const COMMANDS: Readonly<Record<string, Command>> = {
  speak: speakCommand,
  transcribe: transcribeCommand,
  listen: listenCommand,
  keys: keysCommand,
  orgs: organizationsCommand,
  ledger: ledgerCommand,
  usage: usageCommand,
  vouchers: vouchersCommand,
  users: usersCommand,
};

const OK = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs one command line, without the program's name.
 *
 * @returns the exit code: 0 done, 1 failed, 2 not understood, 128 and more for a signal
 */
export async function runCommandLine(args: readonly string[], environment: Environment): Promise<number> {
  guardStandardStreams();
  const [name, ...rest] = args;
  if (name === "--version") return print(version());
  if (name === "--help" || name === "-h" || name === "help") return print(overview());
  // Own properties only: "constructor" is no command.
  const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    printNote(name === undefined ? overview() : `dauys: unknown command "${name}"\n\n${overview()}`);
    return WRONG_USAGE;
  }
  if (rest.includes("--help") || rest.includes("-h")) return print(helpOf(command));
  try {
    await command.run(parse(command, rest, environment));
    return OK;
  } catch (thrown) {
    const error = withAdvice(thrown);
    printNote(`dauys: ${oneLine(error instanceof Error ? error.message : String(error))}`);
    if (error instanceof Interrupted) return error.exitCode;
    if (!(error instanceof UsageError) && !(error instanceof ConfigError)) return FAILED;
    if (error instanceof UsageError) printNote(`usage: dauys ${command.usage}`);
    return WRONG_USAGE;
  }
}

function parse(command: Command, args: readonly string[], environment: Environment): CommandInput {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: command.options,
      allowPositionals: true,
      strict: true,
    });
    return { positionals, options: new Options(values), environment };
  } catch (error) {
    // Its own errors speak of options and values, which is what the user typed.
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Messages of others may have several. */
function oneLine(message: string): string {
  return message
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

function overview(): string {
  const rows = Object.values(COMMANDS).map((command) => `  dauys ${command.usage}\n      ${command.summary}`);
  return `Dauys: Kazakh speech from the command line.\n\n${rows.join("\n")}\n\nEach command explains itself with --help.`;
}

function helpOf(command: Command): string {
  const options = command.optionHelp.map((line) => `  ${line}`).join("\n");
  return `usage: dauys ${command.usage}\n\n${command.summary}\n\n${options}\n  --json  print the result as JSON`;
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  return (manifest as { version: string }).version;
}

function print(text: string): number {
  printLine(text);
  return OK;
}
