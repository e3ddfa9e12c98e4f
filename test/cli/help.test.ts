import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArgs } from "node:util";
import { runCommandLine } from "../../src/cli/main.js";
import { read } from "../docs/markdown.js";
import { dauys } from "./support.js";

const NAMES = [
  ...["speak", "transcribe", "listen", "status", "usage"],
  ...["keys", "orgs", "ledger", "vouchers", "users"],
];
const MODULES: Readonly<Record<string, string>> = { orgs: "organizations" };

async function commandOf(name: string) {
  const module = await import(`../../src/cli/${MODULES[name] ?? name}.js`);
  return Object.values(module).find(
    (each) => typeof each === "object" && each !== null && "usage" in each,
  ) as import("../../src/cli/command.js").Command;
}

test("every command explains each of its options, and its examples are understood", async () => {
  for (const name of NAMES) {
    const { options, optionHelp, examples, usage } = await commandOf(name);
    assert.ok(usage.startsWith(name));
    const explained = optionHelp.map((line) => /--([a-z-]+)/.exec(line)?.[1]);
    const known = Object.keys(options).filter((option) => option !== "json" || explained.includes("json"));
    assert.deepEqual(explained.toSorted(), known.toSorted(), name);
    assert.ok(examples.length > 0, name);
    for (const example of examples) {
      const [first, ...args] = wordsOf(example);
      assert.equal(first, name);
      assert.doesNotThrow(() => parseArgs({ args, options, allowPositionals: true, strict: true }), example);
    }
  }
});

test("docs/console.md has every command with every option of its own", async () => {
  const page = read("docs/console.md").split("## Command line")[1]!;
  for (const name of NAMES) {
    assert.ok(page.includes(`\`dauys ${name}`), name);
    for (const option of Object.keys((await commandOf(name)).options)) {
      assert.ok(page.includes(`--${option}`), `${name} --${option}`);
    }
  }
});

/** Words as a shell sees them, up to what it keeps for itself. */
function wordsOf(line: string): string[] {
  const [own = ""] = line.split(/ [<|] /);
  return [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
}

test("help comes for a command by its name, by --help, and not for what stands behind --", async () => {
  const help = await dauys(["speak", "--help"]);
  assert.match(help.stdout, /^usage: dauys speak "TEXT" -o FILE\.wav\n.*Options:\n.*Examples:\n/s);
  assert.deepEqual(await dauys(["help", "speak"]), help);
  assert.deepEqual(await dauys(["--help", "speak"]), help);
  const overview = await dauys(["--help"]);
  for (const name of NAMES) assert.ok(overview.stdout.includes(`dauys ${name}`), name);
  assert.match(overview.stdout, /Exit codes:\n {2}0 .*done\n/);
  const said = await dauys(["speak", "--key", "k", "--url", "http://127.0.0.1:1", "-o", "-", "--", "--help"]);
  assert.match(said.stderr, /Cannot reach the service/);
});

const MISTYPED: readonly [args: string[], message: RegExp][] = [
  [["spek", "x"], /unknown command "spek": did you mean "speak"\? See `dauys speak --help`\n$/],
  [["transcirbe"], /did you mean "transcribe"\?/],
  [["help", "statsu"], /did you mean "status"\?/],
  [[`sk-svc-${"0".repeat(48)}`], /unknown command "sk-svc-\.\.\."\n/],
  [["speak", "x", "--voic", "aru"], /unknown option --voic: did you mean --voice\?/],
  [["speak", "x", "--normalize"], /unknown option --normalize: did you mean --no-normalize\?/],
  [["transcribe", "x", "--hot-words=a"], /unknown option --hot-words: did you mean --hotwords\?/],
  [["speak", "-5 градус"], /unknown option -5; what begins with a dash and is none goes last, behind --/],
  [["keys", "creat"], /say create, list or revoke; did you mean create\?/],
  [["users"], /say reset-password\n/],
  [["speak"], /TEXT is missing; - reads it from standard input|-o FILE is missing/],
];

for (const [args, message] of MISTYPED) {
  test(`"dauys ${args.join(" ").slice(0, 30)}" says what may have been meant`, async (t) => {
    const noted = t.mock.method(process.stderr, "write", () => true);
    const code = await runCommandLine(args, {});
    noted.mock.restore();
    assert.equal(code, 2);
    assert.match(noted.mock.calls.map((call) => String(call.arguments[0])).join(""), message);
  });
}
