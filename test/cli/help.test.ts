import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArgs } from "node:util";
import { helpOf, optionOf, overview, TOPIC_NAMES, topicHelp } from "../../src/cli/help.js";
import { COMMANDS, runCommandLine } from "../../src/cli/main.js";
import { read } from "../docs/markdown.js";
import { dauys } from "./support.js";

/** Longest summary in `dauys help`; details belong in `--help`. */
const LONGEST_SUMMARY = 70;
const WIDEST_LINE = 100;
const VERBS = ["Add", "Create", "Explain", "Measure", "Print", "Reset", "Show", "Transcribe", "Turn"];
/** Options that `dauys help TOPIC` explains for all commands. */
const SHARED = ["url", "key", "stt-url", "stream-url", "json", "quiet"];
const ALL = Object.values(COMMANDS).flatMap((group) => Object.entries(group));
const OVERVIEW = overview(COMMANDS);

test("every command has one short line that starts with an imperative verb", () => {
  const lines = OVERVIEW.split("\n").filter((line) => line.startsWith("  "));
  const rows = lines.map((line) => /^ {2}(\S+(?: \S+)?) {2,}(\S.*)$/.exec(line));
  const names = rows.map((row) => row?.[1]);
  const topics = TOPIC_NAMES.map((name) => `help ${name}`);
  assert.deepEqual(names, [...ALL.map(([name]) => name), "help [COMMAND]", ...topics, "version"]);
  for (const row of rows) {
    const summary = row![2]!;
    assert.ok(summary.length <= LONGEST_SUMMARY, summary);
    assert.ok(VERBS.includes(/^\w*/.exec(summary)![0]), summary);
    assert.doesNotMatch(summary, /\.$/);
  }
  const columns = new Set(rows.map((row) => row!.input.length - row![2]!.length));
  assert.equal(columns.size, 1, "the lines are aligned");
});

test("COMMAND --help prints to standard output and exits with 0", async (t) => {
  for (const name of [...ALL.map(([each]) => each), "help", "version"]) {
    const printed = t.mock.method(process.stdout, "write", () => true);
    const code = await runCommandLine([name, "--help"], {});
    printed.mock.restore();
    const page = printed.mock.calls.map((call) => String(call.arguments[0])).join("");
    assert.equal(code, 0, name);
    assert.match(page, name === "version" ? /^\d+\.\d+\.\d+/ : /^Usage: dauys /m);
  }
});

test("help explains every option within the terminal's width, with valid examples", () => {
  for (const [name, command] of ALL) {
    const { options, optionHelp, examples, usage } = command;
    assert.equal(usage.split(" ")[0], name);
    const explained = optionHelp.map(([term]) => optionOf(term));
    const page = helpOf(command);
    for (const option of Object.keys(options)) {
      assert.ok(explained.includes(option) || SHARED.includes(option), `${name} --${option}`);
      assert.ok(page.includes(`--${option}`), `${name} --${option}`);
    }
    for (const option of explained) assert.ok(option !== undefined && option in options, `${name} ${option}`);
    assert.ok(examples.length > 0, name);
    for (const example of examples) {
      const [first, ...args] = wordsOf(example);
      assert.equal(first, name);
      assert.doesNotThrow(() => parseArgs({ args, options, allowPositionals: true, strict: true }), example);
    }
  }
  const topics = TOPIC_NAMES.map(topicHelp);
  for (const option of SHARED) assert.ok(topics.join().includes(`--${option}`), option);
  for (const page of [OVERVIEW, ...topics, ...ALL.map(([, command]) => helpOf(command))]) {
    for (const line of page.split("\n")) assert.ok(line.length <= WIDEST_LINE, line);
  }
});

test("docs/console.md lists every command with all its options", () => {
  const page = read("docs/console.md").split("## Command line")[1]!;
  for (const [name, { options }] of ALL.filter(([each]) => !["models", "doctor"].includes(each))) {
    assert.ok(page.includes(`\`dauys ${name}`), name);
    for (const option of Object.keys(options)) {
      assert.ok(page.includes(`--${option}`), `${name} --${option}`);
    }
  }
});

/** Returns the words that a shell sees, up to a redirection or a pipe. */
function wordsOf(line: string): string[] {
  const [own = ""] = line.split(/ [<|] /);
  return [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
}

test("help works as a command or an option, but not after --", async () => {
  const help = await dauys(["speak", "--help"]);
  assert.match(
    help.stdout,
    /^Usage: dauys speak "TEXT" -o FILE\.wav\n.*\nOptions:\n.*\nShared options: --url, --key \(`dauys help connection`\), --quiet \(`dauys help output`\)\n.*Examples:\n/s,
  );
  assert.deepEqual(await dauys(["help", "speak"]), help);
  assert.deepEqual(await dauys(["--help", "speak"]), help);
  assert.equal((await dauys(["--help"])).stdout, `${OVERVIEW}\n`);
  assert.match((await dauys(["help", "output"])).stdout, /\nExit codes:\n {2}0 +Success\n/);
  const said = await dauys(["speak", "--key", "k", "--url", "http://127.0.0.1:1", "-o", "-", "--", "--help"]);
  assert.match(said.stderr, /cannot reach the service/);
});

const MISTYPED: readonly [args: string[], message: RegExp][] = [
  [["spek", "x"], /unknown command "spek": did you mean "speak"\?\n$/],
  [["transcirbe"], /did you mean "transcribe"\?/],
  [["help", "statsu"], /did you mean "status"\?/],
  [["help", "conection"], /did you mean "connection"\?/],
  [[`sk-svc-${"0".repeat(48)}`], /unknown command "sk-svc-\.\.\."; run `dauys help`/],
  [["speak", "x", "--voic", "aru"], /unknown option "--voic": did you mean "--voice"\?/],
  [["speak", "x", "--normalize"], /unknown option "--normalize": did you mean "--no-normalize"\?/],
  [["transcribe", "x", "--hot-words=a"], /unknown option "--hot-words": did you mean "--hotwords"\?/],
  [["speak", "-5 градус"], /unknown option "-5"; put text that starts with a dash after "--"/],
  [["speak", "x", "-o"], /--output needs a value; use --output=VALUE/],
  [["speak", "x", "-o", "--json"], /--output needs a value; use --output=VALUE/],
  [["speak", "x", "--stream=yes"], /--stream does not accept a value\n/],
  [["keys", "creat"], /unknown action "creat": did you mean "create"\?/],
  [["users"], /the action is missing; use reset-password\n/],
  [["speak"], /-o FILE is missing/],
];

for (const [args, message] of MISTYPED) {
  test(`"dauys ${args.join(" ").slice(0, 30)}" gets a hint`, async (t) => {
    const noted = t.mock.method(process.stderr, "write", () => true);
    const code = await runCommandLine(args, {});
    noted.mock.restore();
    assert.equal(code, 2);
    assert.match(noted.mock.calls.map((call) => String(call.arguments[0])).join(""), message);
  });
}
