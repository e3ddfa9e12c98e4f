import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { nearestName } from "../domain/text/nearest-name.js";
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
import { doctorCommand } from "./doctor.js";
import { type Commands, helpOf, overview } from "./help.js";
import { Interrupted } from "./interruption.js";
import { keysCommand } from "./keys.js";
import { ledgerCommand } from "./ledger.js";
import { listenCommand } from "./listen.js";
import { modelsCommand } from "./models.js";
import { organizationsCommand } from "./organizations.js";
import { withAdvice } from "./service-client.js";
import { speakCommand } from "./speak.js";
import { guardStandardStreams } from "./standard-streams.js";
import { statusCommand } from "./status.js";
import { transcribeCommand } from "./transcribe.js";
import { usageCommand } from "./usage.js";
import { usersCommand } from "./users.js";
import { vouchersCommand } from "./vouchers.js";

const COMMANDS: Commands = {
  forUsers: {
    speak: speakCommand,
    transcribe: transcribeCommand,
    listen: listenCommand,
    status: statusCommand,
    usage: usageCommand,
  },
  forOperators: {
    keys: keysCommand,
    orgs: organizationsCommand,
    ledger: ledgerCommand,
    vouchers: vouchersCommand,
    users: usersCommand,
    models: modelsCommand,
    doctor: doctorCommand,
  },
};
const BY_NAME: Readonly<Record<string, Command>> = { ...COMMANDS.forUsers, ...COMMANDS.forOperators };

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
  if (name === "--version" || name === "version") return print(version());
  if (name === "--help" || name === "-h" || name === "help") return help(rest[0]);
  const command = commandOf(name);
  if (command === null) {
    printNote(name === undefined ? overview(COMMANDS) : unknownCommand(name));
    return WRONG_USAGE;
  }
  if (asksForHelp(rest)) return print(helpOf(command));
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

/** `help`, or `help COMMAND`. */
function help(name: string | undefined): number {
  const command = commandOf(name);
  if (command !== null) return print(helpOf(command));
  if (name === undefined) return print(overview(COMMANDS));
  printNote(unknownCommand(name));
  return WRONG_USAGE;
}

function commandOf(name: string | undefined): Command | null {
  // Own properties only: "constructor" is no command.
  return name !== undefined && Object.hasOwn(BY_NAME, name) ? BY_NAME[name]! : null;
}

function unknownCommand(name: string): string {
  const nearest = nearestName(name, Object.keys(BY_NAME));
  // A key that was put where a command belongs is not repeated.
  const shown = name.replace(/sk-svc-.*/s, "sk-svc-...");
  if (nearest === null) return `dauys: unknown command "${shown}"\n\n${overview(COMMANDS)}`;
  return `dauys: unknown command "${shown}": did you mean "${nearest}"? See \`dauys ${nearest} --help\``;
}

/** Behind `--` everything is an argument. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return (end === -1 ? args : args.slice(0, end)).some((arg) => arg === "--help" || arg === "-h");
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
    const message = error instanceof Error ? error.message : String(error);
    const isUnknown = (error as NodeJS.ErrnoException).code === "ERR_PARSE_ARGS_UNKNOWN_OPTION";
    const option = isUnknown ? /'(-[^']*)'/.exec(message)?.[1] : undefined;
    // Its other errors speak of options and values, which is what the user typed.
    const told = option === undefined ? message : unknownOption(option, Object.keys(command.options));
    throw new UsageError(told, { cause: error });
  }
}

function unknownOption(option: string, known: readonly string[]): string {
  const nearest = option.startsWith("--") ? nearestName(option.slice(2), known) : null;
  if (nearest !== null) return `unknown option ${option}: did you mean --${nearest}?`;
  return `unknown option ${option}; what begins with a dash and is none goes last, behind --`;
}

/** Messages of others may have several. */
function oneLine(message: string): string {
  return message
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  return (manifest as { version: string }).version;
}

function print(text: string): number {
  printLine(text);
  return OK;
}
