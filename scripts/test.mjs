// What `npm test` runs after the build: node:test over the compiled tests. Words select files by their path
// (`npm test -- store`), `--test-name-pattern=lock` tests by their name.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec, tap } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { oneAfterAnother } from "./test-runs.mjs";

/** Debian packages without which tests fail; as root they are installed when they are missing. */
const REQUIRED_PACKAGES = ["ffmpeg", "curl", "chromium"];
/** Debian packages that only evaluations use. */
const OPTIONAL_PACKAGES = ["espeak-ng"];
/** What this machine may tell commands about a service of its own; tests must not pick it up. */
const COMMAND_SETTINGS = ["DAUYS_URL", "DAUYS_API_KEY"];
/** Asked for more than the gate's share, these tests take as long as they need, within limits of their own. */
const LONGER_RUNS = ["LEDGER_HISTORIES", "UPLOAD_MUTANTS", "PROPERTY_RUNS"];
/** The runner ends a whole file after it and then says nothing of the tests inside: far more than a slow machine needs. */
const FILE_TIMEOUT_MS = 900_000;

/**
 * Tests that want a small machine for themselves: they fill both cores, watch the clock, or change what others read (`npm
 * pack` the manifest, `npm start` the build). Of all others, which mostly wait, two files run at a time.
 */
const ALONE = [
  ...[
    "attack/",
    "client/packed",
    "console/browser",
    "e2e/start",
    "e2e/store-away",
    "fault/",
    "front/threads/",
  ],
  ...["input/media/uploads-damaged", "front/front."],
];

const root = fileURLToPath(new URL("../", import.meta.url));

installMissing(REQUIRED_PACKAGES);
noteMissing(OPTIONAL_PACKAGES);
process.exitCode = await runTests(process.argv.slice(2));

async function runTests(args) {
  const { values, positionals: words } = parseArgs({
    args,
    allowPositionals: true,
    options: { "test-name-pattern": { type: "string", multiple: true } },
  });
  const files = testFiles().filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
  if (files.length === 0) {
    console.error(`no test file's path has one of: ${words.join(", ") || "(any)"}`);
    return 2;
  }
  // After the build, which has made this list.
  const { SETTINGS } = await import("../dist/src/settings/settings.js");
  for (const name of [...COMMAND_SETTINGS, ...SETTINGS.map((setting) => setting.name)])
    delete process.env[name];
  process.chdir(root);
  const isAlone = (file) => ALONE.some((room) => file.startsWith(join("dist/test", room)));
  const isLonger = LONGER_RUNS.some((name) => process.env[name] !== undefined);
  const optionsOf = (chosen, concurrency) => ({
    files: chosen.map((file) => join(root, file)),
    concurrency,
    ...(isLonger ? {} : { timeout: FILE_TIMEOUT_MS }),
    ...(values["test-name-pattern"] === undefined ? {} : { testNamePatterns: values["test-name-pattern"] }),
  });
  const runs = [
    optionsOf(
      files.filter((file) => !isAlone(file)),
      2,
    ),
    optionsOf(files.filter(isAlone), availableParallelism() > 2 ? 2 : 1),
  ].filter((options) => options.files.length > 0);
  let hasFailed = false;
  const onFail = () => {
    hasFailed = true;
  };
  await pipeline(
    oneAfterAnother(runs.map((options) => () => run(options).on("test:fail", onFail))),
    process.stdout.isTTY ? new spec() : tap,
    process.stdout,
    { end: false },
  );
  return hasFailed ? 1 : 0;
}

/** Compiled tests whose source is still there: the compiler leaves the output of deleted files behind. */
function testFiles() {
  const compiled = join(root, "dist/test");
  if (!existsSync(compiled)) return [];
  return readdirSync(compiled, { recursive: true })
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => existsSync(join(root, "test", name.replace(/\.js$/, ".ts"))))
    .map((name) => relative(root, join(compiled, name)))
    .sort();
}

function installMissing(packages) {
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    console.error(`tests need the Debian packages: ${missing.join(" ")}`);
    process.exit(1);
  }
  for (const args of [
    ["update", "-q"],
    ["install", "-qy", "--no-install-recommends", ...missing],
  ]) {
    const { status } = spawnSync("apt-get", args, {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (status !== 0) process.exit(status ?? 1);
  }
}

function noteMissing(packages) {
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length > 0) console.error(`not installed, and only evaluations use them: ${missing.join(" ")}`);
}

function isInstalled(name) {
  return spawnSync("dpkg", ["--status", name], { stdio: "ignore" }).status === 0;
}
