import type { Command } from "./command.js";

const EXIT_CODES = [
  "0    done",
  "1    failed, or some of several recordings did",
  "2    the command line was not understood",
  "128+ ended by a signal: 130 by Ctrl-C; 141 when the reader of a pipe has left",
];

/** What the commands are and who they are for. */
export interface Commands {
  readonly forUsers: Readonly<Record<string, Command>>;
  readonly forOperators: Readonly<Record<string, Command>>;
}

export function overview({ forUsers, forOperators }: Commands): string {
  return [
    "Dauys: Kazakh speech from the command line.",
    `With a service, by its address and a key:\n${listed(forUsers)}`,
    `As its operator, on its database and models:\n${listed(forOperators)}`,
    `Exit codes:\n${indented(EXIT_CODES)}`,
    "Each command explains itself with --help. --version says which version this is.",
  ].join("\n\n");
}

export function helpOf(command: Command): string {
  const hasOwnJson = command.optionHelp.some((line) => line.startsWith("--json"));
  const options = [...command.optionHelp, ...(hasOwnJson ? [] : ["--json  print the result as JSON"])];
  return [
    `usage: dauys ${command.usage}`,
    command.summary,
    `Options:\n${indented(options)}`,
    `Examples:\n${indented(command.examples.map((example) => `dauys ${example}`))}`,
  ].join("\n\n");
}

function listed(commands: Readonly<Record<string, Command>>): string {
  return indented(Object.values(commands).map(({ usage, summary }) => `dauys ${usage}\n      ${summary}`));
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}
