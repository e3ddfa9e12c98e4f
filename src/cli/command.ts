import type { ParseArgsConfig } from "node:util";
import { nearestName } from "../domain/text/nearest-name.js";
import { aboveStatus } from "./status-line.js";

/** Environment variables, as a process gets them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a command was given, after its options were checked against its table. */
export interface CommandInput {
  readonly positionals: readonly string[];
  readonly options: Options;
  readonly environment: Environment;
}

/** One command of the command line. Results go to standard output, everything else to standard error. */
export interface Command {
  /** After `dauys`: "speak TEXT -o FILE". */
  readonly usage: string;
  readonly summary: string;
  readonly options: NonNullable<ParseArgsConfig["options"]>;
  /** One line for each option, in the order of `options`. */
  readonly optionHelp: readonly string[];
  /** Command lines to copy, without `dauys`. */
  readonly examples: readonly string[];
  run(input: CommandInput): Promise<void>;
}

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command was understood and did not succeed: exit code 1. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
}

/** Values of options by name; each is read as what its table says it is. */
export class Options {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: string): string | null {
    const value = this.#values[name];
    return typeof value === "string" ? value : null;
  }

  isSet(name: string): boolean {
    return this.#values[name] === true;
  }

  /** A number as it was typed; the service knows its bounds and says them. */
  number(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value)) return value;
    throw new UsageError(`--${name} must be a number, received "${text}"`);
  }
}

/** The single positional argument of a command that takes exactly one; `hint` says more when it is missing. */
export function onlyArgument(input: CommandInput, name: string, hint = ""): string {
  const [argument] = input.positionals;
  if (argument === undefined) throw new UsageError(`${name} is missing${hint}`);
  if (input.positionals.length > 1) {
    throw new UsageError(
      `only one ${name} is taken, received ${input.positionals.length}; quote texts with spaces`,
    );
  }
  return argument;
}

/** A command of several actions did not get one of them. */
export function unknownAction(given: string | undefined, actions: readonly string[]): UsageError {
  const nearest = given === undefined ? null : nearestName(given, actions);
  const asked = `say ${[actions.slice(0, -1).join(", "), actions.at(-1)].filter((part) => part !== "").join(" or ")}`;
  return new UsageError(nearest === null ? asked : `${asked}; did you mean ${nearest}?`);
}

export function printLine(text: string): void {
  printText(`${text}\n`);
}

/** A result as it is, with its own last line break. */
export function printText(text: string): void {
  aboveStatus(() => process.stdout.write(text));
}

/** Names of files and words of others may hold what a terminal obeys: it is shown as a question mark. */
export function printNote(text: string): void {
  aboveStatus(() => process.stderr.write(`${text.replace(/(?!\n)\p{Cc}/gu, "?")}\n`));
}
