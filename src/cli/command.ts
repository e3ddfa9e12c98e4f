import type { ParseArgsConfig } from "node:util";
import { nearestName } from "../../core/domain/text/nearest-name.js";
import { aboveStatus } from "./status-line.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Arguments of a command, checked against its options. */
export interface CommandInput {
  readonly positionals: readonly string[];
  readonly options: Options;
  readonly environment: Environment;
}

/** A row of a help table: what to type, and what that does. */
export type HelpRow = readonly [term: string, text: string];

/** One command of the command line. Results go to standard output, everything else to standard error. */
export interface Command {
  /** Usage without `dauys`, such as "speak TEXT -o FILE". */
  readonly usage: string;
  /** The command's line in `dauys help`: an imperative verb first, at most 70 characters. */
  readonly summary: string;
  /** One or two sentences for `--help`. */
  readonly description: string;
  /** Values of the first argument, if the command has several actions. */
  readonly actions?: readonly HelpRow[];
  readonly options: NonNullable<ParseArgsConfig["options"]>;
  /** One row per option, except for options that `help.ts` explains for all commands. */
  readonly optionHelp: readonly HelpRow[];
  /** An additional line for `--help`. */
  readonly note?: string;
  /** Command lines to copy, without `dauys`. */
  readonly examples: readonly string[];
  run(input: CommandInput): Promise<void>;
}

/** The command line is invalid: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A valid command failed: exit code 1. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
}

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

  /** Reads a number without checking its range, which the service does. */
  number(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = Number(text);
    if (text.trim() !== "" && Number.isFinite(value)) return value;
    throw new UsageError(`--${name} must be a number, received "${text}"`);
  }
}

/** @throws {UsageError} if there are any arguments */
export function requireNoArguments({ positionals: [argument] }: CommandInput, command: string): void {
  if (argument !== undefined) throw new UsageError(`${command} accepts no arguments, received "${argument}"`);
}

/** Returns the only positional argument; `hint` completes the error when it is missing. */
export function onlyArgument({ positionals }: CommandInput, name: string, hint = ""): string {
  const [argument] = positionals;
  if (argument === undefined) throw new UsageError(`${name} is missing${hint}`);
  if (positionals.length === 1) return argument;
  throw new UsageError(
    `expected one ${name}, received ${positionals.length}; quote text that contains spaces`,
  );
}

/** Parses a whole number from 1 to `most`. @throws {UsageError} with the name of the option or argument */
export function wholeNumber(name: string, text: string, most: number): number {
  if (/^[1-9]\d{0,14}$/.test(text) && Number(text) <= most) return Number(text);
  throw new UsageError(`${name} must be a whole number from 1 to ${most}, received "${text}"`);
}

/** Returns the error for an action that is missing, unknown, or has an argument that it does not accept. */
export function unknownAction(given: string | undefined, actions: readonly string[]): UsageError {
  const [last, ...others] = actions.toReversed();
  const choices = others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`;
  if (given === undefined) return new UsageError(`the action is missing; use ${choices}`);
  if (actions.includes(given)) return new UsageError(`${given} accepts no argument`);
  const nearest = nearestName(given, actions);
  const advice = nearest === null ? `; use ${choices}` : `: did you mean "${nearest}"?`;
  return new UsageError(`unknown action "${withoutKey(given)}"${advice}`);
}

/** Hides an API key that was typed where a name belongs. */
export function withoutKey(text: string): string {
  return text.replace(/sk-svc-.*/s, "sk-svc-...");
}

/** Prints a result as JSON with `--json`, otherwise as text; remarks go to standard error. */
export function printResult(input: CommandInput, json: object, text: string, ...remarks: string[]): void {
  const isJson = input.options.isSet("json");
  printLine(isJson ? JSON.stringify(json) : text);
  for (const remark of isJson ? [] : remarks) printRemark(input, remark);
}

export function printLine(text: string): void {
  printText(`${text}\n`);
}

/** Prints a result that already ends with a line break. */
export function printText(text: string): void {
  aboveStatus(() => process.stdout.write(text));
}

/**
 * Prints a line to standard error. Control characters, which file names may contain, become question marks.
 */
export function printNote(text: string): void {
  aboveStatus(() => process.stderr.write(`${text.replace(/(?!\n)\p{Cc}/gu, "?")}\n`));
}

export function printRemark({ options }: CommandInput, text: string): void {
  if (!options.isSet("quiet")) printNote(text);
}
