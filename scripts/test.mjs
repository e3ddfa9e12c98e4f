// Run by `npm test` after the build: runs the compiled tests with node:test. Words select files by path
// (`npm test -- store`), `--test-name-pattern=lock` selects tests by name. `--quick` (`npm run test:quick`)
// omits tests that start processes, threads, models, databases or browsers; `--running` omits tests that only
// read sources, for another Node. `--cpu` prints the CPU and elapsed time of each process at the end (Linux).
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec, tap } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { installLavapipe } from "./lavapipe.mjs";
import { inProcesses, isQuick, runsCode, testFiles } from "./test-files.mjs";
import { withFailuresAtEnd } from "./test-runs.mjs";

/** Debian packages without which tests fail; installed if missing, as root. */
const REQUIRED_PACKAGES = ["ffmpeg", "curl", "chromium-headless-shell"];
/** Also installed, as root; tests that need a missing one are skipped. */
const WANTED_PACKAGES = ["espeak-ng", "nats-server", "python3-websockets"];
/** Settings of this machine's own service, which tests must not use. */
const COMMAND_SETTINGS = ["DAUYS_URL", "DAUYS_API_KEY"];
/** Settings that make tests run longer than in the gate, with separate time limits. */
const LONGER_RUNS = ["LEDGER_HISTORIES", "FLEET_ROUNDS", "UPLOAD_MUTANTS", "PROPERTY_RUNS"];
/**
 * Time after which the runner ends a file without reporting its tests; far more than a slow machine needs.
 */
const FILE_TIMEOUT_MS = 900_000;
/** File to which processes append their CPU time. */
const CPU_FILE = fileURLToPath(new URL("../build/test-cpu.jsonl", import.meta.url));
/**
 * Number of files at a time; they often wait. With four, two cores were idle 10 % of the time; six are no
 * faster.
 */
const AT_A_TIME = 5;

const root = fileURLToPath(new URL("../", import.meta.url));

installMissing();
process.exitCode = await runTests(process.argv.slice(2));

async function runTests(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      "test-name-pattern": { type: "string", multiple: true },
      quick: { type: "boolean", default: false },
      running: { type: "boolean", default: false },
      cpu: { type: "boolean", default: false },
    },
  });
  const words = positionals.map((word) => word.replace(/\.ts$/, ".js"));
  const all = testFiles();
  for (const word of words) {
    if (all.some((file) => file.includes(word))) continue;
    console.error(`no test file's path contains "${word}": pass parts of paths, such as http/models`);
    return 2;
  }
  const files = all
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter((file) => !values.quick || isQuick(file))
    .filter((file) => !values.running || runsCode(file));
  if (files.length === 0) {
    console.error(`no test file's path has one of: ${words.join(", ") || "(any)"}`);
    return 2;
  }
  if (files.some((file) => file.includes(join("test", "gpu")))) installLavapipe();
  // Imported here, because the build creates it.
  const { SETTINGS } = await import("../dist/src/settings/settings.js");
  for (const name of [...COMMAND_SETTINGS, ...SETTINGS.map((setting) => setting.name)])
    delete process.env[name];
  process.chdir(root);
  // Only if console tests are selected: nobody looks at screenshots from the whole gate.
  if (words.some((word) => word.includes("console"))) process.env["CONSOLE_PICTURES"] = "true";
  const preloads = ["typescript-traces.cjs", "test-process.cjs"].map(
    (name) => `--require=${JSON.stringify(join(root, "scripts", name))}`,
  );
  process.env["NODE_OPTIONS"] = [process.env["NODE_OPTIONS"] ?? "", ...preloads].join(" ").trim();
  process.env["TEST_RUNNER_PID"] = String(process.pid);
  // Used by bench/support/free-port.ts.
  process.env["TEST_PORTS_DIR"] = join(tmpdir(), `dauys-ports-${process.pid}`);
  if (values.cpu) {
    rmSync(CPU_FILE, { force: true });
    mkdirSync(dirname(CPU_FILE), { recursive: true });
    process.env["TEST_CPU_FILE"] = CPU_FILE;
  }
  const isLonger = LONGER_RUNS.some((name) => Number(process.env[name] ?? 0) > 1);
  let hasFailed = false;
  const events = run({
    files: inProcesses(files).map((file) => join(root, file)),
    concurrency: AT_A_TIME,
    ...(isLonger ? {} : { timeout: FILE_TIMEOUT_MS }),
    ...(values["test-name-pattern"] === undefined ? {} : { testNamePatterns: values["test-name-pattern"] }),
  }).on("test:fail", () => {
    hasFailed = true;
  });
  await pipeline(withFailuresAtEnd(events), process.stdout.isTTY ? new spec() : tap, process.stdout, {
    end: false,
  });
  rmSync(process.env["TEST_PORTS_DIR"], { recursive: true, force: true });
  if (values.cpu) printCpu();
  return hasFailed ? 1 : 0;
}

/** Prints the CPU time and the elapsed time of each file, the highest CPU time first, after the sum. */
function printCpu() {
  const lines = existsSync(CPU_FILE) ? readFileSync(CPU_FILE, "utf8").trim().split("\n") : [];
  const used = lines.map((line) => JSON.parse(line)).toSorted((one, other) => other.seconds - one.seconds);
  const sum = used.reduce((total, { seconds }) => total + seconds, 0);
  const row = (...columns) => console.error(columns.map((each) => each.padStart(7)).join(" "));
  row(sum.toFixed(1), "CPU seconds in total; per file, with the seconds that its process ran:");
  for (const { file, seconds, elapsed } of used)
    row(seconds.toFixed(1), elapsed.toFixed(1), relative(join(root, "dist/test"), file));
}

function installMissing() {
  const missing = [...REQUIRED_PACKAGES, ...WANTED_PACKAGES].filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    const required = missing.filter((name) => REQUIRED_PACKAGES.includes(name));
    if (required.length > 0) {
      console.error(`tests need the Debian packages: ${required.join(" ")}`);
      process.exit(1);
    }
    console.error(`not installed, and tests that need them are skipped: ${missing.join(" ")}`);
    return;
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

function isInstalled(name) {
  return spawnSync("dpkg", ["--status", name], { stdio: "ignore" }).status === 0;
}
