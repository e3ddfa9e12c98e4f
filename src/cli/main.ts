import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { nearestName } from "../../core/domain/text/nearest-name.js";
import { ConfigError } from "../settings/config-error.js";
import { benchCommand } from "./bench.js";
import {
  type Command,
  type CommandInput,
  type Environment,
  Options,
  printLine,
  printNote,
  UsageError,
  withoutKey,
} from "./command.js";
import { conformCommand } from "./conform.js";
import { doctorCommand } from "./doctor.js";
import { type Commands, helpOf, optionOf, overview, TOPIC_NAMES, topicHelp } from "./help.js";
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
import { vocabularyCommand } from "./vocabulary.js";
import { vouchersCommand } from "./vouchers.js";

export const COMMANDS: Commands = {
  Service: {
    status: statusCommand,
    doctor: doctorCommand,
    bench: benchCommand,
    conform: conformCommand,
  },
  Audio: {
    speak: speakCommand,
    transcribe: transcribeCommand,
    listen: listenCommand,
    vocabulary: vocabularyCommand,
  },
  Models: {
    models: modelsCommand,
  },
  "Accounts and billing": {
    orgs: organizationsCommand,
    keys: keysCommand,
    users: usersCommand,
    vouchers: vouchersCommand,
    usage: usageCommand,
    ledger: ledgerCommand,
  },
};
const BY_NAME: Readonly<Record<string, Command>> = Object.assign({}, ...Object.values(COMMANDS));

const OK = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs one command line, without the program's name.
 *
 * @returns the exit code: 0 for success, 1 for failure, 2 for an invalid command line, above 128 for a signal
 */
export async function runCommandLine(args: readonly string[], environment: Environment): Promise<number> {
  guardStandardStreams();
  const [name, ...rest] = args;
  if (name === "--version" || name === "version") return print(version());
  if (name === "--help" || name === "-h" || name === "help")
    return help(rest.find((arg) => arg !== "--help" && arg !== "-h"));
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

/** Runs `help`, `help COMMAND` and `help TOPIC`. */
function help(name: string | undefined): number {
  const command = commandOf(name);
  if (command !== null) return print(helpOf(command));
  if (name === undefined) return print(overview(COMMANDS));
  if (TOPIC_NAMES.includes(name)) return print(topicHelp(name));
  if (name === "help" || name === "version") return print(overview(COMMANDS));
  printNote(unknownCommand(name, TOPIC_NAMES));
  return WRONG_USAGE;
}

function commandOf(name: string | undefined): Command | null {
  // Only own properties count: "constructor" is not a command.
  return name !== undefined && Object.hasOwn(BY_NAME, name) ? BY_NAME[name]! : null;
}

function unknownCommand(name: string, topics: readonly string[] = []): string {
  const nearest = nearestName(name, [...Object.keys(BY_NAME), ...topics]);
  const advice = nearest === null ? "; run `dauys help` for the list" : `: did you mean "${nearest}"?`;
  return `dauys: unknown command "${withoutKey(name)}"${advice}`;
}

/**
 * Looks for `--help` before `--`, even next to invalid options. (`parseArgs` would find `-h` in `-5 hours`.)
 */
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
    throw new UsageError(explained(error, command), { cause: error });
  }
}

/** Rewords an error of `parseArgs` in the style of the other errors. */
function explained(error: unknown, { options }: Command): string {
  const message = error instanceof Error ? error.message : String(error);
  const { code } = error as NodeJS.ErrnoException;
  const typed = /'(-[^']*)'/.exec(message)?.[1];
  if (typed === undefined) return message;
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") return unknownOption(typed, Object.keys(options));
  const short = typed.slice(1);
  const name = optionOf(typed) ?? Object.keys(options).find((each) => options[each]!.short === short);
  if (code !== "ERR_PARSE_ARGS_INVALID_OPTION_VALUE" || name === undefined) return message;
  if (options[name]?.type === "boolean") return `--${name} does not accept a value`;
  return `--${name} needs a value; use --${name}=VALUE if the value starts with a dash`;
}

function unknownOption(option: string, known: readonly string[]): string {
  const nearest = option.startsWith("--") ? nearestName(option.slice(2), known) : null;
  if (nearest !== null) return `unknown option "${option}": did you mean "--${nearest}"?`;
  return `unknown option "${option}"; put text that starts with a dash after "--"`;
}

/** Joins the lines of a message, because libraries throw messages of several lines. */
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
