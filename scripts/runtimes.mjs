// Tests which front runs on which Node and Debian. After `npm run build`: `node scripts/runtimes.mjs COMMAND`
//   fetch [MAJOR…] gets Node 20, 22 and 24 from npm, into .cache/runtimes
//   quick [MAJOR…] runs the tests that may differ between versions of Node, under each of them
//   table [NAME…]  tests the front contract, attacks and a start on every runtime (as root, also Debian 13)
//   bench          runs `bench front` on every runtime; saves bench/results/runtimes.json
//   arm64          tests the addon, the native front and integer products under emulated arm64 (root)
//   clean          removes Debian 13
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tryArm64 } from "./runtimes/arm64.mjs";
import { debian13, removeDebian13, whyNoDebian13 } from "./runtimes/debian-13.mjs";
import { fetchNodes, hasNodes, NODES, nodePath } from "./runtimes/nodes.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const RUN_TESTS = join(root, "scripts/runtimes/run-tests.mjs");
const TRY_SERVICE = join(root, "scripts/runtimes/try-service.mjs");
const WHICH_FRONT = join(root, "scripts/runtimes/which-front.mjs");
/** Tests for the table. */
const TABLE_TESTS = ["dist/test/front/", "dist/test/attack/"];
/** Time limit for the tests of one runtime, which mostly wait. */
const TESTS_WITHIN_MS = 1_800_000;
const START_WITHIN_MS = 300_000;

/**
 * Tests of everything that may break between versions of Node: fronts, native addons, threads with shared
 * memory, onnxruntime, child processes, the command line.
 */
const QUICK = [
  ...["front/front.test", "front/uws/", "front/threads/thread-sockets", "front/node/"],
  ...["native/ring/", "native/beam/", "native/models/", "core/kernel/", "test/settings/", "cli/help"],
];

const [command = "", ...args] = process.argv.slice(2);
const commands = {
  fetch: (majors) => fetchNodes(majors.length > 0 ? majors.map(Number) : undefined),
  ...{ quick, table, bench },
  arm64: () => tryArm64(),
  clean: removeDebian13,
};
if (!Object.hasOwn(commands, command)) {
  console.error(
    readFileSync(fileURLToPath(import.meta.url), "utf8")
      .split("\nimport")[0]
      .replaceAll(/^\/\/ ?/gm, ""),
  );
  process.exit(2);
}
process.exitCode = commands[command](args) ?? 0;

function quick(majors) {
  fetchNodes();
  let hasFailed = false;
  for (const major of majors.length > 0 ? majors.map(Number) : NODES) {
    const { status, last } = inRuntime({ node: [nodePath(major)] }, [RUN_TESTS, ...QUICK], TESTS_WITHIN_MS);
    const { passed, failed, skipped } = total(last);
    console.log(`Node ${last?.node ?? major}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
    hasFailed ||= status !== 0;
  }
  return hasFailed ? 1 : 0;
}

/** Returns the runtimes that are available here, and why others are skipped. */
function runtimes() {
  if (!hasNodes()) return { here: [], leftOut: ["the pinned Node binaries from npm are only for x64 Linux"] };
  fetchNodes();
  const name = debianHere();
  const here = NODES.map((major) => ({ name: `Node ${major}, ${name}`, node: [nodePath(major)] }));
  const reason = whyNoDebian13();
  if (name === "Debian 13") return { here, leftOut: [] };
  if (reason !== null) return { here, leftOut: [`Debian 13: ${reason}`] };
  const inside = debian13();
  for (const major of NODES)
    here.push({ name: `Node ${major}, Debian 13`, node: [...inside, nodePath(major)] });
  return { here, leftOut: [] };
}

function table(names) {
  const { here, leftOut } = runtimes();
  const rows = [];
  for (const runtime of here.filter(
    ({ name }) => names.length === 0 || names.some((one) => name.includes(one)),
  )) {
    console.error(`--- ${runtime.name}`);
    const started = inRuntime(runtime, [TRY_SERVICE], START_WITHIN_MS).last;
    const tested = inRuntime(runtime, [RUN_TESTS, ...TABLE_TESTS], TESTS_WITHIN_MS).last;
    rows.push({ runtime, started, tested });
  }
  console.log(
    "| Runtime | Front | Contract: native, threads, node | Attacks: native, threads, node, all | Start |",
  );
  console.log("|---|---|---|---|---|");
  for (const { runtime, started, tested } of rows) {
    const front = started?.front.replace(/;.*/, "") ?? "did not start";
    const start =
      started === null ? "failed" : `${started.readyMs} ms, heard “${started.heard.split("\n").at(-1)}”`;
    const contract = ["native", "threads", "node"].map((one) => cell(tested?.counts.front?.[one]));
    const attacks = ["native", "threads", "node", "any"].map((one) => cell(tested?.counts.attack?.[one]));
    console.log(`| ${runtime.name} | ${front} | ${contract.join(", ")} | ${attacks.join(", ")} | ${start} |`);
  }
  for (const reason of leftOut) console.log(`skipped: ${reason}`);
  for (const { runtime, tested } of rows)
    for (const line of tested?.skipped ?? []) console.log(`skipped on ${runtime.name}: ${line}`);
  const isGood = ({ started, tested }) =>
    started?.exitCode === 0 && tested !== null && total(tested).failed === 0;
  return rows.length > 0 && rows.every(isGood) ? 0 : 1;
}

function bench(rest) {
  const { here, leftOut } = runtimes();
  for (const reason of leftOut) console.log(`skipped: ${reason}`);
  const measured = here.map(({ name, node }) => {
    const { last } = inRuntime({ node }, [WHICH_FRONT], START_WITHIN_MS);
    return { name, node, kinds: last?.front === "uws" ? ["uws", "node"] : ["node"] };
  });
  const program = ["dist/bench/main.js", "front", ...rest, "--runtimes", JSON.stringify(measured)];
  return spawnSync(process.execPath, program, { cwd: root, stdio: "inherit" }).status ?? 1;
}

/** Runs a program; `last` is the JSON of its last line, or null. */
function inRuntime({ node }, program, timeout) {
  const [file, ...before] = node;
  const { status, stdout } = spawnSync(file, [...before, ...program], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 26,
    timeout,
  });
  try {
    return { status, last: JSON.parse(stdout.trim().split("\n").at(-1)) };
  } catch {
    return { status: status ?? 1, last: null };
  }
}

function total(tested) {
  const sums = { passed: 0, failed: 0, skipped: 0 };
  for (const ofFolder of Object.values(tested?.counts ?? {}))
    for (const outcomes of Object.values(ofFolder))
      for (const name of Object.keys(sums)) sums[name] += outcomes[name];
  return sums;
}

function cell(outcomes) {
  if (outcomes === undefined) return "–";
  const { passed, failed, skipped } = outcomes;
  return [
    passed,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(" + ");
}

/** Returns the name of this system, such as `Debian 12`. */
function debianHere() {
  const release = readFileSync("/etc/os-release", "utf8");
  const [id, version] = [/^NAME="?([^"\n]*)/m, /^VERSION_ID="?([^"\n]*)/m].map(
    (pattern) => pattern.exec(release)?.[1],
  );
  return `${id?.replace(" GNU/Linux", "")} ${version}`;
}
