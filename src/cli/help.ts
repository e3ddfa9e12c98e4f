import { reachableUrl } from "../settings/address.js";
import { DEFAULT_DATA_DIR, DEFAULT_HOST, DEFAULT_PORT } from "../settings/defaults.js";
import type { Command, HelpRow } from "./command.js";
import { aligned } from "./table.js";

export type Commands = Readonly<Record<string, Readonly<Record<string, Command>>>>;

const COLUMNS = 80;

type Section = readonly [title: string, rows: readonly HelpRow[]];

interface Topic {
  readonly summary: string;
  /** Options that commands share. A command's own page only points to this topic. */
  readonly options: readonly string[];
  readonly sections: readonly Section[];
}

const TOPICS: Readonly<Record<string, Topic>> = {
  connection: {
    summary: "Explain how commands find the service, the key and the database",
    options: ["url", "key", "stt-url", "stream-url"],
    sections: [
      [
        "Service address, the first one that is set:",
        [
          ["--url URL", "An address such as https://speech.example.org"],
          ["DAUYS_URL", "The same, from the environment"],
          ["PORT, HOST", "Settings of a service on this machine"],
          ["DATA_DIR/address", "Written by a running service"],
          [reachableUrl(DEFAULT_HOST, DEFAULT_PORT), "Default"],
        ],
      ],
      [
        "Separate hosts, only if they differ from the service address:",
        [
          ["--stt-url URL, DAUYS_STT_URL", "File transcription (transcribe)"],
          ["--stream-url URL, DAUYS_STREAM_URL", "Live transcription (listen)"],
        ],
      ],
      [
        "API key, the first one that is set:",
        [
          ["--key KEY", "A key that starts with sk-svc-"],
          ["DAUYS_API_KEY", "The same, from the environment"],
          ["DATA_DIR/dev-key", "Development key, written when the service first starts"],
        ],
      ],
      [
        "Database and models, for orgs, keys, users, vouchers, ledger, usage ORG and models:",
        [
          ["DATABASE_URL", "PostgreSQL database of the service"],
          ["DATA_DIR", `Data folder with the private database (default: ${DEFAULT_DATA_DIR})`],
          ["MODELS_DIR", "Folder of model packages (default: DATA_DIR/models)"],
        ],
      ],
    ],
  },
  output: {
    summary: "Explain --json, --quiet and the exit codes",
    options: ["json", "quiet"],
    sections: [
      [
        "Results go to standard output; progress, notes and errors go to standard error.",
        [
          ["--json", "Print the result as JSON"],
          ["-q, --quiet", "Hide progress and notes, but not errors"],
          ["NO_COLOR", "Set it to turn off colors"],
        ],
      ],
      [
        "Exit codes:",
        [
          ["0", "Success"],
          ["1", "The command failed, or some of several recordings did"],
          ["2", "The command line is invalid"],
          ["128 + N", "Signal N ended the command: 130 after Ctrl-C"],
          ["141", "The program that reads the output has exited"],
        ],
      ],
    ],
  },
};

const HELP_ROWS: readonly HelpRow[] = [
  ["help [COMMAND]", "Show this list, or explain a command"],
  ...Object.entries(TOPICS).map(([name, { summary }]): HelpRow => [`help ${name}`, summary]),
  ["version", "Print the version"],
];

export const TOPIC_NAMES: readonly string[] = Object.keys(TOPICS);

/** Returns the page of `dauys help`. */
export function overview(commands: Commands): string {
  const sections = Object.entries(commands).map(([group, members]): Section => {
    const rows = Object.entries(members).map(([name, { summary }]): HelpRow => [name, summary]);
    return [`${group}:`, rows];
  });
  return page(
    ["Dauys: Kazakh and Russian speech from the command line.", "Usage: dauys COMMAND [OPTIONS]"],
    [...sections, ["Help:", HELP_ROWS]],
    ["Run `dauys COMMAND --help` for options and examples."],
  );
}

/** Returns the page of `dauys COMMAND --help`. */
export function helpOf(command: Command): string {
  const { usage, description, actions = [], optionHelp, note, examples } = command;
  return page(
    [`Usage: dauys ${usage}`, wrapped(description)],
    [
      ["Actions:", actions],
      ["Options:", optionHelp],
    ],
    [
      [sharedOptions(command), ...(note === undefined ? [] : [wrapped(note)])].join("\n"),
      ["Examples:", ...examples.map((example) => `  dauys ${example}`)].join("\n"),
    ],
  );
}

/** Returns the page of `dauys help TOPIC`. */
export function topicHelp(name: string): string {
  return page([], TOPICS[name]!.sections, []);
}

/** Points to the topics that explain options missing from the command's own table. */
function sharedOptions({ options, optionHelp }: Command): string {
  const isOwn = (option: string) => optionHelp.some(([term]) => optionOf(term) === option);
  const pointers = Object.entries(TOPICS).flatMap(([name, topic]) => {
    const shared = topic.options.filter((option) => option in options && !isOwn(option));
    const typed = shared.map((option) => `--${option}`).join(", ");
    return shared.length === 0 ? [] : [`${typed} (\`dauys help ${name}\`)`];
  });
  return `Shared options: ${pointers.join(", ")}`;
}

/** Returns the long name of the option that a row explains. */
export function optionOf(term: string): string | undefined {
  return /--([a-z\d-]+)/.exec(term)?.[1];
}

/** Matches as many words as fit into a line, if the paragraph is longer than that. */
const TOO_LONG = new RegExp(`(?=.{${COLUMNS + 1}})(.{1,${COLUMNS}}) `, "g");

/** Breaks a paragraph into lines, but never inside backticks. */
function wrapped(text: string): string {
  const unbroken = text.replace(/`[^`]*`/g, (code) => code.replaceAll(" ", "\u00a0"));
  const lines = unbroken.replace(TOO_LONG, "$1\n");
  return lines.replaceAll("\u00a0", " ");
}

/** Joins paragraphs and tables. All tables of a page have the same width of the first column. */
function page(head: readonly string[], sections: readonly Section[], foot: readonly string[]): string {
  const filled = sections.filter(([, rows]) => rows.length > 0);
  const lines = aligned(filled.flatMap(([, rows]) => indented(rows)));
  const tables = filled.map(([title, rows]) =>
    [title, ...lines.splice(0, rows.length).map((line) => `  ${line}`)].join("\n"),
  );
  return [...head, ...tables, ...foot].join("\n\n");
}

/** Aligns long options that have no short form with those that do. */
function indented(rows: readonly HelpRow[]): readonly HelpRow[] {
  if (!rows.some(([term]) => /^-\w,/.test(term))) return rows;
  return rows.map(([term, text]) => [term.startsWith("--") ? `    ${term}` : term, text]);
}
