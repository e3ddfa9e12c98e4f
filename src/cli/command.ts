import type { ParseArgsConfig } from "node:util";

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

/** The single positional argument of a command that takes exactly one. */
export function onlyArgument(input: CommandInput, name: string): string {
  const [argument] = input.positionals;
  if (argument === undefined) throw new UsageError(`${name} is missing`);
  if (input.positionals.length > 1) {
    throw new UsageError(
      `only one ${name} is taken, received ${input.positionals.length}; quote texts with spaces`,
    );
  }
  return argument;
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printNote(text: string): void {
  process.stderr.write(`${text}\n`);
}
